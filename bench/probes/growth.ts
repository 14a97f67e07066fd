/**
 * How lists do as a store grows, in a process of its own: `growth.ts <store> <tasks>`. Half of the tasks are one conversation of
 * one principal; the other half is another principal's, 5,000 of them in one conversation, the others in small ones. Rows are
 * written by SQL into the schema before lists were counted, so that opening the store migrates it. Told how often, opens the
 * store again and tells the milliseconds of the first list of a context, and the median of each list.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { connectDatabase, namesIn } from '../../src/store/postgres/connection.ts'
import { databaseMigrations, migrateDatabase } from '../../src/store/postgres/schema.ts'
import { openConnection } from '../../src/store/sqlite/driver.ts'
import { migrate, migrations } from '../../src/store/sqlite/schema.ts'
import type { Store, TaskListFilter, Write } from '../../src/store/store.ts'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { median } from '../case.ts'
import { dist } from '../processes.ts'

const { createMemoryStore, openPostgresStore, openSqliteStore } =
  await dist<typeof import('../../src/store/index.ts')>('store')

const [kind = '', size = ''] = process.argv.slice(2)
const tasks = Number(size)
const start = Date.UTC(2026, 0, 1)
const one = { agent: 'bench', tenant: '', owner: 'one' }
const many = { agent: 'bench', tenant: '', owner: 'many' }
const middle = new Date(start + tasks * 50).toISOString()
const beginning = new Date(start + 1_000).toISOString()
const failed = 'TASK_STATE_FAILED'
const completed = 'TASK_STATE_COMPLETED'

const sql = {
  state: `CASE WHEN i % 11 = 0 THEN '${failed}' ELSE '${completed}' END`,
  context: `CASE WHEN i % 2 = 0 THEN 'all' WHEN i % ${Math.floor(tasks / 5_000)} = 1 THEN 'big'
    ELSE 'small ' || (i % ${Math.floor(tasks / 10)}) END`,
  snapshot: `'{"id":"t' || i || '","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello there, how are you today?"}]}]}'`,
}

/** What is asked for. */
const lists: Readonly<Record<string, Omit<TaskListFilter, 'limit'>>> = {
  context: { scope: one, contextId: 'all' },
  'context in many': { scope: many, contextId: 'big' },
  'context by state': { scope: one, contextId: 'all', state: failed },
  'context by time': { scope: one, contextId: 'all', timestampAfter: middle },
  'context since the start': { scope: one, contextId: 'all', timestampAfter: beginning },
  time: { scope: many, timestampAfter: middle },
  'time since the start': { scope: many, timestampAfter: beginning },
  'time by state': { scope: many, timestampAfter: middle, state: completed },
  'time by other state': { scope: many, timestampAfter: middle, state: failed },
}

/** Fills a store, and says how it is opened again. */
const stores: Readonly<Record<string, () => Promise<() => Promise<Store>>>> = {
  memory: fillMemory,
  sqlite: fillFile,
  postgres: () => fillDatabase(),
  debian: () => fillDatabase('debian'),
}
const fill = stores[kind]
if (!fill) throw new Error(`There is no store ${kind}`)
const open = await fill()
const migrating = performance.now()
let store = await open()
const migrationMs = performance.now() - migrating

process.on('message', (times: number) => {
  void measure(times).then((millis) => process.send?.(millis))
})
process.on('disconnect', () => void store.close().finally(() => process.exit(0)))
process.send?.({ migrationMs })

/** How often the store is opened again; the quickest first list counts, since others wait for the machine. */
const openings = 5

async function measure(times: number): Promise<Record<string, number>> {
  const firsts: number[] = []
  for (let i = 0; i < openings; i++) {
    await store.close()
    store = await open()
    // Whatever is prepared once, or read by every list: the first one of a context is what is asked for.
    await store.list({ scope: many, limit: 50, artifacts: false })
    firsts.push(await timed({ scope: many, contextId: 'big' }))
  }
  const first = Math.min(...firsts)
  const millis: Record<string, number> = { first }
  for (const [name, filter] of Object.entries(lists)) {
    const all: number[] = []
    for (let i = 0; i < times; i++) all.push(await timed(filter))
    millis[name] = median(all)
  }
  return millis
}

