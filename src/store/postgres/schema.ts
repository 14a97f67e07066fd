import { backoffMs, retry } from '../../shared/async.ts'
import { systemClock } from '../../shared/clock.ts'
import { firstSpan, listOf, uncounted } from '../spans.ts'
import {
  type DatabaseConnection,
  type DatabaseRow,
  isBroken,
  isLockTimeout,
  type Names,
  type SqlStatement,
} from './connection.ts'

/** What stands in a database about its schema. */
interface Version {
  readonly schema: number
  /** The lowest version of the schema that a program must know to work with it. */
  readonly oldestReader: number
}

/** A migration, or a count of long lists, that is about to begin. */
interface DatabaseMigrationProgress {
  /** The schema that the database has. */
  readonly from: number
  /** The schema that it will have. */
  readonly to: number
  /** How many scopes have their long lists counted next; absent before the tables change. */
  readonly scopes?: number
}

/** Called before tables with rows in them change, and before long lists are counted. */
type ReportMigration = (step: DatabaseMigrationProgress) => void

/**
 * Brings a database to the newest schema, from an empty one on, and counts the long lists that are not counted yet. Replicas
 * that start together wait for each other: one migrates, the others find it done. A schema that is newer but still meant for
 * us is left as it is.
 *
 * @throws Error where the database was written by a version that we are too old for.
 */
export async function migrateDatabase(
  connection: DatabaseConnection,
  names: Names,
  progress?: ReportMigration,
  steps: readonly DatabaseMigration[] = databaseMigrations,
): Promise<void> {
  const { schema } = names
  const found = await versionOf(connection, schema)
  mustKnow(found, steps.length)
  if (found.schema < steps.length) await migrate(connection, names, { steps, progress })
  const version = Math.max(found.schema, steps.length)
  if (version < spansFrom) return
  await countLists(connection, schema, (scopes) =>
    progress?.({ from: version, to: version, scopes }),
  )
}

interface MigrationOptions {
  readonly steps: readonly DatabaseMigration[]
  readonly progress: ReportMigration | undefined
}

async function migrate(
  connection: DatabaseConnection,
  { schema, lockClass }: Names,
  { steps, progress }: MigrationOptions,
): Promise<void> {
  await connection.query({ text: 'BEGIN' })
  try {
    // Replica numbers begin at 1, so 0 is the lock of no replica.
    await connection.query({ text: `SELECT pg_advisory_xact_lock(${lockClass}, 0)` })
    const { schema: from } = await versionOf(connection, schema)
    if (from === 0) await begin(connection, schema)
    else if (from < steps.length) progress?.({ from, to: steps.length })
    for (const step of steps.slice(from))
      await connection.query({ text: step.sql.replaceAll('{s}', schema) })
    const { oldestReader = 1 } = steps.at(-1) ?? {}
    if (from < steps.length)
      await connection.query({
        text: `UPDATE ${schema}.meta SET schema = $1, oldest_reader = greatest(oldest_reader, $2)`,
        values: [steps.length, oldestReader],
      })
    await connection.query({ text: 'COMMIT' })
  } catch (error) {
    await connection.query({ text: 'ROLLBACK' }).catch(() => {})
    throw error
  }
}

/** The schema that has the counts of long lists. */
const spansFrom = 2

/**
 * Counts the long lists that are not counted yet: those of a store of an older schema, and those that a process left when it
 * was killed. Contexts are counted before their scope, so a scope that is counted needs no search for long contexts.
 */
async function countLists(
  connection: DatabaseConnection,
  schema: string,
  progress: (scopes: number) => void,
): Promise<void> {
  const scopes = await connection.query({
    text: `SELECT scope FROM (SELECT scope FROM ${schema}.total GROUP BY scope HAVING sum(tasks) > ${uncounted}) l
      WHERE NOT EXISTS (SELECT 1 FROM ${schema}.span s
        WHERE s.scope = l.scope AND s.list = '' AND s.since = '${firstSpan}')`,
  })
  if (scopes.length > 0) progress(scopes.length)
  for (const { scope } of scopes) {
    const contexts = await connection.query({
      text: `SELECT context_id FROM ${schema}.task WHERE scope = $1 GROUP BY context_id HAVING count(*) > ${uncounted}`,
      values: [scope],
    })
    for (const { context_id } of contexts)
      await countList(connection, schema, [scope, listOf(String(context_id))])
    await countList(connection, schema, [scope, listOf(undefined)])
  }
}

