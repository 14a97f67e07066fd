import { type Connection, createTransaction } from './driver.ts'

/**
 * The file. `application_id` says that it is ours, `user_version` which of the migrations it has seen.
 *
 * - scope: agent, tenant and principal, once each.
 * - task: one row per task. The columns are current; `snapshot` is the Task as JSON with all records up to
 *   `snapshot_version` in it, but for two things. `artifacts` holds its artifacts, so that a list without them does not
 *   read them; it is empty text where the task has ended, they are large and a log of about their size yields them:
 *   they are then not stored twice. And a status message that is the last of the history stands there as 0.
 *   `log` holds the records of the first commit, if its turn ended there.
 * - log: the records of every other commit, 128 in a row at most: who reads the log in pages parses each record about
 *   once, however long it is. A task's first message stands once in the first of them. A row's place is its task's number
 *   and the sequence number of its last record in one.
 * - push: webhooks and how far each has come. dead_letter: deliveries given up.
 * - context_value: values of contexts, their keys as JSON. They go with the context's last task.
 * - total: how many tasks a scope has in each state, so that a list need not count. Triggers keep it when a task changes
 *   or goes; new tasks are added by the writer, once per transaction.
 * - span: how many tasks of a long list have their status within each span of time; see ../spans.ts. The writer keeps it.
 * - home: the path under which the file was last opened; see open.ts.
 *
 * An index costs time with every new task, so there are few. Most tasks are completed: a list of those walks the
 * index by time and passes over the others, the other states have an index of their own. The one index by context has all
 * states, each in its own order, and a list of a context merges them. Retention walks the index over all scopes.
 *
 * Timestamps are ISO 8601 text, which sorts.
 */

/** "Crrl" as a number. */
export const applicationId = 0x4372726c

/** A step from one schema to the next, about to begin. */
export interface Migration {
  /** The schema that the file has. */
  readonly from: number
  /** The schema that it will have after all steps. */
  readonly to: number
}

/**
 * Brings a file to the newest schema, from an empty one on. `progress` is called before each step unless the
 * file is empty.
 *
 * @throws Error if the file is another program's or was written by a newer version.
 */
export function migrate(
  db: Connection,
  steps: readonly string[] = migrations,
  progress?: (migration: Migration) => void,
): void {
  const version = pragma(db, 'user_version')
  mustKnow(version, steps.length)
  const isStore = pragma(db, 'application_id') === applicationId
  if (version === 0 ? !isEmpty(db) : !isStore) throw new Error(foreign)
  for (const [i, step] of steps.entries()) {
    if (i < version) continue
    if (version > 0) progress?.({ from: i, to: steps.length })
    apply(db, step, i + 1)
  }
}

/**
 * Rejects a file with a newer schema than ours.
 * @throws Error that says so.
 */
export function mustKnow(version: number, known: number = migrations.length): void {
  if (version > known)
    throw new Error(
      `the file has schema ${version}, this version of Corral knows ${known}; use a newer one`,
    )
}

/** The value of a pragma that is a number. */
export function pragma(db: Connection, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0)
}

function isEmpty(db: Connection): boolean {
  return db.prepare('SELECT name FROM sqlite_schema LIMIT 1').get() === undefined
}

/** What is said of a file that is a database, but not ours. */
export const foreign = 'the file is a database of another program'

/** The version is part of the transaction: a crash leaves either the old schema or the new one. */
function apply(db: Connection, step: string, version: number): void {
  createTransaction(db)(() => {
    db.exec(step)
    db.exec(`PRAGMA application_id = ${applicationId}`)
    db.exec(`PRAGMA user_version = ${version}`)
  })
}

