import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { describeFeed } from '../../test/contracts/feed.ts'
import { describeShared } from '../../test/contracts/shared.ts'
import { findTableScans } from '../../test/contracts/store/plans.ts'
import { describeStore } from '../../test/contracts/store.ts'
import { openPostgresWorld } from '../../test/store/postgres/world.ts'
import { newSchemaName } from '../../test/support/postgres.ts'
import { debianFolder, startPostgres } from '../../test/support/postgres-server.ts'

if (debianFolder === undefined)
  console.warn('Debian’s postgresql is not installed: tests on a stock PostgreSQL are skipped.')

describe.skipIf(debianFolder === undefined)('a stock PostgreSQL with its JIT compiler', () => {
  let stop = async (): Promise<void> => {}
  let client: Client | undefined
  const database = {
    url: '',
    newSchema: newSchemaName,
    async query(sql: string, values: readonly unknown[] = []) {
      return (await client?.query<Record<string, unknown>>(sql, [...values]))?.rows ?? []
    },
  }

  beforeAll(async () => {
    const server = await startPostgres({ from: 'debian' })
    database.url = server.url
    client = new Client({ connectionString: server.url })
    await client.connect()
    stop = server.stop
  })
  afterAll(async () => {
    await client?.end()
    await stop()
  })

  it('would compile statements if it were asked to', async () => {
    expect(await database.query('SHOW jit')).toEqual([{ jit: 'on' }])
    expect(await database.query('SELECT pg_jit_available() AS jit')).toEqual([{ jit: true }])
  })

  it('finds everything by an index among 100,000 tasks', async () => {
    expect(await findTableScans(database, 50_000)).toEqual([])
  })

  describeStore('stock PostgreSQL', (options) =>
    openPostgresStore({ ...options, url: database.url, schema: database.newSchema() }),
  )

  describeShared('stock PostgreSQL', async () => {
    const options = { url: database.url, schema: database.newSchema() }
    return [await openPostgresStore(options), await openPostgresStore(options)]
  })

  describeFeed('stock PostgreSQL', async () => openPostgresWorld(database, 'never'))
})
