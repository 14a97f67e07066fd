import { systemClock } from '../../../src/shared/clock.ts'
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/store.ts'
import type { Write } from '../../../src/store/store.ts'
import { at, pushConfig, scope, write } from './samples.ts'

/** A database to look into. */
interface Looked {
  readonly url: string
  newSchema(): string
  query(sql: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>
}

const listener = { grown() {}, mail() {}, orphans() {}, deliveries() {}, lost() {}, joined() {} }

/**
 * Runs every statement of the store on tables that were analysed with none, with ten and with many tasks, and on tables twice
 * as large that were not analysed again. The plans of the smaller tables are still cached where time does not end them.
 *
 * @returns the tables of which more rows were read without an index than they ever held at once: a small table is read from end
 *   to end, a large one never.
 */
export async function findTableScans(database: Looked, many: number): Promise<readonly string[]> {
  const schema = database.newSchema()
  let ahead = 0
  const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + ahead }
  const later = () => (ahead += 10_000)
  const quiet = { leaseMs: 900_000, beatMs: 300_000, lookMs: 300_000, logger: false } as const
  const store = await openPostgresStore({ url: database.url, schema, clock, ...quiet })
  await store.feed.join([{ agent: 'agent', build: '' }], listener)
  for (const [from, to] of [
    [0, 0],
    [0, 10],
    [10, many],
    [many, 2 * many],
  ] as const) {
    await fill(store, [from, to], later)
    if (to <= many) await database.query(`ANALYZE ${schema}.task, ${schema}.log, ${schema}.push`)
    later()
    await askEverything(store, to)
  }
  // What a connection read is counted when it ends.
  await store.close()
  const rows = await database.query(
    `SELECT relname, seq_scan, seq_tup_read FROM pg_stat_user_tables
     WHERE schemaname = $1 AND seq_tup_read >= $2`,
    [schema, many],
  )
  return rows.map((row) => `${row.relname}: ${row.seq_scan} scans of ${row.seq_tup_read} rows`)
}

/** One in fifty tasks has work left, a webhook and a value of its context. */
async function fill(
  store: PostgresStore,
  [from, to]: readonly [number, number],
  later: () => void,
): Promise<void> {
  for (let first = from; first < to; first += 500) {
    const writes: Write[] = []
    for (let i = first; i < Math.min(to, first + 500); i++) {
      const isRare = i % 50 === 0
      const state = isRare ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED'
      const contextId = `context ${i % 1_000}`
      writes.push(write(`t${i}`, { state, contextId, second: i, idempotencyKey: `key ${i}` }))
      if (!isRare) continue
      writes.push({ type: 'pushConfig', record: pushConfig(`t${i}`, 'hook') })
      writes.push({ type: 'contextValue', scope, contextId, key: 'k', value: i })
    }
    await store.commit(writes)
    later()
  }
}

async function askEverything(store: PostgresStore, size: number): Promise<void> {
  const id = `t${Math.max(0, size - 1)}`
  const contextId = 'context 7'
  const state = 'TASK_STATE_COMPLETED'
  for (let round = 0; round < 3; round++) {
    await store.get(id, scope)
    await store.records(id, 0)
    await store.findByKey(scope, `key ${size - 1}`)
    await store.contextValues(scope, contextId)
    await store.list({ scope, limit: 10 })
    await store.list({ scope, limit: 10, contextId })
    await store.list({ scope, limit: 10, state: 'TASK_STATE_WORKING' })
    await store.list({ scope, limit: 10, state: 'TASK_STATE_FAILED' })
    await store.list({ scope, limit: 10, contextId, state: 'TASK_STATE_WORKING' })
    await store.list({ scope, limit: 10, contextId, timestampAfter: at(size >> 1) })
    await store.list({ scope, limit: 10, timestampAfter: at(size >> 1) })
    await store.list({ scope, limit: 10, timestampAfter: at(size >> 1), state })
    await store.list({ scope, limit: 10, contextId, counted: false })
    await store.listAll({ limit: 10 })
    await store.listAll({ limit: 10, agent: 'agent' })
    await store.pushConfigs(id)
    await store.deadLetters(10)
    await store.claim({ agent: 'agent', build: '', limit: 10 })
    await store.claimDeliveries(id)
    await store.claimDeliveries()
    await store.webhooks({ limit: 10 })
    await store.webhooks({ scope, limit: 10 })
    await store.feed.held('agent')
    await store.feed.facts()
    await store.feed.forward(id, { key: `f${round}`, kind: 'cancel' }, 10)
    store.feed.watch(id)
    store.feed.unwatch(id)
    const version = (await store.get(id))?.version ?? 0
    if (version === 0) continue
    await store.commit([write(id, { expectedVersion: version, second: size })])
    await store.commit([{ type: 'cursor', taskId: 't0', id: 'hook', cursor: 1 }])
    await store.commit([{ type: 'deleteTask', id: `t${size - 2 - round}` }])
  }
}