/** The first schema; what its parts are for stands at the top of this file. */
const first = `
CREATE TABLE scope (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  UNIQUE (agent, tenant, owner)
) STRICT;

CREATE TABLE task (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  scope INTEGER NOT NULL,
  context_id TEXT NOT NULL,
  state TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  version INTEGER NOT NULL,
  snapshot_version INTEGER NOT NULL,
  idempotency_key TEXT,
  snapshot TEXT NOT NULL,
  log TEXT
) STRICT;
CREATE INDEX task_by_time ON task (scope, timestamp, id, state);
CREATE INDEX task_by_state ON task (scope, state, timestamp, id) WHERE state <> 'TASK_STATE_COMPLETED';
CREATE UNIQUE INDEX task_by_key ON task (scope, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX task_unfinished ON task (timestamp)
  WHERE state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING');

CREATE TABLE log (
  task INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  records TEXT NOT NULL,
  PRIMARY KEY (task, last_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE push (
  number INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  id TEXT NOT NULL,
  cursor INTEGER NOT NULL,
  record TEXT NOT NULL,
  UNIQUE (task_id, id)
) STRICT;

CREATE TABLE dead_letter (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  task_id TEXT NOT NULL,
  letter TEXT NOT NULL
) STRICT;
CREATE INDEX dead_letter_by_task ON dead_letter (task_id);

CREATE TABLE total (
  scope INTEGER NOT NULL,
  state TEXT NOT NULL,
  tasks INTEGER NOT NULL,
  PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER task_changed AFTER UPDATE OF state ON task WHEN old.state <> new.state BEGIN
  INSERT INTO total VALUES (old.scope, old.state, -1) ON CONFLICT DO UPDATE SET tasks = tasks - 1;
  INSERT INTO total VALUES (new.scope, new.state, 1) ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER task_deleted AFTER DELETE ON task BEGIN
  INSERT INTO total VALUES (old.scope, old.state, -1) ON CONFLICT DO UPDATE SET tasks = tasks - 1;
  DELETE FROM log WHERE task = old.number;
  DELETE FROM push WHERE task_id = old.id;
  DELETE FROM dead_letter WHERE task_id = old.id;
END;

CREATE TABLE probe (id INTEGER PRIMARY KEY, at TEXT NOT NULL) STRICT;
`

/**
 * The second schema: what is left to do, generation, build and artifacts as columns, values of contexts, the name under
 * which the file is open, an index over all scopes. What older rows lack is worked out from their logs:
 *
 * - busy: SUBMITTED, WORKING, or waiting for input although a message came that no turn began with and none dropped.
 * - generation: 1 and the status and artifact events after the first event.
 * - artifacts leave the snapshot; records that came in one large commit are cut into rows of 128.
 *
 * The table is made anew, so that small columns stand before the documents: a row that overflows its page is followed
 * only as far as the last column that is asked for. A document that is nested too deep for SQLite's functions stays as it
 * is, and is read as it is.
 */