async function timed(filter: Omit<TaskListFilter, 'limit'>): Promise<number> {
  const before = performance.now()
  const page = await store.list({ ...filter, limit: 50, artifacts: false })
  const millis = performance.now() - before
  if (page.tasks.length !== 50) throw new Error(`A page of ${page.tasks.length} tasks`)
  return millis
}

/** Where the task with this number is, as SQL and JavaScript know it alike. */
function placeOf(i: number) {
  const isOne = i % 2 === 0
  const isBig = i % Math.floor(tasks / 5_000) === 1
  const contextId = isOne ? 'all' : isBig ? 'big' : `small ${i % Math.floor(tasks / 10)}`
  const state = i % 11 === 0 ? failed : completed
  const timestamp = new Date(start + i * 100).toISOString()
  return { scope: isOne ? one : many, contextId, state, timestamp } as const
}

async function fillMemory(): Promise<() => Promise<Store>> {
  const store = createMemoryStore({ maxTasks: tasks, maxBytes: Number.MAX_SAFE_INTEGER })
  for (let from = 0; from < tasks; from += 1_000) {
    const writes = Array.from({ length: 1_000 }, (_, n): Write => {
      const id = `t${from + n}`
      const { state, timestamp, contextId, scope } = placeOf(from + n)
      const task = { id, contextId, status: { state, timestamp } }
      const work = { busy: false, generation: 1, build: '' }
      const head = { id, scope, contextId, state, timestamp, ...work }
      const records = [{ seq: 1, kind: 'event', event: { task } }] as const
      return { type: 'task', head, expectedVersion: 0, records, task }
    })
    await store.commit(writes)
  }
  // It cannot be opened again.
  return async () => ({ ...store, async close() {} })
}

async function fillFile(): Promise<() => Promise<Store>> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-growth-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'tasks.db')
  const db = await openConnection(path)
  db.exec('PRAGMA auto_vacuum = INCREMENTAL')
  db.prepare('PRAGMA journal_mode = WAL').get()
  migrate(db, migrations.slice(0, 3))
  db.exec(`INSERT INTO scope VALUES (1, 'bench', '', 'one'), (2, 'bench', '', 'many');
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${tasks - 1})
    INSERT INTO task (id, scope, context_id, state, timestamp, version, busy, generation, build, snapshot_version, snapshot)
    SELECT 't' || i, 1 + i % 2, ${sql.context}, ${sql.state},
      strftime('%Y-%m-%dT%H:%M:%fZ', ${start / 1_000} + i / 10.0, 'unixepoch'), 1, 0, 1, '', 1, ${sql.snapshot} FROM n;
    INSERT INTO total SELECT scope, state, count(*) FROM task GROUP BY scope, state;`)
  db.close()
  return () => openSqliteStore(path)
}

async function fillDatabase(from?: 'debian'): Promise<() => Promise<Store>> {
  const { url } = await startPostgres(from ? { from } : {})
  const connection = await connectDatabase({
    url,
    tls: undefined,
    statementTimeoutMs: 600_000,
    name: 'fill',
  })
  await migrateDatabase(connection, namesIn('corral'), undefined, databaseMigrations.slice(0, 1))
  await connection.close()
  const client = new Client({ connectionString: url })
  await client.connect()
  const scope = (owner: string): string => `'5:0:${owner.length}:bench${owner}'`
  await client.query(`INSERT INTO corral.task (id, version, snapshot_version, generation, busy, scope, agent, tenant, principal,
      context_id, state, timestamp, build, snapshot)
    SELECT 't' || i, 1, 1, 1, false, CASE i % 2 WHEN 0 THEN ${scope('one')} ELSE ${scope('many')} END, 'bench', '',
      CASE i % 2 WHEN 0 THEN 'one' ELSE 'many' END, ${sql.context}, ${sql.state},
      to_char(to_timestamp(${start / 1_000} + i / 10.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '', ${sql.snapshot}
    FROM generate_series(0, ${tasks - 1}) i`)
  await client.query(
    'INSERT INTO corral.total SELECT scope, agent, state, 0, count(*) FROM corral.task GROUP BY scope, agent, state',
  )
  // As autovacuum does some time after.
  await client.query('VACUUM ANALYZE corral.task')
  await client.end()
  return () => openPostgresStore({ url, logger: false })
}
