import type { Connection } from './driver.ts'

/**
 * The file. `application_id` says that it is ours, `user_version` which of the migrations below it has seen.
 *
 * - scope: agent, tenant and principal, once each.
 * - task: one row per task. The columns are current; `snapshot` is the Task as JSON with all records up to
 *   `snapshot_version` in it. `log` holds the records of the first commit, if its turn ended there.
 * - log: the records of every other commit, one row per commit under the sequence number of its last record.
 * - push: webhooks and how far each has come. dead_letter: deliveries given up.
 * - total: how many tasks a scope has in each state, so that a list need not count. Triggers keep it when a task changes
 *   or goes; new tasks are added by the writer, once per transaction.
 *
 * An index costs time with every new task, so there are few. Most tasks are completed: a list of those walks the
 * index by time and passes over the others, the other states have an index of their own. Two are made in files where they
 * are first asked for: `task_by_context` by a list of a context, `task_finished` by retention.
 *
 * Timestamps are ISO 8601 text, which sorts. A migration is never changed once released; a change is a further one.
 */
export const migrations: readonly string[] = [
  `
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
  `,
  `
  ALTER TABLE task ADD COLUMN busy INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE task ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE task ADD COLUMN build TEXT NOT NULL DEFAULT '';
  DROP INDEX task_unfinished;

  CREATE TABLE context_value (
    scope INTEGER NOT NULL,
    context_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (scope, context_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER context_left AFTER DELETE ON task BEGIN
    DELETE FROM context_value WHERE scope = old.scope AND context_id = old.context_id AND NOT EXISTS
      (SELECT 1 FROM task WHERE task.scope = context_value.scope AND task.context_id = context_value.context_id);
  END;

  UPDATE task SET busy = 1 WHERE state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING');
  CREATE INDEX task_busy ON task (timestamp, id) WHERE busy = 1;
  CREATE INDEX task_of_all ON task (timestamp, id, state);
  `,
]

/** Makes the index that lists of one context walk; contexts are random, which makes it the dearest of all to keep. */
export const contextIndex =
  'CREATE INDEX IF NOT EXISTS task_by_context ON task (scope, context_id, timestamp, id, state)'

/** "Crrl" as a number. */
const applicationId = 0x4372726c

/**
 * Brings a file to the newest schema, from an empty one on.
 *
 * @throws Error if the file is another program's or was written by a newer version.
 */
export function migrate(db: Connection, steps: readonly string[] = migrations): void {
  const version = pragma(db, 'user_version')
  if (version > steps.length)
    throw new Error(
      `the file has schema ${version}, this version of Corral knows ${steps.length}; use a newer one`,
    )
  if (version === 0 ? !isEmpty(db) : !isStore(db))
    throw new Error('the file is a database of another program')
  for (const [i, step] of steps.entries()) if (i >= version) apply(db, step, i + 1)
}

/** Whether a file is a store of ours, of whatever version. */
export function isStore(db: Connection): boolean {
  return pragma(db, 'application_id') === applicationId
}

/** The value of a pragma that is a number. */
export function pragma(db: Connection, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0)
}

function isEmpty(db: Connection): boolean {
  return db.prepare('SELECT name FROM sqlite_schema LIMIT 1').get() === undefined
}

/** The version is part of the transaction: a crash leaves either the old schema or the new one. */
function apply(db: Connection, step: string, version: number): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec(step)
    db.exec(`PRAGMA application_id = ${applicationId}`)
    db.exec(`PRAGMA user_version = ${version}`)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}