const second = `
CREATE TEMP VIEW record AS
  SELECT number AS task, value FROM task, json_each(task.log) WHERE json_valid(task.log)
  UNION ALL
  SELECT log.task, value FROM log, json_each(log.records) WHERE json_valid(log.records);
CREATE TEMP VIEW event AS
  SELECT task, value ->> 'seq' AS seq,
    json_type(value, '$.event.statusUpdate') IS NOT NULL
      OR json_type(value, '$.event.artifactUpdate') IS NOT NULL AS changes
  FROM record WHERE value ->> 'kind' = 'event';
CREATE TEMP TABLE grown AS
  SELECT task, sum(changes) - coalesce(min(seq) = min(seq) FILTER (WHERE changes), 0) AS by
  FROM event GROUP BY task;
CREATE UNIQUE INDEX temp.grown_by_task ON grown (task);
CREATE TEMP TABLE waiting AS
  SELECT number AS task FROM task
  WHERE state IN ('TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED') AND EXISTS (
    SELECT 1 FROM record AS sent WHERE sent.task = number AND sent.value ->> 'kind' = 'message'
      AND NOT EXISTS (SELECT 1 FROM record AS later WHERE later.task = number AND (
        later.value ->> 'kind' = 'start' AND later.value ->> 'turn' >= sent.value ->> 'turn'
        OR later.value ->> 'kind' = 'dropped'
          AND later.value ->> 'messageId' = sent.value ->> '$.message.messageId')));
DROP VIEW event;
DROP VIEW record;
CREATE TEMP TABLE indexed AS
  SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'task_by_context') AS had;

CREATE TABLE task_2 (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  scope INTEGER NOT NULL,
  context_id TEXT NOT NULL,
  state TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  version INTEGER NOT NULL,
  busy INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  build TEXT NOT NULL,
  snapshot_version INTEGER NOT NULL,
  idempotency_key TEXT,
  snapshot TEXT NOT NULL,
  artifacts TEXT,
  log TEXT
) STRICT;
INSERT INTO task_2 SELECT number, id, scope, context_id, state, timestamp, version,
    state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING') OR number IN (SELECT task FROM waiting),
    1 + coalesce((SELECT by FROM grown WHERE grown.task = number), 0),
    '', snapshot_version, idempotency_key,
    CASE WHEN json_valid(snapshot) THEN json_remove(snapshot, '$.artifacts') ELSE snapshot END,
    CASE WHEN json_valid(snapshot) THEN snapshot -> 'artifacts' END,
    log
  FROM task ORDER BY number;
DROP TABLE task;
ALTER TABLE task_2 RENAME TO task;
DROP TABLE grown;
DROP TABLE waiting;

CREATE INDEX task_by_time ON task (scope, timestamp, id, state);
CREATE INDEX task_by_state ON task (scope, state, timestamp, id) WHERE state <> 'TASK_STATE_COMPLETED';
CREATE UNIQUE INDEX task_by_key ON task (scope, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX task_busy ON task (timestamp, id) WHERE busy = 1;
CREATE INDEX task_of_all ON task (timestamp, id);
CREATE TRIGGER task_changed AFTER UPDATE OF state ON task WHEN old.state <> new.state BEGIN
  INSERT INTO total VALUES (old.scope, old.state, -1) ON CONFLICT DO UPDATE SET tasks = tasks - 1;
  INSERT INTO total VALUES (new.scope, new.state, 1) ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER task_deleted AFTER DELETE ON task BEGIN
  INSERT INTO total VALUES (old.scope, old.state, -1) ON CONFLICT DO UPDATE SET tasks = tasks - 1;
  DELETE FROM log WHERE task = old.number;
  DELETE FROM push WHERE task_id = old.id;
  DELETE FROM dead_letter WHERE task_id = old.id;
END;

CREATE TEMP TABLE long AS
  SELECT number AS task, NULL AS last_seq, log AS records FROM task
    WHERE json_valid(log) AND json_array_length(log) > 128
  UNION ALL
  SELECT task, last_seq, records FROM log
    WHERE json_valid(records) AND json_array_length(records) > 128;
UPDATE task SET log = NULL WHERE number IN (SELECT task FROM long WHERE last_seq IS NULL);
DELETE FROM log WHERE (task, last_seq) IN (SELECT task, last_seq FROM long);
INSERT INTO log SELECT task, max(value ->> 'seq'), json_group_array(json(value) ORDER BY key)
  FROM long, json_each(long.records) GROUP BY task, last_seq, key / 128;
DROP TABLE long;

CREATE TABLE context_value (
  scope INTEGER NOT NULL,
  context_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (scope, context_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE context_task (
  scope INTEGER NOT NULL,
  context_id TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (scope, context_id, timestamp, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE context_fill (id INTEGER PRIMARY KEY, next INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;
INSERT INTO context_fill SELECT 1, min(number), max(number) FROM task
  WHERE (SELECT had FROM indexed) HAVING max(number) IS NOT NULL;
DROP TABLE indexed;

CREATE TABLE home (id INTEGER PRIMARY KEY, path TEXT NOT NULL) STRICT;
`

/**
 * The third schema: logs and values in tables with a row id. A table without one compares whole rows where it looks one up,
 * so that everybody's rows were slow to find beside a few large ones. A row of a log is found by its place: the number of
 * its task and, in the lower 31 bits, the sequence number of its last record.
 */
