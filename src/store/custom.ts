import { A2AError } from '../protocol/errors.ts'
import { isSame } from '../shared/json.ts'
import { createCustomContexts, type ValueWrite } from './custom-contexts.ts'
import { type CustomTasks, createCustomTasks, isIn, pageOf } from './custom-tasks.ts'
import { claimable } from './list.ts'
import { createMemoryStore, type MemoryStoreOptions } from './memory/store.ts'
import { checkWrites, defaultMaxTaskBytes, refusalFor } from './refusal.ts'
import { isSameScope } from './scope.ts'
import type {
  AllTasksFilter,
  Scope,
  Store,
  StoredTask,
  TaskListFilter,
  TaskPage,
  TaskWrite,
  Write,
  WriteResult,
} from './store.ts'
import { isUnfinished, type TaskStore } from './task-store.ts'

/** How a store of your own is used. The limits are those of what is kept in memory beside it. */
export interface CustomStoreOptions extends MemoryStoreOptions {
  /** Whose tasks those are that name no owner; nobody's in particular by default. */
  readonly scope?: Scope
}

/**
 * Makes a `Store` of a `TaskStore` of yours: any object with `create`, `get`, `update`, `delete` and `list`.
 *
 * What such a store holds is durable: tasks as of their last snapshot, whose they are, and the values of their
 * contexts (in metadata entries that are added on the way in and removed on the way out). Logs, idempotency keys,
 * webhooks and dead letters stay in memory beside it: after a restart a task's log begins anew with the task, and an
 * interrupted turn has no steps to go on from. The writes of one commit are separate calls, so a fault of your store
 * may leave the first of them standing.
 */
export function fromTaskStore(custom: TaskStore, options: CustomStoreOptions = {}): Store {
  const memory = createMemoryStore(options)
  const tasks = createCustomTasks(custom, options)
  const inTurn = createTurns()
  const contexts = createCustomContexts(memory, tasks)
  const reader = createReader(memory, tasks)
  const write = createWriter({ custom, memory, tasks, reader, ...options })
  let closed = false

  /** All tasks of the custom store, those in memory as they are there. */
  async function all(contextId?: string): Promise<StoredTask[]> {
    const found = await tasks.list(contextId)
    return Promise.all(
      found.map(async (stored) => {
        const known = await memory.get(stored.head.id)
        return known ? inTurn(() => reader.refresh(known)) : stored
      }),
    )
  }

  async function list(filter: TaskListFilter | AllTasksFilter): Promise<TaskPage> {
    return pageOf((await all(filter.contextId)).filter(isIn(filter)), filter)
  }

  return {
    ...memory,
    async commit(writes) {
      if (closed) throw new A2AError('unavailable', 'The store is closed')
      checkWrites(writes)
      return inTurn(async () => {
        const results = new Map<Write, WriteResult>()
        // Values first: a task of their context that is written with them takes them along.
        const values = writes.filter((one): one is ValueWrite => one.type === 'contextValue')
        for (const one of values) results.set(one, await contexts.keep(one))
        for (const one of writes) if (!results.has(one)) results.set(one, await write(one))
        for (const one of values) if (!isTaken(one, results)) await contexts.settle(one)
        return writes.map((one) => results.get(one) ?? { conflict: 0 })
      })
    },
    contextValues: (scope, contextId) => inTurn(() => contexts.values({ scope, contextId })),
    async get(id, scope) {
      const known = await memory.get(id)
      const stored = known?.head.busy ? known : await inTurn(() => reader.find(id))
      return stored && (!scope || isSameScope(stored.head.scope, scope)) ? stored : undefined
    },
    async records(id, after, limit) {
      if (!(await memory.get(id))) await inTurn(() => reader.load(id))
      return memory.records(id, after, limit)
    },
    list,
    listAll: list,
    async claim(wanted) {
      const heads = (await all()).map(({ head }) => head)
      return claimable(heads, wanted)
    },
    async close() {
      closed = true
      await inTurn(async () => {})
      await memory.close()
    },
  }
}

/** Whether a task of the value's context has been written whole. */
function isTaken(
  { scope, contextId }: ValueWrite,
  results: ReadonlyMap<Write, WriteResult>,
): boolean {
  for (const [one, result] of results)
    if (one.type === 'task' && one.task && 'version' in result)
      if (one.head.contextId === contextId && isSameScope(one.head.scope, scope)) return true
  return false
}

