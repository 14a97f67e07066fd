import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Json, Task } from '../../src/protocol/types.ts'
import { fromTaskStore } from '../../src/store/custom.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store, StoredTask, TaskWrite, Write } from '../../src/store/store.ts'
import {
  InMemoryTaskStore,
  type TaskFilter,
  type TaskStore,
  toTaskStore,
} from '../../src/store/task-store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { at, pushConfig, scope, write } from '../contracts/store/samples.ts'
import { describeStore } from '../contracts/store.ts'
import { describeSave, describeTaskStore } from '../contracts/task-store.ts'

let folder: string
const opened: SqliteStore[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-task-store-'))
})
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()))
  await rm(folder, { recursive: true })
})

describeTaskStore('in-memory', () => new InMemoryTaskStore())
describeSave('in-memory', () => new InMemoryTaskStore())
describeTaskStore('Map-backed', createMapStore)
describeTaskStore('SQLite-backed', async () => {
  const path = join(folder, `${opened.length}.db`)
  const store = await openSqliteStore(path, { synchronous: 'NORMAL' })
  opened.push(store)
  return toTaskStore(store, scope)
})

// How long a custom store keeps its tasks is its own affair, so retention is left out.
describeStore('custom', (options) => fromTaskStore(createMapStore(), options), {
  trimming: 'none',
})

describe('toTaskStore', () => {
  test('shows the tasks of its scope alone', async () => {
    const store = createMemoryStore()
    await store.commit([write('mine'), write('theirs', { scope: { ...scope, owner: 'other' } })])
    const tasks = toTaskStore(store, scope)
    expect((await tasks.list()).map(({ id }) => id)).toEqual(['mine'])
    expect(await tasks.get('theirs')).toBeUndefined()
    expect(await tasks.delete('theirs')).toBe(false)
    const theirs = write('theirs').task
    await expect(tasks.update(theirs ?? fail())).rejects.toMatchObject({ code: 'taskNotFound' })
  })

  test('shows a running task with what its log has beyond the snapshot', async () => {
    const store = createMemoryStore()
    const state = 'TASK_STATE_WORKING'
    await store.commit([write('t', { state: 'TASK_STATE_SUBMITTED' })])
    await store.commit([
      write('t', { state, second: 5, expectedVersion: 1, records: 2, snapshot: false }),
    ])
    const { status } = (await toTaskStore(store, scope).get('t')) ?? fail()
    expect(status).toEqual({ state, timestamp: at(5) })
  })
})

