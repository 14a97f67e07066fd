import { afterEach, describe, expect, test, vi } from 'vitest'
import { sampleEvery, uncounted } from '../../../src/store/spans.ts'
import { openConnection } from '../../../src/store/sqlite/driver.ts'
import { Spans } from '../../../src/store/sqlite/spans.ts'
import { createRemove, createTrim } from '../../../src/store/sqlite/trim.ts'
import type { LogRecord, Store, TaskWrite } from '../../../src/store/store.ts'
import { createFakeClock } from '../../../src/testing/index.ts'
import { at, scope, write } from '../../contracts/store/samples.ts'
import { useFolder } from './folder.ts'

const { path, open } = useFolder()
afterEach(() => void vi.restoreAllMocks())

describe('the replay of a log', () => {
  test.each([
    ['one commit', Number.POSITIVE_INFINITY],
    ['commits of fifty', 50],
    ['commits of one', 1],
  ])('that came in %s parses each record about once, however long it is', async (_name, batch) => {
    const store = await open('t.db', { synchronous: 'NORMAL' })
    const [short, long] = [await cost(store, 300, batch), await cost(store, 3_000, batch)]
    expect(long).toBeLessThan(short * 1.5)
  })

  /** Characters parsed per record by a reader of pages. */
  async function cost(store: Store, length: number, batch: number): Promise<number> {
    const id = `of ${length}`
    const state = 'TASK_STATE_WORKING'
    const first = Math.min(batch, length)
    await store.commit([write(id, { state, records: first, busy: batch < length })])
    const writes: TaskWrite[] = []
    for (let done = first; done < length; done += batch)
      writes.push(write(id, { state, expectedVersion: done, records: batch, snapshot: false }))
    await store.commit(writes)
    const parse = vi.spyOn(JSON, 'parse')
    let records: readonly LogRecord[] = []
    for (let read = 0; read < length; read += records.length)
      records = await store.records(id, read, 128)
    const characters = parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0)
    parse.mockRestore()
    return characters / length
  }
})

test('a list without artifacts does not parse them', async () => {
  const store = await open('t.db')
  const text = 'x'.repeat(40_000)
  await store.commit([write('t', { text })])
  const parse = vi.spyOn(JSON, 'parse')
  await store.list({ scope, limit: 1, artifacts: false })
  const bare = parse.mock.calls.flat().join('')
  expect(bare).not.toContain('artifactId')
  await store.list({ scope, limit: 1 })
  expect(parse.mock.calls.flat().join('')).toContain('artifactId')
})

test('a large answer of a task that has ended is stored once, and read as it was', async () => {
  const store = await open('t.db')
  const answers = { small: 'x'.repeat(1_000), large: 'y'.repeat(100_000) }
  for (const [id, text] of Object.entries(answers)) {
    await store.commit([answered(id, [text])])
    await store.commit([...streamed(`${id} in chunks`, text)])
  }
  await store.commit([answered('large in words', answers.large.match(/.{1,9}/g) ?? [])])
  for (const [id, text] of Object.entries(answers))
    for (const name of [id, `${id} in chunks`]) {
      const artifacts = [{ artifactId: 'response', parts: [{ text }] }]
      expect((await store.get(name))?.task.artifacts).toEqual(artifacts)
      const { tasks } = await store.list({ scope, contextId: `context of ${name}`, limit: 1 })
      expect(tasks[0]?.task.artifacts).toEqual(artifacts)
    }
  await store.close()
  const db = await openConnection(path('t.db'))
  const rows = db.prepare('SELECT id, length(artifacts) AS size FROM task ORDER BY id').all()
  expect(rows.map(({ id, size }) => [id, size === 0])).toEqual([
    ['large', true],
    ['large in chunks', true],
    ['large in words', false],
    ['small', false],
    ['small in chunks', false],
  ])
  db.close()
})

test('a status message that the history ends with is stored once', async () => {
  const store = await open('t.db')
  const sample = write('t')
  const message = {
    messageId: 'answer',
    role: 'ROLE_AGENT',
    parts: [{ text: 'z'.repeat(999) }],
  } as const
  const status = { state: 'TASK_STATE_COMPLETED', message, timestamp: at(0) } as const
  const task = { id: 't', contextId: sample.head.contextId, status, history: [message] }
  await store.commit([{ ...sample, task }])
  expect((await store.get('t'))?.task).toEqual(task)
  await store.close()
  const db = await openConnection(path('t.db'))
  const snapshot = String(db.prepare('SELECT snapshot FROM task').get()?.snapshot)
  expect(snapshot.split('z'.repeat(999))).toHaveLength(2)
  db.close()
})

