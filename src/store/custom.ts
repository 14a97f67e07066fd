import { A2AError } from '../protocol/errors.ts'
import type { Json, Task } from '../protocol/types.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { isSame } from '../shared/json.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { claimable, isBefore, isSameScope, shownIn, taskIdOf, toTaskPage } from './documents.ts'
import { createMemoryStore, type MemoryStoreOptions, memoryOptions } from './memory/store.ts'
import { checkWrites, defaultMaxTaskBytes, refusalFor } from './size-limits.ts'
import type {
  AllTasksFilter,
  ListConditions,
  Scope,
  Store,
  StoredTask,
  TaskHead,
  TaskListFilter,
  TaskPage,
  TaskWrite,
  Write,
  WriteResult,
} from './store.ts'
import { headOf, isUnfinished, type TaskStore, unowned } from './task-store.ts'

/** How a store of your own is used. The limits are those of what is kept in memory beside it. */
export interface CustomStoreOptions extends MemoryStoreOptions {
  /** The scope of tasks that name no owner; an empty one by default. */
  readonly scope?: Scope
}

const customOptions: OptionTable<CustomStoreOptions> = { ...memoryOptions, scope: 'object' }

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
  checkArgument('fromTaskStore', 'the store', custom, 'object')
  checkOptions('fromTaskStore', options, customOptions)
  const { scope: _, ...limits } = options
  const memory = createMemoryStore(limits)
  const mirror = new MirroredStore(custom, memory, options)
  const inTurn = createTurns()
  let closed = false

  /** All tasks of the custom store, those in memory as they are there. */
  async function all(contextId?: string): Promise<StoredTask[]> {
    const current = async (stored: StoredTask): Promise<StoredTask> => {
      const known = await memory.get(stored.head.id)
      return known ? inTurn(() => mirror.refresh(known)) : stored
    }
    return Promise.all((await mirror.tasks.list(contextId)).map(current))
  }

  async function list(filter: TaskListFilter | AllTasksFilter): Promise<TaskPage> {
    return pageOf((await all(filter.contextId)).filter(isIn(filter)), filter)
  }

  return {
    ...memory,
    async commit(writes) {
      if (closed) throw new A2AError('unavailable', 'The store is closed')
      checkWrites(writes)
      return inTurn(() => mirror.commit(writes))
    },
    contextValues: (scope, contextId) => inTurn(() => mirror.contextValues({ scope, contextId })),
    async get(id, scope) {
      const known = await memory.get(id)
      const stored = known?.head.busy ? known : await inTurn(() => mirror.find(id))
      return stored && (!scope || isSameScope(stored.head.scope, scope)) ? stored : undefined
    },
    async records(id, after, limit) {
      if (!(await memory.get(id))) await inTurn(() => mirror.load(id))
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

/** Lets one piece of work follow another, so that nothing comes between the check of a version and its write. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
}

/** Whether a task belongs to a list of one scope, or of all. */
function isIn(
  filter: AllTasksFilter & { readonly scope?: Scope },
): (stored: StoredTask) => boolean {
  const { scope, agent, contextId, state, timestampAfter } = filter
  return ({ head }) =>
    (scope === undefined || isSameScope(head.scope, scope)) &&
    (agent === undefined || head.scope.agent === agent) &&
    (contextId === undefined || head.contextId === contextId) &&
    (state === undefined || head.state === state) &&
    (timestampAfter === undefined || head.timestamp >= timestampAfter)
}

/** A page of tasks that all match the filter. */
function pageOf(matching: StoredTask[], filter: ListConditions): Promise<TaskPage> {
  const { cursor } = filter
  const sorted = matching.sort((a, b) => (isBefore(a.head, b.head) ? 1 : -1))
  const rest = cursor ? sorted.filter(({ head }) => isBefore(head, cursor)) : sorted
  const bounds = { ...filter, total: matching.length }
  return toTaskPage(rest, bounds, (stored) => shownIn(filter, stored))
}

/** A value that is kept with a context. */
type ValueWrite = Extract<Write, { type: 'contextValue' }>

type ContextMap = ReadonlyMap<string, Json>

interface ContextOfScope {
  readonly scope: Scope
  readonly contextId: string
}

/**
 * A custom store, which knows tasks only, and what is kept in memory beside it: logs, keys, webhooks, and the values of
 * contexts, which the tasks of a context take along. Every method is to be called in turn.
 */
class MirroredStore {
  readonly tasks: CustomTasks
  readonly #custom: TaskStore
  readonly #memory: Store
  readonly #maxTaskBytes: number

  constructor(custom: TaskStore, memory: Store, options: CustomStoreOptions) {
    this.tasks = new CustomTasks(custom, options)
    this.#custom = custom
    this.#memory = memory
    this.#maxTaskBytes = options.maxTaskBytes ?? defaultMaxTaskBytes
  }

  async commit(writes: readonly Write[]): Promise<readonly WriteResult[]> {
    const results = new Map<Write, WriteResult>()
    // Values first: a task of their context that is written with them takes them along.
    const values = writes.filter((one): one is ValueWrite => one.type === 'contextValue')
    for (const one of values) results.set(one, await this.#writeValue(one))
    for (const one of writes) if (!results.has(one)) results.set(one, await this.#write(one))
    for (const one of values) if (!isTaken(one, results)) await this.#settle(one)
    return writes.map((one) => results.get(one) ?? missing)
  }

  /** The task as `refresh` gives it, or loaded where memory does not have it. */
  async find(id: string): Promise<StoredTask | undefined> {
    const known = await this.#memory.get(id)
    return known ? this.refresh(known) : this.load(id)
  }

  /** The task in memory; one that only the custom store knows is put there, and its log begins with it. */
  async load(id: string): Promise<StoredTask | undefined> {
    const known = await this.#memory.get(id)
    if (known) return known
    const found = await this.tasks.get(id)
    if (!found) return undefined
    const { head, task } = found
    await this.#commitOne(replacing(head, task, 0))
    return (await this.#memory.get(head.id)) ?? { head, task, version: 1, taskVersion: 1 }
  }

  /**
   * What is known of a task; of one that no turn of ours is to finish, as the custom store has it now. What another
   * program changed there becomes the next record of its log.
   */
  async refresh(known: StoredTask): Promise<StoredTask> {
    const { id, busy, state, generation } = known.head
    const found = busy || !isUnfinished(state) ? undefined : await this.tasks.get(id)
    if (!found || isSame(found.task, known.task)) return known
    const { task } = found
    const head = { ...found.head, busy: false, generation: generation + 1 }
    if (isUnfinished(head.state)) await this.#put(task, head, false)
    await this.#commitOne(replacing(head, task, known.version))
    return (await this.#memory.get(id)) ?? known
  }

  /** The values of a context, from the custom store where memory has none. */
  async contextValues(context: ContextOfScope): Promise<ContextMap> {
    const values = new Map(await this.#loadValues(context))
    values.delete(revisionKey)
    return values
  }

  async #write(write: Write): Promise<WriteResult> {
    if (write.type === 'task') return this.#writeTask(write)
    const taskId = taskIdOf(write)
    if (taskId !== undefined) await this.load(taskId)
    if (write.type === 'deleteTask') await this.#custom.delete(write.id)
    return this.#commitOne(write)
  }

  async #writeTask(write: TaskWrite): Promise<WriteResult> {
    const refused = refusalFor(write, this.#maxTaskBytes)
    if (refused !== undefined) return { refused }
    const { head, expectedVersion, idempotencyKey: key, task } = write
    const isKeyed = key !== undefined && expectedVersion === 0
    const existing = isKeyed ? await this.#memory.findByKey(head.scope, key) : undefined
    if (existing !== undefined) return { existing }
    const version = (await this.load(head.id))?.version ?? 0
    if (version !== expectedVersion) return { conflict: version }
    // The custom store first: memory must not know of a task that was not kept.
    if (task) await this.#put(task, head, version === 0)
    return this.#commitOne(write)
  }

  /** Writes a task with the values of its context. */
  async #put(task: Task, head: TaskHead, isNew: boolean): Promise<void> {
    const values = await this.#memory.contextValues(head.scope, head.contextId)
    await this.tasks.put(task, head, { isNew, values })
  }

  async #commitOne(write: Write): Promise<WriteResult> {
    const [result = missing] = await this.#memory.commit([write])
    return result
  }

  /** Keeps a value in memory; the next task of its context that is written takes it along. */
  async #writeValue(write: ValueWrite): Promise<WriteResult> {
    const revision = 1 + revisionOf(await this.#loadValues(write))
    const [result = { version: 0 }] = await this.#memory.commit([write])
    if (!('refused' in result)) await this.#keepValues(write, [[revisionKey, revision]])
    return result
  }

  /** Writes the values of a context with its last task. */
  async #settle({ scope, contextId }: ContextOfScope): Promise<void> {
    const filter = { scope, contextId, limit: 1, artifacts: false }
    const { tasks: known } = await this.#memory.list(filter)
    if (await this.#putAgain(known[0])) return
    // Memory has no task of the context until one is read, and another program may have deleted the last one.
    const stored = (await this.tasks.list(contextId)).filter(isIn(filter))
    const [newest] = (await pageOf(stored, filter)).tasks
    if (newest) await this.#putAgain(await this.load(newest.head.id))
  }

  /** Writes a task as the custom store has it, since another program may have changed it; whether it is there. */
  async #putAgain(stored: Pick<StoredTask, 'head'> | undefined): Promise<boolean> {
    const found = stored && (await this.tasks.get(stored.head.id))
    if (found) await this.#put(found.task, stored.head, false)
    return found !== undefined
  }

  async #loadValues({ scope, contextId }: ContextOfScope): Promise<ContextMap> {
    const known = await this.#memory.contextValues(scope, contextId)
    if (known.size > 0) return known
    const found = await this.tasks.values(scope, contextId)
    await this.#keepValues({ scope, contextId }, found)
    return found
  }

  async #keepValues(
    { scope, contextId }: ContextOfScope,
    values: Iterable<readonly [string, Json]>,
  ): Promise<void> {
    const writes = [...values].map(
      ([key, value]): Write => ({ type: 'contextValue', scope, contextId, key, value }),
    )
    await this.#memory.commit(writes)
  }
}

const missing: WriteResult = { conflict: 0 }

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

/** The next write of a task's log: the whole task, as the custom store has it. */
function replacing(head: TaskHead, task: Task, expectedVersion: number): TaskWrite {
  const records = [{ seq: expectedVersion + 1, kind: 'event', event: { task } }] as const
  return { type: 'task', head, expectedVersion, records, task }
}

/**
 * A user's TaskStore with the owner of each task, and the values of its context: tasks are marked with them on the way in,
 * and the marks removed on the way out.
 */
class CustomTasks {
  readonly #custom: TaskStore
  readonly #common: Scope
  readonly #clock: Clock

  constructor(custom: TaskStore, { scope = unowned, clock = systemClock }: CustomStoreOptions) {
    this.#custom = custom
    this.#common = scope
    this.#clock = clock
  }

  async get(id: string): Promise<StoredTask | undefined> {
    const found = await this.#custom.get(id)
    return found ? this.#toStored(found) : undefined
  }

  /** @param more Whether the store does not have the task yet, and all values of the task's context. */
  async put(
    task: Task,
    head: TaskHead,
    { isNew, values }: { readonly isNew: boolean; readonly values: ContextMap },
  ): Promise<void> {
    const marked = mark(task, head, { common: this.#common, values })
    await (isNew ? this.#custom.create(marked) : this.#custom.update(marked))
  }

  async list(contextId?: string): Promise<readonly StoredTask[]> {
    const found = await this.#custom.list(contextId === undefined ? {} : { contextId })
    return found.map((marked) => this.#toStored(marked))
  }

  /** The values of a context as the tasks of the custom store last had them. */
  async values(scope: Scope, contextId: string): Promise<ContextMap> {
    let newest: ContextMap = new Map()
    for (const marked of await this.#custom.list({ contextId })) {
      const found = unmark(marked, this.#common)
      if (marked.contextId !== contextId || !isSameScope(found.scope, scope)) continue
      if (revisionOf(found.values) > revisionOf(newest)) newest = found.values
    }
    return newest
  }

  #toStored(marked: Task): StoredTask {
    const { task, scope, left } = unmark(marked, this.#common)
    const head = headOf(task, scope, {
      now: toTimestamp(this.#clock.now()),
      ...(left && { busy: false }),
    })
    return { head, task, version: 1, taskVersion: 1 }
  }
}

/**
 * The metadata entries in which a task of a custom store has its scope, that no turn of ours is to finish it, and the
 * values of its context.
 */
const ownerKey = 'urn:corral:store:scope'
const leftKey = 'urn:corral:store:left'
const valuesKey = 'urn:corral:store:values'

function mark(
  task: Task,
  { scope, state, busy }: TaskHead,
  { common, values }: { readonly common: Scope; readonly values: ContextMap },
): Task {
  const { agent, tenant, owner } = scope
  const isLeft = !busy && isUnfinished(state)
  const isOwned = !isSameScope(scope, common)
  if (!isLeft && !isOwned && values.size === 0) return task
  const marks = {
    ...(isOwned && { [ownerKey]: [agent, tenant, owner] }),
    ...(isLeft && { [leftKey]: true }),
    ...(values.size > 0 && { [valuesKey]: [...values].map(([key, value]) => [key, value]) }),
  }
  return { ...task, metadata: { ...task.metadata, ...marks } }
}

interface Unmarked {
  readonly task: Task
  readonly scope: Scope
  readonly left: boolean
  readonly values: ContextMap
}

function unmark(marked: Task, common: Scope): Unmarked {
  const { metadata, ...rest } = marked
  const {
    [ownerKey]: owner,
    [leftKey]: left = false,
    [valuesKey]: kept,
    ...others
  } = metadata ?? {}
  const values = toValues(kept)
  if (!Array.isArray(owner) && left === false && kept === undefined)
    return { task: marked, scope: common, left: false, values }
  const task = Object.keys(others).length > 0 ? { ...rest, metadata: others } : rest
  const scope = Array.isArray(owner) ? toScope(owner) : common
  return { task, scope, left: left === true, values }
}

function toValues(kept: Json | undefined): ContextMap {
  const values = new Map<string, Json>()
  for (const pair of Array.isArray(kept) ? kept : [])
    if (Array.isArray(pair) && pair[1] !== undefined) values.set(String(pair[0]), pair[1])
  return values
}

function toScope(marked: readonly unknown[]): Scope {
  const [agent = '', tenant = '', owner = ''] = marked.map(String)
  return { agent, tenant, owner }
}

/** The value of a context that counts its changes: the tasks of a context have what it was when they were written. */
const revisionKey: string = 'corral:revision'

/** Which of its changes the values of a context have seen. */
function revisionOf(values: ContextMap): number {
  return Number(values.get(revisionKey) ?? 0)
}
