import { readFile, stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { createStoreKeeper } from '../../../src/store/index.ts'
import { openConnection } from '../../../src/store/sqlite/driver.ts'
import { pragma } from '../../../src/store/sqlite/schema.ts'
import type { LogRecord } from '../../../src/store/store.ts'
import { createFakeClock } from '../../../src/testing/index.ts'
import { listAll, pushConfig, scope, write } from '../../contracts/store/samples.ts'
import { useFolder } from './folder.ts'

const { path, open } = useFolder()

test('everything committed is there when the file is opened again', async () => {
  const running = write('running', { state: 'TASK_STATE_WORKING', records: 2 })
  const hook = pushConfig('running', 'a', 1)
  const before = await open('t.db')
  await before.commit([running, write('done', { records: 3, idempotencyKey: 'k' })])
  await before.commit([{ type: 'pushConfig', record: hook }])
  await before.close()

  const after = await open('t.db')
  expect(await after.get('running')).toMatchObject({ head: running.head, task: running.task })
  expect(await after.records('done', 0)).toEqual(write('done', { records: 3 }).records)
  expect(await after.claim()).toEqual([running.head])
  expect(await after.findByKey(scope, 'k')).toBe('done')
  expect(await after.claimDeliveries()).toEqual([hook])
  expect((await after.list({ scope, limit: 1 })).total).toBe(2)
})

test('a turn that ends in its first commit is one row; a longer one has a row per commit', async () => {
  const store = await open('t.db')
  await store.commit([write('short', { records: 3 })])
  await store.commit([write('long', { state: 'TASK_STATE_WORKING' })])
  await store.commit([write('long', { expectedVersion: 1, records: 9 })])
  await store.close()
  const db = await openConnection(path('t.db'))
  const rows = db.prepare(
    'SELECT id, place & 2147483647 AS seq FROM log JOIN task ON number = place >> 31',
  )
  expect(rows.all()).toMatchObject([
    { id: 'long', seq: 1 },
    { id: 'long', seq: 10 },
  ])
  db.close()
})

test('the first message of a task stands once among its records', async () => {
  const store = await open('t.db')
  const sample = write('t', { state: 'TASK_STATE_WORKING', records: 3 })
  const [message] = sample.task?.history ?? []
  if (!message || !sample.task) throw new Error('The sample lacks a message')
  const records: readonly LogRecord[] = [
    { seq: 1, kind: 'message', turn: 1, message, request: { userId: 'u' } },
    { seq: 2, kind: 'start', turn: 1, attempt: 1 },
    { seq: 3, kind: 'event', event: { task: sample.task } },
  ]
  await store.commit([{ ...sample, records }])
  expect(await store.records('t', 0)).toEqual(records)
  expect(await store.records('t', 2)).toEqual(records.slice(2))
  await store.close()
  const db = await openConnection(path('t.db'))
  const [row] = db.prepare('SELECT records FROM log').all()
  expect(String(row?.records).split('"messageId"')).toHaveLength(2)
  db.close()
})

test('commits that arrive while one runs share the next transaction', async () => {
  const store = await open('t.db')
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, i) => store.commit([write(`t${i}`), write(`u${i}`)])),
  )
  expect(results).toEqual(Array(200).fill([{ version: 1 }, { version: 1 }]))
  expect((await store.list({ scope, limit: 1 })).total).toBe(400)
})

test('the event loop goes on while a commit waits for the disk', async () => {
  const store = await open('t.db')
  let turns = 0
  let done = false
  const spin = (): void => {
    turns += 1
    if (!done) setImmediate(spin)
  }
  setImmediate(spin)
  await store.commit(Array.from({ length: 2_000 }, (_, i) => write(`t${i}`)))
  done = true
  expect(turns).toBeGreaterThan(10)
})

test('a backup of a store in use opens as a store of its own', async () => {
  const store = await open('t.db')
  await store.commit([write('a', { records: 2 })])
  const [, later] = await Promise.all([store.backup(path('copy.db')), store.commit([write('b')])])
  expect(later).toEqual([{ version: 1 }])
  await store.commit([write('c')])
  const copy = await open('copy.db')
  expect(await copy.get('a')).toEqual(await store.get('a'))
  expect(await copy.get('c')).toBeUndefined()
  expect(await copy.commit([write('d')])).toEqual([{ version: 1 }])
  await copy.close()
  await store.backup(path('copy.db'))
  expect(await listAll(await open('copy.db'), { scope, limit: 10 })).toEqual(['c', 'b', 'a'])
})

test('a backup that cannot be written says so and leaves the store alone', async () => {
  const store = await open('t.db')
  await expect(store.backup(path('no/such/folder/copy.db'))).rejects.toThrow(/cannot be backed up/)
  await expect(store.backup(path('t.db'))).rejects.toThrow(/cannot be backed up/)
  expect(await store.commit([write('a')])).toEqual([{ version: 1 }])
})

test('the file shrinks when finished tasks are dropped', async () => {
  const clock = createFakeClock(Date.now())
  const store = await open('t.db', { maxTasks: 1, clock, synchronous: 'NORMAL' })
  const text = 'x'.repeat(20_000)
  const before = await fill()
  clock.advance(60_000)
  await expect.poll(async () => (await store.list({ scope, limit: 1 })).total).toBe(1)
  const db = await openConnection(path('t.db'))
  await expect.poll(() => pragma(db, 'freelist_count')).toBe(0)
  db.close()
  await store.close()
  const { size } = await stat(path('t.db'))
  expect(size).toBeLessThan(before / 4)

  async function fill(): Promise<number> {
    await store.commit(Array.from({ length: 100 }, (_, i) => write(`t${i}`, { text, second: i })))
    await store.backup(path('full.db'))
    return (await stat(path('full.db'))).size
  }
})

test('the file and its backup are readable by their owner alone', async () => {
  const store = await open('t.db')
  await store.backup(path('copy.db'))
  expect((await stat(path('t.db'))).mode & 0o777).toBe(0o600)
  expect((await stat(path('copy.db'))).mode & 0o777).toBe(0o600)
  expect((await readFile(path('t.db'))).subarray(0, 15).toString()).toBe('SQLite format 3')
})

test.each(['FULL', 'NORMAL'] as const)(
  'a store with synchronous %s keeps its log in WAL mode',
  async (synchronous) => {
    const store = await open('t.db', { synchronous })
    await store.commit([write('a')])
    const db = await openConnection(path('t.db'))
    expect(db.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'wal' })
    expect(pragma(db, 'auto_vacuum')).toBe(2)
    db.close()
  },
)

test('a keeper drops by the limits of pruning alone, also where it is given the options of a store', async () => {
  const store = await open('t.db')
  for (let i = 0; i < 20; i++)
    await store.commit([write(`t${i}`, { second: i, text: 'x'.repeat(5_000) })])
  await store.close()
  const limits = { maxTasks: 15, maxBytes: 40_960 }
  expect(await createStoreKeeper(path('t.db')).prune(limits)).toBe(5)
})

test('a task that has waited too long takes the place of no finished one that is too many', async () => {
  const store = await open('t.db')
  const state = 'TASK_STATE_INPUT_REQUIRED'
  for (let i = 0; i < 2; i += 1) await store.commit([write(`asks ${i}`, { second: i, state })])
  for (let i = 2; i < 5; i += 1) await store.commit([write(`done ${i}`, { second: i })])
  await store.close()
  expect(await createStoreKeeper(path('t.db')).prune({ maxTasks: 1, maxWaitingMs: 1_000 })).toBe(4)
})