describe('what takes long', () => {
  test('is dropped in small steps: a commit comes in between', async () => {
    const clock = createFakeClock(Date.parse(at(0)))
    const store = await open('t.db', { maxAgeMs: 1_000, clock, synchronous: 'NORMAL' })
    await store.commit([...chunksOf('long log', 10_000)])
    await store.commit([write('long log', { expectedVersion: 10_001 })])
    await store.commit(Array.from({ length: 3_000 }, (_, i) => write(`t${i}`)))
    clock.advance(60_000)
    const working = write('working', { state: 'TASK_STATE_WORKING' })
    expect(await store.commit([working])).toEqual([{ version: 1 }])
    expect((await store.list({ scope, limit: 1 })).total).toBeGreaterThan(2_000)
    const left = async (): Promise<number> => {
      clock.advance(60_000)
      return (await store.list({ scope, limit: 1 })).total
    }
    await expect.poll(left).toBe(1)
    expect(await store.get('working')).toBeDefined()
    expect(await store.records('long log', 0)).toEqual([])
  })
})

test('nothing large stands in a table without row ids, whose rows are compared as a whole', async () => {
  await (await open('t.db')).close()
  const db = await openConnection(path('t.db'))
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE sql LIKE '%WITHOUT ROWID%'")
  // Both hold ids, states and times alone.
  expect(tables.all().map(({ name }) => name)).toEqual(['total', 'span'])
  db.close()
})

test('a long list is counted in spans as it grows, and no list makes a table, an index or a trigger', async () => {
  const store = await open('t.db', { synchronous: 'NORMAL' })
  const made = async (): Promise<unknown> => {
    const db = await openConnection(path('t.db'))
    const names = db.prepare('SELECT name FROM sqlite_schema ORDER BY name').all()
    db.close()
    return names
  }
  const before = await made()
  const contextId = 'long'
  for (let from = 0; from < 4 * uncounted; from += 1_000)
    await store.commit(
      Array.from({ length: 1_000 }, (_, i) =>
        write(`t${from + i}`, { second: from + i, contextId, text: '' }),
      ),
    )
  const list = await store.list({ scope, contextId, limit: 1, timestampAfter: at(uncounted) })
  expect(list.total).toBe(3 * uncounted)
  expect(await made()).toEqual(before)
  const db = await openConnection(path('t.db'))
  const spans = db
    .prepare(`SELECT list, since, tasks FROM span WHERE since <> '' ORDER BY tasks DESC`)
    .all()
  const whole = db.prepare(`SELECT DISTINCT list FROM span WHERE since = ''`).all()
  db.close()
  expect(whole).toEqual([{ list: ':long' }])
  expect(new Set(spans.map((span) => span.list))).toEqual(new Set(['', ':long']))
  // A span is cut when one of so many writes is looked at.
  expect(Number(spans[0]?.tasks)).toBeLessThanOrEqual(uncounted + 1_000)
})

