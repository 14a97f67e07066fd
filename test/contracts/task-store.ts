import { beforeEach, describe, expect, test } from 'vitest'
import type { Task, TaskState } from '../../src/protocol/types.ts'
import type { TaskStore } from '../../src/store/task-store.ts'

/** What every TaskStore owes its callers (003), and what a custom one has to keep to work in a server. */
export function describeTaskStore(name: string, open: () => TaskStore | Promise<TaskStore>): void {
  describe(`${name} task store`, () => {
    let tasks: TaskStore
    beforeEach(async () => {
      tasks = await open()
    })

    test('gives back what was created', async () => {
      expect(await tasks.create(task('t'))).toEqual(task('t'))
      expect(await tasks.get('t')).toEqual(task('t'))
      expect((await tasks.get('nobody')) ?? undefined).toBeUndefined()
    })

    test('refuses to create a task whose id is taken, and keeps the first', async () => {
      await tasks.create(task('t', { text: 'first' }))
      await expect(tasks.create(task('t', { text: 'second' }))).rejects.toThrow(/already exists/)
      expect(await tasks.get('t')).toEqual(task('t', { text: 'first' }))
    })

    test('replaces a task by its update', async () => {
      await tasks.create(task('t', { text: 'first' }))
      const update = task('t', { text: 'second', state: 'TASK_STATE_WORKING' })
      expect(await tasks.update(update)).toEqual(update)
      expect(await tasks.get('t')).toEqual(update)
    })

    test('refuses to update a task that is not there', async () => {
      await expect(tasks.update(task('t'))).rejects.toMatchObject({ code: 'taskNotFound' })
      expect((await tasks.get('t')) ?? undefined).toBeUndefined()
    })

    test('says whether there was a task to delete', async () => {
      await tasks.create(task('t'))
      expect(await tasks.delete('t')).toBe(true)
      expect(await tasks.delete('t')).toBe(false)
      expect((await tasks.get('t')) ?? undefined).toBeUndefined()
      await tasks.create(task('t'))
      expect(await tasks.get('t')).toEqual(task('t'))
    })

    test('lists by context, status and time, newest first', async () => {
      await tasks.create(task('1', { second: 1, contextId: 'x' }))
      await tasks.create(task('2', { second: 2, contextId: 'x', state: 'TASK_STATE_WORKING' }))
      await tasks.create(task('3', { second: 3 }))
      const ids = async (filter?: Parameters<TaskStore['list']>[0]) =>
        (await tasks.list(filter)).map(({ id }) => id)
      expect(await ids()).toEqual(['3', '2', '1'])
      expect(await ids({})).toEqual(['3', '2', '1'])
      expect(await ids({ contextId: 'x' })).toEqual(['2', '1'])
      expect(await ids({ status: 'TASK_STATE_WORKING' })).toEqual(['2'])
      expect(await ids({ statusTimestampAfter: at(2) })).toEqual(['3', '2'])
      expect(await ids({ limit: 1 })).toEqual(['3'])
      expect(await ids({ contextId: 'nowhere' })).toEqual([])
    })

    test('keeps its tasks apart from what callers do with theirs', async () => {
      const mine = task('t')
      const created = await tasks.create(mine)
      const read = await tasks.get('t')
      const [listed] = await tasks.list()
      for (const copy of [mine, created, read ?? undefined, listed]) truncate(copy)
      expect(await tasks.get('t')).toEqual(task('t'))
    })
  })
}

/** A TaskStore that also saves. */
export function describeSave(name: string, open: () => Required<TaskStore>): void {
  test(`${name} task store saves whether the task is there or not`, async () => {
    const tasks = open()
    expect(await tasks.save(task('t', { text: 'first' }))).toEqual(task('t', { text: 'first' }))
    expect(await tasks.save(task('t', { text: 'second' }))).toEqual(task('t', { text: 'second' }))
    expect(await tasks.list()).toEqual([task('t', { text: 'second' })])
  })
}

interface TaskOptions {
  readonly contextId?: string
  readonly state?: TaskState
  readonly second?: number
  readonly text?: string
}

function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()
}

function task(id: string, options: TaskOptions = {}): Task {
  const { contextId = 'context', state = 'TASK_STATE_COMPLETED', second = 0, text = 'hi' } = options
  return {
    id,
    contextId,
    status: { state, timestamp: at(second) },
    history: [{ messageId: 'm', role: 'ROLE_USER', parts: [{ text }] }],
    metadata: { a: 1 },
  }
}

/** What a careless caller does. The history is readonly by type alone. */
function truncate(task: Task | undefined): void {
  if (task?.history) (task.history as unknown[]).length = 0
}
