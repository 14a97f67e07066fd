import { A2AError } from '../../protocol/errors.ts'
import { systemClock } from '../../shared/clock.ts'
import { parseScopeKey, toDeadLetter, toStateCounts } from '../documents.ts'
import type { PruneLimits, StoredContext, StoreFacts, StoreKeeper } from '../keeper.ts'
import { copyBytes } from '../size-limits.ts'
import {
  connectDatabase,
  type DatabaseConnection,
  namesIn,
  toConnectError,
  toShownStore,
} from './connection.ts'
import { createReaders, DatabaseLink } from './links.ts'
import { readFacts } from './reader.ts'
import { databaseMigrations, migrateDatabase, versionOf } from './schema.ts'
import { openPostgresStore } from './store.ts'
import { createTrimStep } from './upkeep.ts'

/** Counting everything may take longer than serving ever does. */
const statementTimeoutMs = 600_000

/** Looks after a store in PostgreSQL, also while replicas use it. No table is made but by `migrate` and `open`. */
export function createDatabaseKeeper(url: string, schema = 'corral'): StoreKeeper {
  const options = { url, tls: undefined, statementTimeoutMs, name: 'corral store' }

  async function connected<T>(work: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    try {
      const connection = await connectDatabase(options)
      return await work(connection).finally(() => connection.close())
    } catch (error) {
      throw toConnectError(url, error)
    }
  }

  function reading<T>(work: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    return connected(async (connection) => {
      if ((await versionOf(connection, namesIn(schema).schema)).schema > 0) return work(connection)
      const place = `${toShownStore(url)}, schema ${schema}`
      throw new A2AError('unavailable', `There is no task store in ${place}`)
    })
  }

  return {
    name: toShownStore(url),
    facts: () => reading((connection) => factsOf(connection, schema)),
    contexts: () => reading((connection) => contextsOf(connection, schema)),
    deadLetters: () =>
      reading(async (connection) => {
        const text = `SELECT letter FROM ${schema}.dead_letter ORDER BY number DESC`
        return (await connection.query({ text })).map(toDeadLetter)
      }),
    migrate: () =>
      connected(async (connection) => {
        const names = namesIn(schema)
        const { schema: from } = await versionOf(connection, schema)
        await migrateDatabase(connection, names)
        return { from, to: (await versionOf(connection, schema)).schema }
      }),
    prune: (limits) =>
      reading(async (connection) => {
        const before = await tasksIn(connection, schema)
        await prune(new DatabaseLink(options), schema, limits)
        return before - (await tasksIn(connection, schema))
      }),
    cluster: () =>
      reading(async () => {
        const readers = createReaders(options, 2)
        return readFacts(namesIn(schema), readers, 0).finally(() => readers.close())
      }),
    open: () => openPostgresStore({ url, schema, maxTaskBytes: copyBytes, statementTimeoutMs }),
  }
}

async function factsOf(connection: DatabaseConnection, schema: string): Promise<StoreFacts> {
  const { schema: version } = await versionOf(connection, schema)
  const states = await connection.query({
    text: `SELECT state, sum(tasks) AS tasks FROM ${schema}.total GROUP BY state`,
  })
  const [row = {}] = await connection.query({
    text: `SELECT (SELECT count(*) FROM ${schema}.task) AS tasks,
      (SELECT coalesce(sum(version), 0) FROM ${schema}.task) AS records,
      (SELECT count(idempotency_key) FROM ${schema}.task) AS keys,
      (SELECT count(*) FROM ${schema}.context_value) AS values,
      (SELECT count(*) FROM ${schema}.push) AS webhooks,
      (SELECT count(*) FROM ${schema}.dead_letter) AS letters,
      (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relkind = 'r') AS bytes`,
    values: [schema],
  })
  return {
    kind: 'postgres',
    schema: version,
    knownSchema: databaseMigrations.length,
    bytes: Number(row.bytes),
    states: toStateCounts(states),
    counts: {
      tasks: Number(row.tasks),
      records: Number(row.records),
      keys: Number(row.keys),
      contextValues: Number(row.values),
      webhooks: Number(row.webhooks),
      deadLetters: Number(row.letters),
    },
  }
}

/** A scope whose column is a digest is known by its tasks; values of a scope without tasks are left out. */
async function contextsOf(
  connection: DatabaseConnection,
  schema: string,
): Promise<readonly StoredContext[]> {
  const rows = await connection.query({
    text: `SELECT v.scope, v.context_id, t.agent, t.tenant, t.principal
      FROM (SELECT DISTINCT scope, context_id FROM ${schema}.context_value) v LEFT JOIN LATERAL
      (SELECT agent, tenant, principal FROM ${schema}.task WHERE task.scope = v.scope LIMIT 1) t ON true`,
  })
  return rows.flatMap(({ scope: column, context_id, agent, tenant, principal }) => {
    const known = { agent: String(agent), tenant: String(tenant), owner: String(principal) }
    const scope = agent === null ? parseScopeKey(String(column)) : known
    return scope ? [{ scope, contextId: String(context_id) }] : []
  })
}

async function tasksIn(connection: DatabaseConnection, schema: string): Promise<number> {
  const [row] = await connection.query({ text: `SELECT count(*) AS tasks FROM ${schema}.task` })
  return Number(row?.tasks)
}

async function prune(link: DatabaseLink, schema: string, limits: PruneLimits): Promise<void> {
  const parts = { link, names: namesIn(schema), replica: () => 0, clock: systemClock }
  const step = createTrimStep(parts, limits)
  try {
    while (await step());
  } finally {
    await link.close()
  }
}
