import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Task } from '../../src/protocol/types.ts'
import { fromTaskStore } from '../../src/store/custom.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/store.ts'
import {
  InMemoryTaskStore,
  type TaskFilter,
  type TaskStore,
  toTaskStore,
} from '../../src/store/task-store.ts'
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
