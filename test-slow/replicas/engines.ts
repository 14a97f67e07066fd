import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { newSchemaName, type TestDatabase } from '../../test/support/postgres.ts'
import {
  debianFolder,
  nativeFolder,
  type PostgresServer,
  startPostgres,
} from '../../test/support/postgres-server.ts'

/** A PostgreSQL that replicas are tried on. */
export interface Engine {
  readonly engine: string
  readonly from?: 'debian'
  readonly isThere: boolean
}

/** The PostgreSQL that tests use, and a stock one with its defaults. */
export const engines: readonly Engine[] = [
  { engine: 'the PostgreSQL of the registry', isThere: nativeFolder !== undefined },
  { engine: 'Debian’s PostgreSQL', from: 'debian', isThere: debianFolder !== undefined },
]

for (const { engine, isThere } of engines)
  if (!isThere) console.warn(`${engine} is not installed: tests of replicas on it are skipped.`)

/** A server of its own for a test file, and a database on it. */
export interface EngineDatabase extends TestDatabase {
  readonly server: PostgresServer
}

/** Starts an engine for the tests of a `describe`. */
export function useEngine({ from, isThere }: Engine): EngineDatabase {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    if (isThere) server = await startPostgres(from ? { from } : { durable: true })
  })
  afterAll(async () => server?.stop())
  const started = (): PostgresServer => {
    if (!server) throw new Error('There is no server')
    return server
  }
  return {
    get server() {
      return started()
    },
    get url() {
      return started().url
    },
    newSchema: newSchemaName,
    query: (sql, values) => queryAt(started().url, sql, values),
  }
}

/** Runs one statement at a server, on a connection of its own. */
export async function queryAt(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql, [...values])).rows
  } finally {
    await client.end()
  }
}
