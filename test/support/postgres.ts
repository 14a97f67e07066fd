import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { nativeFolder } from './postgres-server.ts'

/** A server that somebody else runs, to use instead of one of the tests' own. */
const given = process.env.CORRAL_TEST_POSTGRES

/** Whether there is a PostgreSQL to test with. */
export const hasPostgres: boolean = given !== undefined || nativeFolder !== undefined

if (!hasPostgres)
  console.warn(
    `No PostgreSQL for ${process.platform}-${process.arch}: its tests are skipped. Set CORRAL_TEST_POSTGRES to a URL.`,
  )

/** Tests that need PostgreSQL; skipped, and said so, where there is none. */
export const describePostgres: typeof describe.skip = describe.skipIf(!hasPostgres)

/** The database of the tests; its server is started when somebody first asks. */
export async function postgresUrl(): Promise<string> {
  if (given !== undefined) return given
  const answer = await text(connect(inject('postgresPort'), '127.0.0.1'))
  if (answer.startsWith('!')) throw new Error(answer)
  return answer
}

let schemas = 0

/** The name of a schema that is not there yet. */
export function newSchemaName(): string {
  return `test_${process.pid}_${Date.now()}_${++schemas}`
}

/** Runs one statement as superuser. */
export async function queryPostgres(sql: string): Promise<void> {
  const client = new Client({ connectionString: await postgresUrl() })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** A database, and schemas in it that nobody else uses; they go when the file's tests are over. */
export interface TestDatabase {
  readonly url: string
  /** The name of a schema that is not there yet. */
  newSchema(): string
  /** Runs a statement as superuser, for what no store does: to look, to lock, to end connections. */
  query(sql: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>
}

/** Gives a test file a database. Call it within `describePostgres`. */
export function usePostgres(): TestDatabase {
  let url = ''
  let client: Client | undefined
  const made: string[] = []
  beforeAll(async () => {
    url = await postgresUrl()
    client = new Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
  })
  afterAll(async () => {
    for (const schema of made) await client?.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client?.end()
  })
  return {
    get url() {
      return url
    },
    newSchema() {
      const name = newSchemaName()
      made.push(name)
      return name
    },
    async query(sql, values = []) {
      if (client === undefined) throw new Error('There is no database yet')
      return (await client.query<Record<string, unknown>>(sql, [...values])).rows
    },
  }
}