test('a very long list is added up by groups of spans, and stays exact as its tasks come and go', async () => {
  const tasks = 45_000
  const contextId = 'long'
  const store = await open('t.db', { synchronous: 'NORMAL' })
  await store.commit([write('first', { second: 0, contextId })])
  const db = await openConnection(path('t.db'))
  const copied =
    'scope, context_id, version, busy, generation, build, snapshot_version, snapshot, state'
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${tasks - 1})
    INSERT INTO task (id, timestamp, ${copied}) SELECT 't' || i, strftime('%Y-%m-%dT%H:%M:%fZ',
      ${Date.parse(at(0)) / 1_000} + i, 'unixepoch'), ${copied} FROM task, n;
    UPDATE total SET tasks = ${tasks}`)
  const starts = () =>
    db
      .prepare(
        `SELECT list, count(DISTINCT since) AS starts FROM span WHERE list LIKE '^%' GROUP BY list`,
      )
      .all()
  const expectExact = async (): Promise<void> => {
    const count = db.prepare('SELECT count(*) AS total FROM task WHERE timestamp >= ?')
    for (const timestampAfter of [0, 500, 17_000, 30_000, 40_001, 44_500].map(at))
      for (const filter of [{ timestampAfter }, { timestampAfter, contextId }])
        expect([filter, (await store.list({ scope, limit: 1, ...filter })).total]).toEqual([
          filter,
          count.get(timestampAfter)?.total,
        ])
  }
  let written = 0
  /** Writes as often as it takes for the lists to be checked. */
  const cut = () =>
    store.commit(
      Array.from({ length: sampleEvery }, () =>
        write(`new ${written}`, { second: tasks + written++, contextId, text: '' }),
      ),
    )
  await cut()
  expect(starts()).toEqual([
    { list: '^', starts: 3 },
    { list: '^:long', starts: 3 },
  ])
  await expectExact()
  // A list from the first group on reads no span of the others.
  const spoil = (by: number) =>
    db.exec(
      `UPDATE span SET tasks = tasks + ${by} WHERE list NOT LIKE '^%' AND since > '${at(34_000)}'`,
    )
  spoil(1_000)
  for (const filter of [{}, { contextId }]) {
    const { total } = await store.list({ scope, limit: 1, timestampAfter: at(1), ...filter })
    expect(total).toBe(tasks - 1 + written)
  }
  spoil(-1_000)
  const old = Array.from(
    { length: 39_998 },
    (_, i) => ({ type: 'deleteTask', id: `t${i + 2}` }) as const,
  )
  await store.commit(old)
  await expectExact()
  await cut()
  expect(starts()).toEqual([
    { list: '^', starts: 2 },
    { list: '^:long', starts: 2 },
  ])
  await expectExact()
  await store.commit(
    [1, 20_000, 39_000].map((second) => write(`old ${second}`, { contextId, second })),
  )
  await expectExact()
  db.close()
})

test('a step of retention takes away a part of a long log', async () => {
  const store = await open('t.db', { synchronous: 'NORMAL' })
  await store.commit([...chunksOf('t', 3_000)])
  await store.commit([write('t', { expectedVersion: 3_001 })])
  await store.close()
  const db = await openConnection(path('t.db'))
  const spans = new Spans(db)
  const trim = createTrim(db, { remove: createRemove(db, spans), spans })
  const rows = () => Number(db.prepare('SELECT count(*) AS rows FROM log').get()?.rows)
  const request = {
    floor: at(1),
    maxTasks: undefined,
    waitingFloor: undefined,
    maxPages: undefined,
  }
  expect(trim(request)).toBe(true)
  expect(rows()).toBeGreaterThan(2_000)
  while (trim(request));
  expect(rows()).toBe(0)
  expect(db.prepare('SELECT count(*) AS tasks FROM task').get()?.tasks).toBe(0)
  db.close()
})

test('a step of retention that fails counts nothing', async () => {
  const store = await open('t.db', { synchronous: 'NORMAL' })
  const tasks = 2 * uncounted
  for (let from = 0; from < tasks; from += 1_000)
    await store.commit(
      Array.from({ length: 1_000 }, (_, i) =>
        write(`t${from + i}`, { second: from + i, text: '' }),
      ),
    )
  await store.close()
  const db = await openConnection(path('t.db'))
  const spans = new Spans(db)
  const remove = createRemove(db, spans)
  const trim = createTrim(db, {
    spans,
    remove(number) {
      remove(number)
      throw new Error('database or disk is full')
    },
  })
  const [maxTasks, none] = [10, undefined]
  expect(() => trim({ maxTasks, floor: none, waitingFloor: none, maxPages: none })).toThrow('full')
  spans.flush()
  const counted = db.prepare(`SELECT sum(tasks) AS tasks FROM span WHERE list = '' AND since <> ''`)
  expect(counted.get()?.tasks).toBe(tasks)
  db.close()
})

/** A task that ended in one commit, its answer in so many chunks. */
function answered(id: string, chunks: readonly string[]): TaskWrite {
  const sample = write(id)
  const { contextId } = sample.head
  const status = { state: 'TASK_STATE_COMPLETED', timestamp: at(0) } as const
  const records: LogRecord[] = chunks.map((text, i) => {
    const artifact = { artifactId: 'response', parts: [{ text }] }
    const chunk = { taskId: id, contextId, artifact, ...(i > 0 && { append: true }) }
    return { seq: i + 1, kind: 'event', event: { artifactUpdate: chunk } }
  })
  records.push({
    seq: chunks.length + 1,
    kind: 'event',
    event: { statusUpdate: { taskId: id, contextId, status } },
  })
  const artifacts = [{ artifactId: 'response', parts: [{ text: chunks.join('') }] }]
  return { ...sample, records, task: { id, contextId, status, artifacts } }
}

/** The same over several commits. */
function* streamed(id: string, text: string): Generator<TaskWrite> {
  const chunks = Array.from({ length: 10 }, (_, i) =>
    text.slice((i * text.length) / 10, ((i + 1) * text.length) / 10),
  )
  const whole = answered(id, chunks)
  const { head, task } = write(id, { state: 'TASK_STATE_WORKING' })
  const { artifacts: _, ...bare } = task ??
    whole.task ?? { id, contextId: '', status: { state: 'TASK_STATE_WORKING' } }
  yield { ...whole, head, task: bare, records: whole.records.slice(0, 4) }
  const { task: __, ...growing } = whole
  yield { ...growing, head, expectedVersion: 4, records: whole.records.slice(4, 8) }
  yield { ...whole, expectedVersion: 8, records: whole.records.slice(8) }
}

/** A log of many rows. */
function* chunksOf(id: string, rows: number): Generator<TaskWrite> {
  const state = 'TASK_STATE_WORKING'
  yield write(id, { state })
  for (let i = 1; i <= rows; i += 1) yield write(id, { state, expectedVersion: i, snapshot: false })
}