const third = `
CREATE TABLE log_3 (place INTEGER PRIMARY KEY, records TEXT NOT NULL) STRICT;
INSERT INTO log_3 SELECT task << 31 | last_seq, records FROM log ORDER BY task, last_seq;
DROP TRIGGER task_deleted;
DROP TABLE log;
ALTER TABLE log_3 RENAME TO log;
CREATE TRIGGER task_deleted AFTER DELETE ON task BEGIN
  INSERT INTO total VALUES (old.scope, old.state, -1) ON CONFLICT DO UPDATE SET tasks = tasks - 1;
  DELETE FROM log WHERE place > old.number << 31 AND place < (old.number + 1) << 31;
  DELETE FROM push WHERE task_id = old.id;
  DELETE FROM dead_letter WHERE task_id = old.id;
END;

CREATE TABLE context_value_3 (
  scope INTEGER NOT NULL,
  context_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  UNIQUE (scope, context_id, key)
) STRICT;
INSERT INTO context_value_3 SELECT scope, context_id, key, value FROM context_value;
DROP TABLE context_value;
ALTER TABLE context_value_3 RENAME TO context_value;
`

/**
 * The fourth schema: tasks by context from the start, and the counts of long lists. Lists of more than 2,000 tasks are
 * counted here in spans of about 1,000, and more than 32 spans in groups of 16.
 */
const fourth = `
DROP TRIGGER IF EXISTS context_task_added;
DROP TRIGGER IF EXISTS context_task_moved;
DROP TRIGGER IF EXISTS context_task_deleted;
DROP TABLE context_task;
DROP TABLE context_fill;
CREATE INDEX task_by_context ON task (context_id, scope, state, timestamp, id);

CREATE TABLE span (
  scope INTEGER NOT NULL,
  list TEXT NOT NULL,
  since TEXT NOT NULL,
  state TEXT NOT NULL,
  tasks INTEGER NOT NULL,
  PRIMARY KEY (scope, list, since, state)
) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE long AS
  SELECT scope, '' AS list FROM total GROUP BY scope HAVING sum(tasks) > 2000
  UNION ALL
  SELECT scope, ':' || context_id FROM task INDEXED BY task_by_context
    GROUP BY context_id, scope HAVING count(*) > 2000;
CREATE TEMP VIEW listed AS
  SELECT long.scope, list, state, timestamp FROM long
    CROSS JOIN task INDEXED BY task_by_time ON task.scope = long.scope WHERE list = ''
  UNION ALL
  SELECT long.scope, list, state, timestamp FROM long
    CROSS JOIN task INDEXED BY task_by_context ON context_id = substr(list, 2) AND task.scope = long.scope
    WHERE list <> '';
INSERT INTO span SELECT scope, list, '', state, count(*) FROM listed WHERE list <> '' GROUP BY scope, list, state;
INSERT INTO span SELECT scope, list, CASE place WHEN 0 THEN ' ' ELSE min(first) END, state, count(*) FROM (
    SELECT scope, list, place, state, min(timestamp) OVER (PARTITION BY scope, list, place) AS first FROM (
      SELECT scope, list, state, timestamp,
        (rank() OVER (PARTITION BY scope, list ORDER BY timestamp) - 1) / 1000 AS place FROM listed))
  GROUP BY scope, list, place, state;
INSERT INTO span SELECT scope, '^' || list, first, state, sum(tasks) FROM (
    SELECT *, min(since) OVER (PARTITION BY scope, list, place) AS first FROM (
      SELECT *, (dense_rank() OVER (PARTITION BY scope, list ORDER BY since) - 1) / 16 AS place FROM span
      WHERE since <> '' AND (scope, list) IN (
        SELECT scope, list FROM span WHERE since <> '' GROUP BY scope, list HAVING count(DISTINCT since) > 32)))
  GROUP BY scope, list, first, state;
DROP VIEW listed;
DROP TABLE long;
`

/** What brings a file from each schema to the next. One is never changed once released; a change is a further one. */
export const migrations: readonly string[] = [first, second, third, fourth]