/** Attempts to get the lock of a list that replicas write to. */
const maxAttempts = 5

/** Counts a list, each piece in a transaction of its own. A list that stays locked is counted later, when it is written to. */
async function countList(
  connection: DatabaseConnection,
  schema: string,
  values: readonly unknown[],
): Promise<void> {
  const statement = { ...cutting(schema), values: [...values] }
  const cut = (): Promise<boolean> =>
    retry(async () => hasMore(await connection.query(statement)), {
      tries: maxAttempts,
      delay: (error, failures) =>
        isLockTimeout(error) ? backoffMs(failures, lockBackoff) : undefined,
      clock: systemClock,
    })
  try {
    while (await cut());
  } catch (error) {
    if (isBroken(error)) throw error
  }
}

const lockBackoff = { baseMs: 50, maxMs: 500 }

/**
 * The statement that gives the next piece of a list its spans, or brings them up to date; binds the scope's column and the
 * list. Repeat it while `hasMore` is true of its rows.
 */
export function cutting(schema: string): SqlStatement {
  return { name: 'cut_spans', text: `SELECT ${schema}.cut_spans($1, $2) AS more` }
}

export function hasMore([row]: readonly DatabaseRow[]): boolean {
  return row?.more === true
}

/** An existing schema is used as it is: creating one takes a right of its own. */
async function begin(connection: DatabaseConnection, schema: string): Promise<void> {
  const text = 'SELECT 1 FROM pg_namespace WHERE nspname = $1'
  const [found] = await connection.query({ text, values: [schema] })
  if (!found) await connection.query({ text: `CREATE SCHEMA ${schema}` })
  await connection.query({
    text: `CREATE TABLE ${schema}.meta (schema int NOT NULL, oldest_reader int NOT NULL);
      INSERT INTO ${schema}.meta VALUES (0, 1)`,
  })
}

/** The version of the schema in a database; 0 where it does not exist. */
export async function versionOf(connection: DatabaseConnection, schema: string): Promise<Version> {
  // Read as rows, not by `to_regclass`, which may not see yet what another replica has just made.
  const text = `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = 'meta'`
  const [table] = await connection.query({ text, values: [schema] })
  if (!table) return { schema: 0, oldestReader: 1 }
  const [row] = await connection.query({
    text: `SELECT schema, oldest_reader FROM ${schema}.meta`,
  })
  return { schema: Number(row?.schema ?? 0), oldestReader: Number(row?.oldest_reader ?? 1) }
}

function mustKnow({ schema, oldestReader }: Version, known: number): void {
  if (oldestReader > known)
    throw new Error(
      `the database has schema ${schema}, which needs version ${oldestReader}; this version of Corral knows ${known}: use a newer one`,
    )
}

/**
 * What brings a schema from each version to the next; `{s}` is the schema. Replicas of two releases run side by side, so a
 * step only adds, and one is never changed once released. `oldestReader` is the lowest version that can still work with
 * what the step leaves.
 *
 * - replica: the registrations. A number is never used again.
 * - task: one row per task. The columns are current; `snapshot` is the Task as JSON with all records up to
 *   `snapshot_version`, without its artifacts, and a status message that is the last of the history stands there as 0.
 *   `scope` and `idempotency_key` are digests where they are long, for the sake of the indexes; agent, tenant and principal
 *   are the scope as it is. `log` holds the records of the first commit. `former` is the state before the last write, from
 *   which the totals are kept. `replica` is who runs the task, 0 where it was given up: NULL exactly where there is nothing
 *   left to do, neither a turn (`busy`) nor an entry of the inbox (`mail` counts them). `watchers` are the replicas that
 *   are notified when the task grows.
 * - log: the records of every other commit under the sequence number of the last, 128 in a row at most.
 * - inbox: what waits for the replica that runs a task.
 * - push: webhooks, how far each has come, and who delivers; `done` where nothing will ever follow. dead_letter: deliveries
 *   given up.
 * - context_value: values of contexts, their keys as JSON. They go with the context's last task.
 * - total: how many tasks a scope has in each state, in 16 parts, so that replicas do not wait for each other.
 * - span: the counts of long lists, in 16 parts too; see ../spans.ts. Triggers keep it, so that replicas of a release that does
 *   not know it count too. Each writer shares one of 64 locks for each list that it counts in; the statement that cuts a list
 *   into other spans has that lock to itself, so no task is counted in a span that is being replaced. A list that has become
 *   long gets its spans from the newest back, 20,000 tasks in a transaction, so that no writer waits long for the lock. Until
 *   the first span (' ') is there, tasks before the oldest span are counted row by row, the list of a context has no row for
 *   the whole list, and no list has groups.
 *
 * Documents are text: jsonb refuses U+0000 and changes the order of members. Timestamps are ISO 8601 text, which sorts.
 */
