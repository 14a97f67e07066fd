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
export interface DatabaseMigration {
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
