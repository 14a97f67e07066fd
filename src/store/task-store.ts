import { A2AError } from '../protocol/errors.ts'
import { toTaskState } from '../protocol/task.ts'
import { type FullTaskStore, type TaskFilter, TaskStore } from '../protocol/task-store.ts'
import type { Task, TaskState } from '../protocol/types.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { currentTask } from './documents.ts'
import { createMemoryStore, type MemoryStoreOptions } from './memory/store.ts'
import type { Scope, Store, StoredTask, TaskHead, TaskListFilter, WriteResult } from './store.ts'

export { type FullTaskStore, type TaskFilter, TaskStore } from '../protocol/task-store.ts'

/** The scope of tasks without an owner. */
export const unowned: Scope = { agent: '', tenant: '', owner: '' }

/** A `TaskStore` in this process's memory, within the limits of a memory store. */
export class InMemoryTaskStore extends TaskStore implements FullTaskStore {
  readonly #tasks: FullTaskStore

  constructor(options: MemoryStoreOptions = {}) {
    super()
    this.#tasks = toTaskStore(createMemoryStore(options), unowned, options.clock)
  }

  /** Stores a task that is not there yet. */
  create(task: Task): Promise<Task> {
    return this.#tasks.create(task)
  }

  /** Gives the task with this id; undefined if there is none. */
  get(id: string): Promise<Task | undefined> {
    return this.#tasks.get(id)
  }

  /** Replaces a stored task. */
  update(task: Task): Promise<Task> {
    return this.#tasks.update(task)
  }

  /** Removes a task and tells whether there was one. */
  delete(id: string): Promise<boolean> {
    return this.#tasks.delete(id)
  }

  /** Gives the tasks that match, newest status first. */
  list(filter?: TaskFilter | null): Promise<Task[]> {
    return this.#tasks.list(filter)
  }

  /** Creates or replaces a task. */
  override save(task: Task): Promise<Task> {
    return this.#tasks.save(task)
  }
}

/**
 * Gives one scope of a store as a `TaskStore`. A task without a status timestamp is listed as of when it was stored.
 */
export function toTaskStore(
  store: Store,
  scope: Scope = unowned,
  clock: Clock = systemClock,
): FullTaskStore {
  async function put(task: Task, before?: StoredTask): Promise<WriteResult | undefined> {
    const own = structuredClone(task)
    const expectedVersion = before?.version ?? 0
    const generation = (before?.head.generation ?? 0) + 1
    // The caller finishes it: there is no turn of ours to resume.
    const head = headOf(own, scope, { now: toTimestamp(clock.now()), generation, busy: false })
    const event = { task: own }
    const records = [{ seq: expectedVersion + 1, kind: 'event', event }] as const
    const [result] = await store.commit([
      { type: 'task', head, expectedVersion, records, task: own },
    ])
    if (result && 'refused' in result) throw new A2AError('invalidRequest', result.refused)
    return result
  }

  /** Writes over whatever version is there; whether one was. */
  async function replace(task: Task): Promise<boolean> {
    let stored = await store.get(task.id, scope)
    while (stored) {
      const result = await put(task, stored)
      if (result && 'version' in result) return true
      stored = await store.get(task.id, scope) // Another writer was faster: its version is the one to replace.
    }
    return false
  }

  const tasks: FullTaskStore = {
    async create(task) {
      const result = await put(task)
      if (result && 'version' in result) return structuredClone(task)
      throw new A2AError('invalidRequest', `Task ${task.id} already exists`)
    },
    async get(id) {
      const stored = await store.get(id, scope)
      return stored && structuredClone(await currentTask(store, stored))
    },
    async update(task) {
      if (await replace(task)) return structuredClone(task)
      throw new A2AError('taskNotFound', `Task ${task.id} not found`)
    },
    async delete(id) {
      if (!(await store.get(id, scope))) return false
      const [result] = await store.commit([{ type: 'deleteTask', id }])
      return result !== undefined && 'version' in result
    },
    async list(filter) {
      checkOptions('TaskStore.list', filter ?? {}, filterOptions)
      const { tasks: found } = await store.list(toListFilter(filter ?? {}, scope))
      const current = await Promise.all(found.map((stored) => currentTask(store, stored)))
      return current.map((task) => structuredClone(task))
    },
    save: async (task) => ((await replace(task)) ? structuredClone(task) : tasks.create(task)),
  }
  return tasks
}

const filterOptions: OptionTable<TaskFilter> = {
  contextId: 'string',
  status: 'string',
  statusTimestampAfter: 'string',
  limit: 'number',
}

function toListFilter(filter: TaskFilter, scope: Scope): TaskListFilter {
  const { contextId, status, statusTimestampAfter, limit = Number.MAX_SAFE_INTEGER - 1 } = filter
  return {
    scope,
    limit,
    ...(contextId === undefined ? {} : { contextId }),
    ...(status === undefined ? {} : { state: toTaskState(status) }),
    ...(statusTimestampAfter === undefined ? {} : { timestampAfter: statusTimestampAfter }),
  }
}

/** The columns that follow from a task; `now` where it has no timestamp, `busy` by its state by default. */
export function headOf(
  task: Task,
  scope: Scope,
  known: { readonly now: string; readonly generation?: number; readonly busy?: boolean },
): TaskHead {
  const { id, contextId, status } = task
  const { state, timestamp = known.now } = status
  const { generation = 1, busy = isUnfinished(state) } = known
  return { id, scope, contextId, state, timestamp, busy, generation, build: '' }
}

/** Whether a turn has to run before a task in this state can end. */
export function isUnfinished(state: TaskState): boolean {
  return state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_WORKING'
}