interface DatabaseMigration {
  readonly oldestReader: number
  readonly sql: string
}

const first = `
CREATE TABLE {s}.replica (
  number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  agents text[] NOT NULL,
  builds text[] NOT NULL,
  alive_until timestamptz NOT NULL
);

CREATE TABLE {s}.task (
  id text COLLATE "C" PRIMARY KEY,
  version int NOT NULL,
  snapshot_version int NOT NULL,
  generation int NOT NULL,
  busy boolean NOT NULL,
  replica int,
  mail int NOT NULL DEFAULT 0,
  watchers int[] NOT NULL DEFAULT '{}',
  scope text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  principal text COLLATE "C" NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  former text COLLATE "C",
  timestamp text COLLATE "C" NOT NULL,
  build text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C",
  snapshot text NOT NULL,
  artifacts text,
  log text
) WITH (fillfactor = 85);
CREATE INDEX task_by_time ON {s}.task (scope, timestamp, id);
CREATE INDEX task_by_state ON {s}.task (scope, state, timestamp, id) WHERE state <> 'TASK_STATE_COMPLETED';
CREATE INDEX task_by_context ON {s}.task (scope, context_id, timestamp, id);
CREATE INDEX task_of_all ON {s}.task (timestamp, id);
CREATE UNIQUE INDEX task_by_key ON {s}.task (scope, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX task_running ON {s}.task (replica) WHERE replica IS NOT NULL;

CREATE TABLE {s}.log (
  task_id text COLLATE "C" NOT NULL,
  last_seq int NOT NULL,
  records text NOT NULL,
  PRIMARY KEY (task_id, last_seq)
);

CREATE TABLE {s}.inbox (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  entry text NOT NULL,
  UNIQUE (task_id, key)
);
CREATE INDEX inbox_by_task ON {s}.inbox (task_id, number);

CREATE TABLE {s}.push (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  cursor int NOT NULL,
  replica int,
  done boolean NOT NULL DEFAULT false,
  record text NOT NULL,
  UNIQUE (task_id, id)
) WITH (fillfactor = 85);
CREATE INDEX push_open ON {s}.push (number) WHERE NOT done;
CREATE INDEX push_running ON {s}.push (replica) WHERE replica IS NOT NULL;

CREATE TABLE {s}.dead_letter (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  task_id text COLLATE "C" NOT NULL,
  letter text NOT NULL
);
CREATE INDEX dead_letter_by_task ON {s}.dead_letter (task_id);

CREATE TABLE {s}.context_value (
  scope text COLLATE "C" NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL
);
CREATE UNIQUE INDEX context_value_by_key ON {s}.context_value (scope, context_id, md5(key));

CREATE TABLE {s}.total (
  scope text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  part int NOT NULL,
  tasks int NOT NULL,
  PRIMARY KEY (scope, state, part)
) WITH (fillfactor = 50);

CREATE TABLE {s}.probe (id int PRIMARY KEY, at timestamptz NOT NULL);
`

const ofScope = 'scope = of_scope'
const ofContext = 'scope = of_scope AND context_id = substr(of_list, 2)'
const counted = 'scope, context_id, timestamp, state'

