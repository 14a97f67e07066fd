import type { DatabaseConnection, Names } from './connection.ts'

/** What stands in a database about its schema. */
interface Version {
  readonly schema: number
  /** The lowest version of the schema that a program must know to work with it. */
  readonly oldestReader: number
}

/**
 * Brings a database to the newest schema, from an empty one on. Replicas that start together wait for each other: one
 * migrates, the others find it done. A schema that is newer but still meant for us is left as it is.
 *
 * @throws Error where the database was written by a version that we are too old for.
 */
export async function migrateDatabase(
  connection: DatabaseConnection,
  { schema, lockClass }: Names,
  steps: readonly DatabaseMigration[] = databaseMigrations,
): Promise<void> {
  const found = await versionOf(connection, schema)
  mustKnow(found, steps.length)
  if (found.schema >= steps.length) return
  await connection.query({ text: 'BEGIN' })
  try {
    // Replica numbers begin at 1, so that 0 is nobody's lock.
    await connection.query({ text: `SELECT pg_advisory_xact_lock(${lockClass}, 0)` })
    const { schema: from } = await versionOf(connection, schema)
    if (from === 0) await begin(connection, schema)
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

/** A schema that somebody else made for us is used as it is: to make one takes a right of its own. */
async function begin(connection: DatabaseConnection, schema: string): Promise<void> {
  const text = 'SELECT 1 FROM pg_namespace WHERE nspname = $1'
  const [found] = await connection.query({ text, values: [schema] })
  if (!found) await connection.query({ text: `CREATE SCHEMA ${schema}` })
  await connection.query({
    text: `CREATE TABLE ${schema}.meta (schema int NOT NULL, oldest_reader int NOT NULL);
      INSERT INTO ${schema}.meta VALUES (0, 1)`,
  })
}

/** The version of the schema that stands in a database; 0 where there is none. */
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
 *   want to be told when the task grows.
 * - log: the records of every other commit under the sequence number of the last, 128 in a row at most.
 * - inbox: what waits for the replica that runs a task.
 * - push: webhooks, how far each has come, and who delivers; `done` where nothing will ever follow. dead_letter: deliveries
 *   given up.
 * - context_value: values of contexts, their keys as JSON. They go with the context's last task.
 * - total: how many tasks a scope has in each state, in 16 parts, so that replicas do not wait for each other.
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

/** All of them, the first at the place of version 1. */
export const databaseMigrations: readonly DatabaseMigration[] = [{ oldestReader: 1, sql: first }]