/** Lets one piece of work follow another, so that nothing comes between the check of a version and its write. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
}

/** Reads one task; to be called in turn. */
interface TaskReader {
  /** The task in memory, taken over from the custom store where memory does not have it. */
  load(id: string): Promise<StoredTask | undefined>
  /**
   * What is known of a task; of one that no turn of ours is to finish, as the custom store has it now. What somebody
   * changed there becomes the next record of its log.
   */
  refresh(known: StoredTask): Promise<StoredTask>
  find(id: string): Promise<StoredTask | undefined>
}

function createReader(memory: Store, tasks: CustomTasks): TaskReader {
  const reader: TaskReader = {
    async load(id) {
      const known = await memory.get(id)
      if (known) return known
      const found = await tasks.get(id)
      return found && takeOver(memory, found)
    },
    async refresh(known) {
      const { id, busy, state, generation } = known.head
      const found = busy || !isUnfinished(state) ? undefined : await tasks.get(id)
      if (!found || isSame(found.task, known.task)) return known
      const { task } = found
      const expectedVersion = known.version
      const head = { ...found.head, busy: false, generation: generation + 1 }
      const records = [{ seq: expectedVersion + 1, kind: 'event', event: { task } }] as const
      const values = await memory.contextValues(head.scope, head.contextId)
      if (isUnfinished(head.state)) await tasks.put(task, head, { isNew: false, values })
      await memory.commit([{ type: 'task', head, expectedVersion, records, task }])
      return (await memory.get(id)) ?? known
    },
    async find(id) {
      const known = await memory.get(id)
      return known ? reader.refresh(known) : reader.load(id)
    },
  }
  return reader
}

interface WriterParts extends Pick<CustomStoreOptions, 'maxTaskBytes'> {
  readonly custom: TaskStore
  readonly memory: Store
  readonly tasks: CustomTasks
  readonly reader: TaskReader
}

/** Makes one write in both stores; to be called in turn. */
function createWriter(parts: WriterParts): (write: Write) => Promise<WriteResult> {
  const { custom, memory, tasks, reader, maxTaskBytes = defaultMaxTaskBytes } = parts

  async function writeTask(write: TaskWrite): Promise<WriteResult> {
    const refused = refusalFor(write, maxTaskBytes)
    if (refused !== undefined) return { refused }
    const { head, expectedVersion, idempotencyKey: key, task } = write
    const existing =
      key === undefined || expectedVersion > 0 ? undefined : await memory.findByKey(head.scope, key)
    if (existing !== undefined) return { existing }
    const version = (await reader.load(head.id))?.version ?? 0
    if (version !== expectedVersion) return { conflict: version }
    // The custom store first: memory must not know of a task that was not kept.
    const values = await memory.contextValues(head.scope, head.contextId)
    if (task) await tasks.put(task, head, { isNew: version === 0, values })
    return commitOne(memory, write)
  }

  async function writeOther(write: Exclude<Write, TaskWrite>): Promise<WriteResult> {
    const taskId = taskOf(write)
    if (taskId !== undefined) await reader.load(taskId)
    if (write.type === 'deleteTask') await custom.delete(write.id)
    return commitOne(memory, write)
  }

  return (write) => (write.type === 'task' ? writeTask(write) : writeOther(write))
}

/** Puts a task that only the custom store knows into memory; its log begins with it. */
async function takeOver(memory: Store, { head, task }: StoredTask): Promise<StoredTask> {
  const records = [{ seq: 1, kind: 'event', event: { task } }] as const
  await memory.commit([{ type: 'task', head, expectedVersion: 0, records, task }])
  return (await memory.get(head.id)) ?? { head, task, version: 1, taskVersion: 1 }
}

function taskOf(write: Exclude<Write, TaskWrite>): string | undefined {
  if (write.type === 'deleteTask') return write.id
  if (write.type === 'pushConfig') return write.record.taskId
  return 'taskId' in write ? write.taskId : undefined
}

async function commitOne(memory: Store, write: Write): Promise<WriteResult> {
  const [result] = await memory.commit([write])
  return result ?? { conflict: 0 }
}