const second = `
CREATE INDEX task_by_context_state ON {s}.task (scope, context_id, state, timestamp, id)
  WHERE state <> 'TASK_STATE_COMPLETED';

CREATE TABLE {s}.span (
  scope text COLLATE "C" NOT NULL,
  list text COLLATE "C" NOT NULL,
  since text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  part int NOT NULL,
  tasks int NOT NULL,
  PRIMARY KEY (scope, list, since, state, part)
) WITH (fillfactor = 50);

CREATE FUNCTION {s}.count_spans() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      ${counting(`SELECT ${counted}, 1 AS step FROM added`)}
    ELSIF TG_OP = 'DELETE' THEN
      ${counting(`SELECT ${counted}, -1 AS step FROM removed`)}
    ELSE
      ${counting(
        `SELECT ${counted}, sum(step) AS step FROM (SELECT ${counted}, 1 AS step FROM added
          UNION ALL SELECT ${counted}, -1 FROM removed) m GROUP BY ${counted} HAVING sum(step) <> 0`,
      )}
    END IF;
    RETURN NULL;
  END
$body$;
CREATE TRIGGER span_added AFTER INSERT ON {s}.task REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION {s}.count_spans();
CREATE TRIGGER span_moved AFTER UPDATE ON {s}.task REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION {s}.count_spans();
CREATE TRIGGER span_deleted AFTER DELETE ON {s}.task REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION {s}.count_spans();

CREATE FUNCTION {s}.fill_spans(of_scope text, of_list text, of_since text, of_next text)
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $body$
  BEGIN
    IF of_list = '' THEN
      ${filling(ofScope)}
    ELSE
      ${filling(ofContext)}
    END IF;
  END
$body$;

CREATE FUNCTION {s}.group_spans(of_scope text, of_list text)
RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $body$
  DECLARE
    cut record;
  BEGIN
    FOR cut IN
      SELECT g.since, g.next FROM (
        SELECT since, coalesce(lead(since) OVER (ORDER BY since), '~') AS next FROM (
          SELECT ' ' COLLATE "C" AS since
          UNION SELECT since FROM {s}.span WHERE scope = of_scope AND list = '^' || of_list) d) g
      WHERE 32 < (SELECT count(DISTINCT since) FROM {s}.span f
        WHERE scope = of_scope AND list = of_list AND f.since >= g.since AND f.since < g.next)
    LOOP
      DELETE FROM {s}.span WHERE scope = of_scope AND list = '^' || of_list AND since = cut.since;
      INSERT INTO {s}.span SELECT of_scope, '^' || of_list, first, state, 0, sum(tasks) FROM (
          SELECT state, tasks, min(since) OVER (PARTITION BY place) AS first FROM (
            SELECT state, tasks, since, (dense_rank() OVER (ORDER BY since) - 1) / 16 AS place FROM {s}.span
            WHERE scope = of_scope AND list = of_list AND since >= cut.since AND since < cut.next) r) p
        GROUP BY first, state;
    END LOOP;
  END
$body$;

CREATE FUNCTION {s}.cut_spans(of_scope text, of_list text)
RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '200ms'
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $body$
  DECLARE
    oldest text;
    begins text;
    cut record;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('{s}.span'), hashtext(of_scope || of_list) & 63);
    SELECT since INTO oldest FROM {s}.span WHERE scope = of_scope AND list = of_list AND since > ''
      ORDER BY since LIMIT 1;
    IF oldest IS NULL THEN
      IF of_list = '' THEN
        PERFORM 1 FROM {s}.task WHERE ${ofScope} OFFSET 2000 LIMIT 1;
      ELSE
        PERFORM 1 FROM {s}.task WHERE ${ofContext} OFFSET 2000 LIMIT 1;
      END IF;
      IF NOT FOUND THEN RETURN false; END IF;
      oldest := '~';
    END IF;
    IF oldest <> ' ' THEN
      IF of_list = '' THEN
        ${finding(ofScope)}
      ELSE
        ${finding(ofContext)}
      END IF;
      PERFORM {s}.fill_spans(of_scope, of_list, coalesce(begins, ' '), oldest);
      IF begins IS NOT NULL THEN RETURN true; END IF;
      INSERT INTO {s}.span VALUES (of_scope, of_list, ' ', 'TASK_STATE_COMPLETED', 0, 0) ON CONFLICT DO NOTHING;
      IF of_list <> '' THEN
        INSERT INTO {s}.span SELECT scope, list, '', state, 0, sum(tasks) FROM {s}.span
          WHERE scope = of_scope AND list = of_list GROUP BY scope, list, state;
      END IF;
    END IF;
    DELETE FROM {s}.span WHERE scope = of_scope AND list = '^' || of_list AND since <> ' ' AND since IN (
      SELECT since FROM {s}.span WHERE scope = of_scope AND list = '^' || of_list GROUP BY since HAVING sum(tasks) = 0);
    FOR cut IN
      SELECT since, sum(tasks) AS tasks, coalesce(lead(since) OVER (ORDER BY since), '~') AS next FROM {s}.span
      WHERE scope = of_scope AND list = of_list AND since <> '' GROUP BY since
    LOOP
      CONTINUE WHEN cut.tasks BETWEEN 1 AND 2000 OR (cut.tasks = 0 AND (cut.since = ' ' OR EXISTS (
        SELECT 1 FROM {s}.span WHERE scope = of_scope AND list = '^' || of_list AND since = cut.since)));
      DELETE FROM {s}.span WHERE scope = of_scope AND list = of_list AND since = cut.since;
      CONTINUE WHEN cut.tasks = 0;
      PERFORM {s}.fill_spans(of_scope, of_list, cut.since, cut.next);
    END LOOP;
    PERFORM {s}.group_spans(of_scope, of_list);
    RETURN false;
  END
$body$;
`