describe('fromTaskStore', () => {
  test('finds the tasks of an earlier process, each with its owner', async () => {
    const custom = createMapStore()
    const before = fromTaskStore(custom)
    const running = write('running', { state: 'TASK_STATE_WORKING', records: 3 })
    await before.commit([
      running,
      write('done'),
      { type: 'pushConfig', record: pushConfig('done', 'a') },
    ])
    await before.close()

    const after = fromTaskStore(custom)
    expect(await after.claim()).toEqual([running.head])
    expect(await after.get('running', scope)).toMatchObject({ version: 1, task: running.task })
    expect(await after.get('running', { ...scope, owner: 'other' })).toBeUndefined()
    expect(await after.records('running', 0)).toEqual([
      { seq: 1, kind: 'event', event: { task: running.task } },
    ])
    expect((await after.list({ scope, limit: 10 })).total).toBe(2)
    expect(await after.pushConfigs('done')).toEqual([])
    const next = write('running', { expectedVersion: 1 })
    expect(await after.commit([next])).toEqual([{ version: 2 }])
    expect((await custom.get('running'))?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('takes up tasks that the user put there himself', async () => {
    const custom = createMapStore()
    const { task } = write('t')
    await custom.create(task ?? fail())
    const store = fromTaskStore(custom, { scope })
    expect(await store.get('t', scope)).toMatchObject({ task })
    expect(await fromTaskStore(custom).get('t', scope)).toBeUndefined()
  })

  test('acknowledges nothing that the custom store refused', async () => {
    const custom = createMapStore()
    const store = fromTaskStore({ ...custom, create: () => Promise.reject(new Error('no space')) })
    await expect(store.commit([write('t')])).rejects.toThrow('no space')
    expect(await store.get('t')).toBeUndefined()
    expect(await store.commit([{ type: 'deleteTask', id: 't' }])).toEqual([{ conflict: 0 }])
  })

  test('writes chunks to the log alone', async () => {
    const custom = createMapStore()
    let updates = 0
    const counted: TaskStore = {
      ...custom,
      update(task) {
        updates += 1
        return custom.update(task)
      },
    }
    const store = fromTaskStore(counted)
    await store.commit([write('t', { state: 'TASK_STATE_WORKING' })])
    for (let expectedVersion = 1; expectedVersion < 50; expectedVersion += 1)
      await store.commit([
        write('t', { state: 'TASK_STATE_WORKING', expectedVersion, snapshot: false }),
      ])
    expect(await store.commit([write('t', { expectedVersion: 50 })])).toEqual([{ version: 51 }])
    expect(updates).toBe(1)
  })
})

describe('a task that a program beside the server works on', () => {
  const state = 'TASK_STATE_WORKING'
  const left = write('t', { state, busy: false })
  const { task } = left
  if (!task) throw new Error('The sample has no task')
  const changed: Task = { ...task, status: { state, timestamp: at(7) } }
  const ended: Task = { ...task, status: { state: 'TASK_STATE_COMPLETED', timestamp: at(9) } }

  test.each<[string, (store: Store) => Promise<StoredTask | undefined>]>([
    ['get', (store) => store.get('t')],
    ['list', async (store) => (await store.list({ scope, limit: 1 })).tasks[0]],
    ['listAll', async (store) => (await store.listAll({ limit: 1 })).tasks[0]],
  ])('is read by %s as it is there, and each change is a record', async (_how, read) => {
    const custom = createMapStore()
    const store = fromTaskStore(custom, { scope })
    await store.commit([left])
    expect(await read(store)).toMatchObject({ version: 1, head: { generation: 1 } })
    for (const [i, next] of [changed, ended].entries()) {
      await custom.update(next)
      const version = 2 + i
      for (let again = 0; again < 2; again += 1)
        expect(await read(store)).toMatchObject({
          head: { ...left.head, ...next.status, generation: version, busy: false },
          version,
          task: next,
        })
    }
    expect(
      (await store.records('t', 1)).map((record) => record.kind === 'event' && record.event),
    ).toEqual([{ task: changed }, { task: ended }])
  })

  test('is left to it by the next server too', async () => {
    const custom = createMapStore()
    const before = fromTaskStore(custom, { scope })
    await before.commit([left, write('ours', { state })])
    await custom.update(changed)
    await before.get('t')
    const after = fromTaskStore(custom, { scope })
    expect((await after.claim()).map(({ id }) => id)).toEqual(['ours'])
    expect(await after.get('t')).toMatchObject({ task: changed, head: { busy: false } })
  })

  test.each(['a running', 'a finished'])(
    'is not looked for where it is %s one of ours',
    async (which) => {
      const custom = createMapStore()
      const store = fromTaskStore(custom, { scope })
      const ours = write('t', which === 'a running' ? { state } : {})
      await store.commit([ours])
      await custom.update(changed)
      expect(await store.get('t')).toMatchObject({ version: 1, task: ours.task })
    },
  )
})

describe('the tasks of a custom store', () => {
  test('are marked with what they lack alone, and keep their metadata', async () => {
    const custom = createMapStore()
    const store = fromTaskStore(custom, { scope })
    const theirs = { ...scope, owner: 'other' }
    await store.commit([write('mine'), write('theirs', { scope: theirs })])
    expect(await custom.get('mine')).toEqual(write('mine').task)
    expect((await custom.get('theirs'))?.metadata).toEqual({
      ...write('theirs').task?.metadata,
      'urn:corral:store:scope': ['agent', 'tenant', 'other'],
    })
    const { metadata: _, ...bare } = write('bare').task ?? fail()
    await store.commit([{ ...write('bare', { scope: theirs }), task: bare }])
    const after = fromTaskStore(custom, { scope })
    expect((await after.get('bare', theirs))?.task).toEqual(bare)
    expect((await after.get('mine', scope))?.task).toEqual(write('mine').task)
  })

  test('get nothing from a store that is closed', async () => {
    const custom = createMapStore()
    const store = fromTaskStore(custom)
    await store.close()
    await expect(store.commit([write('t')])).rejects.toThrow('closed')
    expect(await custom.get('t')).toBeUndefined()
  })

  test('take writes of all kinds before they were read', async () => {
    const custom = createMapStore()
    for (const id of ['a', 'b', 'c']) await custom.create(write(id).task ?? fail())
    const store = fromTaskStore(custom, { scope })
    expect(await store.records('a', 0)).toHaveLength(1)
    const hook: Write = { type: 'pushConfig', record: pushConfig('b', 'a') }
    expect(await store.commit([hook, { type: 'deleteTask', id: 'c' }])).toEqual([
      { version: 1 },
      { version: 0 },
    ])
    expect(await custom.get('c')).toBeUndefined()
    expect(await store.get('c')).toBeUndefined()
  })
})

describe('the values of a context in a custom store', () => {
  const value = (key: string, of: Json | null, owner = scope.owner): Write => {
    return { type: 'contextValue', scope: { ...scope, owner }, contextId: 'c', key, value: of }
  }
  const valuesIn = async (custom: TaskStore, owner = scope.owner) =>
    Object.fromEntries(
      await fromTaskStore(custom, { scope }).contextValues({ ...scope, owner }, 'c'),
    )
  const first = write('t', { contextId: 'c', state: 'TASK_STATE_WORKING' })

  test.each<[string, readonly (readonly Write[])[], Record<string, Json>]>([
    ['with its task', [[value('k', 1), first]], { k: 1 }],
    ['after its task', [[first], [value('k', 1)]], { k: 1 }],
    [
      'more than once',
      [[first], [value('k', 1)], [value('k', 2), value('l', [3])]],
      { k: 2, l: [3] },
    ],
    ['and deleted', [[first], [value('k', 1), value('l', 2)], [value('k', null)]], { l: 2 }],
    [
      'with a write that is refused',
      [[first], [value('k', 1), write('t', { contextId: 'c' })]],
      { k: 1 },
    ],
    [
      'with records of its task alone',
      [
        [first],
        [value('k', 1), write('t', { ...sameAs(first), expectedVersion: 1, snapshot: false })],
      ],
      { k: 1 },
    ],
    [
      'with a task of another caller',
      [
        [first],
        [value('k', 1), write('u', { contextId: 'c', scope: { ...scope, owner: 'other' } })],
      ],
      { k: 1 },
    ],
    [
      'and again with a later task',
      [[first, value('k', 1)], [write('later', { contextId: 'c', second: 9 })], [value('k', 2)]],
      { k: 2 },
    ],
    [
      'and again once the later task is gone',
      [
        [first, value('k', 1)],
        [write('later', { contextId: 'c', second: 9 }), value('k', 2)],
      ],
      { k: 2 },
    ],
  ])('are found by the next server: written %s', async (_when, commits, expected) => {
    const custom = createMapStore()
    const store = fromTaskStore(custom, { scope })
    for (const writes of commits) await store.commit(writes)
    expect(await valuesIn(custom)).toEqual(expected)
    expect(await valuesIn(custom, 'other')).toEqual({})
    expect((await custom.get('t'))?.history).toEqual(first.task?.history)
  })

  test('are those of the server that wrote last, and of no other context', async () => {
    const custom = createMapStore()
    // A store that does not filter gives all of its tasks.
    const careless: TaskStore = { ...custom, list: () => custom.list() }
    await fromTaskStore(careless, { scope }).commit([first, value('k', 1), value('stays', 1)])
    const next = fromTaskStore(careless, { scope })
    await next.commit([value('k', 2)])
    await next.commit([value('k', 3), write('other', { contextId: 'd' })])
    const elsewhere: Write = { type: 'contextValue', scope, contextId: 'd', key: 'k', value: 4 }
    for (let i = 0; i < 9; i += 1) await next.commit([elsewhere])
    expect(await valuesIn(careless)).toEqual({ k: 3, stays: 1 })
  })

  test('go with the task as the custom store has it, whatever another program changed', async () => {
    const custom = createMapStore()
    const store = fromTaskStore(custom, { scope })
    const done = write('t', { contextId: 'c' })
    await store.commit([done])
    const changed = { ...(done.task ?? fail()), metadata: { changed: true } }
    await custom.update(changed)
    await store.commit([value('k', 1)])
    const { metadata = {} } = (await custom.get('t')) ?? {}
    expect(Object.keys(metadata)).toEqual(['changed', 'urn:corral:store:values'])
    expect(await valuesIn(custom)).toEqual({ k: 1 })
  })

  test('go with an earlier task where another program has deleted the last', async () => {
    const custom = createMapStore()
    const store = fromTaskStore(custom, { scope })
    const later = write('later', { contextId: 'c', second: 9 })
    await store.commit([first, later])
    await custom.delete('later')
    await store.commit([value('k', 1)])
    expect(await valuesIn(custom)).toEqual({ k: 1 })
    expect((await custom.get('t'))?.history).toEqual(first.task?.history)
  })

  test('take nothing away from the task that they go with after a restart', async () => {
    const custom = createMapStore()
    const done = write('t', { contextId: 'c' })
    await fromTaskStore(custom, { scope }).commit([done])
    await fromTaskStore(custom, { scope }).commit([value('k', 1)])
    expect(done.task?.artifacts).toHaveLength(1)
    expect((await custom.get('t'))?.artifacts).toEqual(done.task?.artifacts)
    expect(await valuesIn(custom)).toEqual({ k: 1 })
  })

  test('stay as they were where one is refused', async () => {
    const custom = createMapStore()
    const store = fromTaskStore(custom, { scope, maxTaskBytes: 5_000 })
    const [stored] = await store.commit([value('k', 'x'.repeat(9_000)), first])
    expect(stored).toEqual({ refused: expect.stringContaining('5000 bytes') })
    expect(await custom.get('t')).toEqual(first.task)
  })
})

describe('toTaskStore', () => {
  test('dates a task without a timestamp, and leaves nothing of it to a server', async () => {
    const store = createMemoryStore()
    const clock = createFakeClock(Date.parse(at(5)))
    const tasks = toTaskStore(store, scope, clock)
    const { task } = write('t')
    const bare: Task = { ...(task ?? fail()), status: { state: 'TASK_STATE_WORKING' } }
    await tasks.create(bare)
    expect((await store.get('t'))?.head).toMatchObject({
      timestamp: at(5),
      busy: false,
      generation: 1,
    })
    await tasks.update(bare)
    expect((await store.get('t'))?.head.generation).toBe(2)
    expect(await tasks.list({ status: 'working' })).toEqual([bare])
    expect(await tasks.get('t')).toEqual(bare)
  })

  test('lists a running task with what its log has beyond the snapshot', async () => {
    const store = createMemoryStore()
    const state = 'TASK_STATE_WORKING'
    await store.commit([write('t', { state })])
    await store.commit([
      write('t', { state, second: 5, expectedVersion: 1, records: 2, snapshot: false }),
    ])
    const [listed] = await toTaskStore(store, scope).list()
    expect(listed?.status).toEqual({ state, timestamp: at(5) })
  })

  test('refuses what cannot be stored, and says why', async () => {
    const tasks = toTaskStore(createMemoryStore({ maxTaskBytes: 1_000 }), scope)
    const { task } = write('t', { text: 'x'.repeat(2_000) })
    for (const method of ['create', 'save'] as const)
      await expect(tasks[method](task ?? fail())).rejects.toMatchObject({
        code: 'invalidRequest',
        message: expect.stringContaining('1000 bytes'),
      })
  })

  test('replaces a task whose version has moved on meanwhile', async () => {
    const store = createMemoryStore()
    const tasks = toTaskStore(store, scope)
    const { task } = write('t')
    await tasks.create(task ?? fail())
    await Promise.all([1, 2, 3].map((n) => tasks.update({ ...(task ?? fail()), metadata: { n } })))
    expect(await store.get('t')).toMatchObject({ version: 4, task: { metadata: { n: 3 } } })
  })

  test('tells of a task that another deleted meanwhile that there was none', async () => {
    const store = createMemoryStore()
    const tasks = toTaskStore(store, scope)
    await tasks.create(write('t').task ?? fail())
    expect(await Promise.all([tasks.delete('t'), tasks.delete('t')])).toEqual([true, false])
  })

  test('keeps within the limits that it is given', async () => {
    const clock = createFakeClock(Date.parse(at(5)))
    const tasks = new InMemoryTaskStore({ maxTasks: 1, clock })
    const undated = (id: string): Task => ({
      ...(write(id).task ?? fail()),
      status: { state: 'TASK_STATE_COMPLETED' },
    })
    await tasks.create(undated('a'))
    expect(await tasks.list({ statusTimestampAfter: at(6) })).toEqual([])
    expect(await tasks.list({ statusTimestampAfter: at(5) })).toHaveLength(1)
    await tasks.create(undated('b'))
    expect(await tasks.list()).toEqual([undated('b')])
  })
})

function sameAs({ head }: TaskWrite) {
  return { contextId: head.contextId, state: head.state }
}

/** The five methods over a Map, as a user would write them. */
function createMapStore(): Pick<TaskStore, keyof TaskStore> {
  const kept = new Map<string, Task>()
  return {
    async create(task) {
      if (kept.has(task.id)) throw new A2AError('invalidRequest', `Task ${task.id} already exists`)
      kept.set(task.id, structuredClone(task))
      return task
    },
    get: async (id) => structuredClone(kept.get(id)),
    async update(task) {
      if (!kept.has(task.id)) throw new A2AError('taskNotFound', `Task ${task.id} not found`)
      kept.set(task.id, structuredClone(task))
      return task
    },
    delete: async (id) => kept.delete(id),
    list: async (filter = {}) =>
      structuredClone(
        [...kept.values()].filter((task) => matches(task, filter)).sort(newestFirst),
      ).slice(0, filter.limit),
  }
}

function matches({ contextId, status }: Task, filter: TaskFilter): boolean {
  if (filter.contextId !== undefined && filter.contextId !== contextId) return false
  if (filter.status !== undefined && filter.status !== status.state) return false
  return (status.timestamp ?? '') >= (filter.statusTimestampAfter ?? '')
}

function newestFirst(a: Task, b: Task): number {
  return (a.status.timestamp ?? '') < (b.status.timestamp ?? '') ? 1 : -1
}

function fail(): never {
  throw new Error('The sample has no task')
}
