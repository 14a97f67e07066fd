import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/store.ts'
import { createListener } from '../../test/contracts/feed/world.ts'
import { write } from '../../test/contracts/store/samples.ts'
import { type Pooler, pgbouncer, startPooler } from '../../test/support/pgbouncer.ts'
import { newSchemaName } from '../../test/support/postgres.ts'
import {
  debianFolder,
  type PostgresServer,
  startPostgres,
} from '../../test/support/postgres-server.ts'

const isThere = pgbouncer !== undefined && debianFolder !== undefined
if (!isThere)
  console.warn('pgbouncer or Debian’s postgresql is not installed: tests of poolers are skipped.')

describe.skipIf(!isThere)('Debian’s pgbouncer before Debian’s PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ from: 'debian' })
  })
  afterAll(() => server.stop())

  async function pool(mode: 'session' | 'transaction'): Promise<Pooler> {
    const pooler = await startPooler(server.url, mode)
    onTestFinished(() => pooler.stop())
    return pooler
  }

  test('serves replicas in session mode, with their sessions past it', async () => {
    const { url } = await pool('session')
    const schema = newSchemaName()
    const open = async (): Promise<PostgresStore> => {
      const store = await openPostgresStore({ url, sessionUrl: server.url, schema, logger: false })
      onTestFinished(() => store.close())
      await store.feed.join([{ agent: 'agent', build: '' }], createListener().listener)
      return store
    }
    const [a, b] = [await open(), await open()]
    for (let i = 0; i < 20; i++)
      expect(await a.commit([write(`t${i}`, { state: 'TASK_STATE_WORKING' })])).toEqual([
        { version: 1 },
      ])
    expect(await b.feed.forward('t1', { kind: 'cancel', key: 'one' }, 10)).toBe('stored')
    expect(await a.feed.inbox('t1')).toHaveLength(1)
    expect((await b.get('t2'))?.replica).toBe(a.feed.replica)
  })

  test('in transaction mode is rejected at the start, with what to do', async () => {
    const { url } = await pool('transaction')
    const opening = openPostgresStore({
      url,
      sessionUrl: server.url,
      schema: newSchemaName(),
      logger: false,
    })
    await expect(opening).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/pool_mode = session.*1\.21.*max_prepared_statements/),
    })
  })
})