/**
 * Counts the rows of a query. The locks come first, so that the spans are read as other statements left them. The row of the
 * whole list and that of the group are written where there are any: scopes have the table `total` for the first.
 */
function counting(rows: string): string {
  const lists = "CROSS JOIN LATERAL (VALUES (''), (':' || r.context_id)) l (list)"
  return `PERFORM pg_advisory_xact_lock_shared(hashtext('{s}.span'), k.lock) FROM (
        SELECT DISTINCT hashtext(r.scope || l.list) & 63 AS lock FROM (${rows}) r ${lists} ORDER BY 1) k;
      IF NOT FOUND THEN RETURN NULL; END IF;
      INSERT INTO {s}.span AS o
        SELECT r.scope, s.list, s.since, r.state, pg_backend_pid() & 15, sum(r.step)
        FROM (${rows}) r ${lists} CROSS JOIN LATERAL (
          SELECT p.since FROM {s}.span p WHERE p.scope = r.scope AND p.list = l.list AND p.since <= r.timestamp
          ORDER BY p.since DESC LIMIT 1) f CROSS JOIN LATERAL (
          SELECT l.list, f.since UNION ALL SELECT l.list, w.since FROM (SELECT p.since FROM {s}.span p
            WHERE p.scope = r.scope AND p.list = l.list ORDER BY p.since LIMIT 1) w WHERE w.since = ''
          UNION ALL (SELECT p.list, p.since FROM {s}.span p WHERE p.scope = r.scope AND p.list = '^' || l.list
            AND p.since <= r.timestamp ORDER BY p.since DESC LIMIT 1)) s
        GROUP BY 1, 2, 3, 4 HAVING sum(r.step) <> 0 ORDER BY 1, 2, 3, 4
      ON CONFLICT (scope, list, since, state, part) DO UPDATE SET tasks = o.tasks + excluded.tasks;`
}

/**
 * Counts the tasks of a list between two moments, in spans of about 1,000. The function around it forbids sequential scans:
 * the planner prefers one while a single list is most of the table, and may keep that plan when it no longer is.
 */
function filling(tasks: string): string {
  return `INSERT INTO {s}.span
        SELECT of_scope, of_list, CASE place WHEN 0 THEN of_since ELSE min(first) END, state, 0, count(*) FROM (
          SELECT place, state, min(timestamp) OVER (PARTITION BY place) AS first FROM (
            SELECT state, timestamp, (rank() OVER (ORDER BY timestamp) - 1) / 1000 AS place FROM {s}.task
            WHERE ${tasks} AND timestamp >= of_since AND timestamp < of_next) r) p
        GROUP BY place, state;`
}

/**
 * Finds where the next piece of a list begins; nothing where it is the last. The function around it forbids sorts and bitmap
 * scans, by which the planner reads the whole list where it does not know how long the list is.
 */
function finding(tasks: string): string {
  return `SELECT timestamp INTO begins FROM {s}.task WHERE ${tasks} AND timestamp < oldest
          ORDER BY timestamp DESC OFFSET 19999 LIMIT 1;`
}

/** All of them, the first at the place of version 1. */
export const databaseMigrations: readonly DatabaseMigration[] = [
  { oldestReader: 1, sql: first },
  { oldestReader: 1, sql: second },
]
