import { afterEach, beforeEach, expect, it } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { createServer } from '../../../src/server/index.ts'
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/store.ts'
import { uncounted } from '../../../src/store/spans.ts'
import { findTableScans } from '../../contracts/store/plans.ts'
import { at, pushConfig, scope, write } from '../../contracts/store/samples.ts'
import { type CuttingProxy, openCuttingProxy } from '../../support/cutting-proxy.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'

const listener = { grown() {}, mail() {}, orphans() {}, deliveries() {}, lost() {}, joined() {} }

describePostgres('the store in PostgreSQL', () => {
  const database = usePostgres()
  let proxy: CuttingProxy
  let store: PostgresStore
  let schema: string
  beforeEach(async () => {
    schema = database.newSchema()
    proxy = await openCuttingProxy(database.url)
    store = await openPostgresStore({ url: proxy.url, schema, pool: { readers: 1 } })
    await store.commit([write('first', { state: 'TASK_STATE_WORKING' })])
  })
  afterEach(async () => {
    await store.close()
    await proxy.close()
  })

  /** How many statements some work takes. */
  async function count(work: () => Promise<unknown>): Promise<number> {
    const before = proxy.statements.length
    await work()
    return proxy.statements.slice(before).filter((text) => text !== 'DISCARD PLANS').length
  }

  /** Entries of the indexes, and rows of the table, that all tasks of the schema were read by so far. */
  async function rowsRead(): Promise<number> {
    const [row] = await database.query(
      `SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = $1 AND relname = 'task')
         + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'task') AS rows`,
      [schema],
    )
    return Number(row?.rows)
  }

  it('writes a completed task with one statement, and many that come together with one as well', async () => {
    expect(await count(() => store.commit([write('one', { records: 4 })]))).toBe(1)
    const keyed = write('keyed', { idempotencyKey: 'k' })
    expect(await count(() => store.commit([keyed]))).toBe(1)
    // What arrives while the first is on its way goes together.
    const many = () =>
      Promise.all(Array.from({ length: 200 }, (_, i) => store.commit([write(`t${i}`)])))
    expect(await count(many)).toBe(2)
    expect((await store.list({ scope, limit: 1 })).total).toBe(203)
  })

  it('writes each further commit of tasks with one statement, new ones and changed ones together', async () => {
    const grow = [
      write('first', { state: 'TASK_STATE_WORKING', expectedVersion: 1, snapshot: false }),
      write('second', { state: 'TASK_STATE_WORKING' }),
    ]
    expect(await count(() => store.commit(grow))).toBe(1)
    const long = write('second', { expectedVersion: 1, records: 1_000 })
    expect(await count(() => store.commit([long]))).toBe(1)
    expect(await store.records('second', 0)).toHaveLength(1_001)
  })

  it('needs a transaction only where something else is among the writes', async () => {
    const record = pushConfig('first', 'a')
    const writes = [write('hooked'), { type: 'pushConfig', record } as const]
    await count(() => store.commit(writes))
    expect(proxy.statements.slice(-4).map((text) => text.split(/\W/)[0])).toEqual([
      'BEGIN',
      'WITH',
      'WITH',
      'COMMIT',
    ])
  })

  it('sends a transaction at once, so that none waits for a process that is paused', async () => {
    proxy.cut('answers')
    const writes = [
      write('hooked'),
      { type: 'pushConfig', record: pushConfig('hooked', 'a') } as const,
    ]
    const committed = store.commit(writes)
    const stored = () => database.query(`SELECT id FROM ${schema}.push WHERE task_id = 'hooked'`)
    await expect.poll(stored).toEqual([{ id: 'a' }])
    proxy.heal()
    expect(await committed).toEqual([{ version: 1 }, { version: 1 }])
  })

  it('takes on what it can while another process writes a webhook', async () => {
    const [one, other] = [pushConfig('first', 'one'), pushConfig('second', 'other')]
    await store.commit([
      write('second', { state: 'TASK_STATE_WORKING' }),
      { type: 'pushConfig', record: one },
      { type: 'pushConfig', record: other },
    ])
    await database.query('BEGIN')
    await database.query(`SELECT 1 FROM ${schema}.push WHERE id = 'other' FOR UPDATE`)
    const shared = await openPostgresStore({ url: proxy.url, schema, logger: false })
    await shared.feed.join([], listener)
    expect((await shared.claimDeliveries()).map(({ id }) => id)).toEqual(['one'])
    await database.query('COMMIT')
    expect((await shared.claimDeliveries()).map(({ id }) => id)).toEqual(['one', 'other'])
    await shared.close()
  })

  it('asks once whether there is anything to take on, for however many agents', async () => {
    const quiet = { leaseMs: 900_000, beatMs: 300_000, lookMs: 300_000, logger: false } as const
    const shared = await openPostgresStore({ url: proxy.url, schema, ...quiet })
    await shared.feed.join([], listener)
    const claimAll = () =>
      Promise.all(
        ['a', 'b', 'c', 'd'].map((agent) => shared.claim({ agent, build: 'build', limit: 10 })),
      )
    await claimAll()
    expect(await count(claimAll)).toBe(1)
    await shared.close()
  })

  it('takes one statement for a task that a server completes, and none besides', async () => {
    const quiet = { leaseMs: 900_000, beatMs: 300_000, lookMs: 300_000, logger: false } as const
    const shared = await openPostgresStore({ url: proxy.url, schema, ...quiet })
    const agent = defineAgent({ name: 'Echo' }, () => 'done')
    const server = await createServer({ agents: [agent], store: shared, logger: false })
    await server.recover()
    const send = async (n: number) => {
      const parts = [{ text: 'hello' }]
      const message = { messageId: `m-${n}`, role: 'ROLE_USER', parts } as const
      const answer = await server.dispatch()('SendMessage', { message }, {})
      expect('task' in answer && answer.task.status.state).toBe('TASK_STATE_COMPLETED')
    }
    await send(0)
    const before = proxy.statements.length
    for (let n = 1; n <= 20; n++) await send(n)
    const statements = proxy.statements.slice(before)
    await server.close()
    expect(statements.filter((text) => !text.startsWith('WITH added AS'))).toEqual([])
    expect(statements).toHaveLength(20)
  })

  it('reads a task, a log and a list without more statements than it has to', async () => {
    await store.get('first')
    expect(await count(() => store.get('first', scope))).toBe(1)
    expect(await count(() => store.records('first', 0))).toBe(1)
    expect(await count(() => store.list({ scope, limit: 10 }))).toBe(2)
  })

  it('reads a page of a long list and counts it in spans, by few rows of the indexes', async () => {
    const tasks = 20_000
    const contextId = 'long'
    for (let from = 0; from < tasks; from += 2_000)
      await store.commit(
        Array.from({ length: 2_000 }, (_, i) => {
          const state = i % 50 === 0 ? 'TASK_STATE_FAILED' : 'TASK_STATE_COMPLETED'
          return write(`t${from + i}`, { contextId, state, second: from + i, text: '' })
        }),
      )
    const longest = async () => {
      const [row] = await database.query(
        `SELECT count(DISTINCT list) AS lists, max(tasks) AS tasks FROM (SELECT list, sum(tasks) AS tasks
           FROM ${schema}.span WHERE since <> '' GROUP BY list, since) s`,
      )
      return row?.lists === '2' && Number(row.tasks) <= 2 * uncounted
    }
    await expect.poll(longest).toBe(true)
    const whole = await database.query(`SELECT DISTINCT list FROM ${schema}.span WHERE since = ''`)
    expect(whole).toEqual([{ list: ':long' }])
    // As autovacuum does within a minute.
    await database.query(`ANALYZE ${schema}.task, ${schema}.span`)
    for (const filter of [
      { contextId },
      { contextId, state: 'TASK_STATE_FAILED' },
      { contextId, timestampAfter: at(tasks / 2) },
      { timestampAfter: at(tasks / 2) },
      { timestampAfter: at(tasks / 2), state: 'TASK_STATE_COMPLETED' },
      { timestampAfter: at(tasks / 2), state: 'TASK_STATE_FAILED' },
    ] as const) {
      const before = await rowsRead()
      const reader = await openPostgresStore({ url: database.url, schema, logger: false })
      const { total } = await reader.list({ scope, limit: 10, ...filter })
      await reader.close()
      const share = 'state' in filter ? (filter.state === 'TASK_STATE_FAILED' ? 0.02 : 0.98) : 1
      expect(total).toBe(share * ('timestampAfter' in filter ? tasks / 2 : tasks))
      // Of the span that holds the moment, and the page.
      const read = (await rowsRead()) - before
      expect([filter, read < 2 * uncounted + 500 || read]).toEqual([filter, true])
    }
  })

  it('finds everything by an index, however small a table was when it was first asked', async () => {
    expect(await findTableScans(database, 4_000)).toEqual([])
  })
})
