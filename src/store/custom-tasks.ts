import type { Json, Task } from '../protocol/types.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { shownIn, toTaskPage } from './list.ts'
import { isSameScope } from './scope.ts'
import type {
  AllTasksFilter,
  ListConditions,
  Scope,
  StoredTask,
  TaskHead,
  TaskPage,
} from './store.ts'
import { headOf, isUnfinished, type TaskStore } from './task-store.ts'

/** A user's TaskStore with the owner of each task, and the values of its context. */
export interface CustomTasks {
  get(id: string): Promise<StoredTask | undefined>
  put(task: Task, head: TaskHead, more: PutOptions): Promise<void>
  list(contextId?: string): Promise<readonly StoredTask[]>
  /** The values of a context as the tasks of the custom store last had them. */
  values(scope: Scope, contextId: string): Promise<ContextMap>
}

/** What goes into the custom store with a task. */
interface PutOptions {
  readonly isNew: boolean
  /** The values of the task's context; with each task all of them. */
  readonly values: ContextMap
}

type ContextMap = ReadonlyMap<string, Json>

/** The value of a context that counts its changes: the tasks of a context have what it was when they were written. */
export const revisionKey: string = 'corral:revision'

/** Which of its changes the values of a context have seen. */
export function revisionOf(values: ContextMap): number {
  return Number(values.get(revisionKey) ?? 0)
}

/**
 * The metadata entries in which a task of a custom store says whose it is, that no turn of ours is to finish it, and what
 * is kept with its context.
 */
const ownerKey = 'urn:corral:store:scope'
const leftKey = 'urn:corral:store:left'
const valuesKey = 'urn:corral:store:values'

const nobody: Scope = { agent: '', tenant: '', owner: '' }

/** Marks tasks with what else is to be known of them on the way in and takes the marks off on the way out. */
export function createCustomTasks(
  custom: TaskStore,
  options: { readonly scope?: Scope; readonly clock?: Clock },
): CustomTasks {
  const { scope: common = nobody, clock = systemClock } = options

  function toStored(marked: Task): StoredTask {
    const { task, scope, left } = unmark(marked, common)
    const head = headOf(task, scope, {
      now: toTimestamp(clock.now()),
      ...(left && { busy: false }),
    })
    return { head, task, version: 1, taskVersion: 1 }
  }

  return {
    async get(id) {
      const found = await custom.get(id)
      return found ? toStored(found) : undefined
    },
    async put(task, head, { isNew, values }) {
      const marked = mark(task, head, { common, values })
      await (isNew ? custom.create(marked) : custom.update(marked))
    },
    list: async (contextId) =>
      (await custom.list(contextId === undefined ? {} : { contextId })).map(toStored),
    async values(scope, contextId) {
      let newest: ContextMap = new Map()
      for (const marked of await custom.list({ contextId })) {
        const found = unmark(marked, common)
        if (marked.contextId !== contextId || !isSameScope(found.scope, scope)) continue
        if (revisionOf(found.values) > revisionOf(newest)) newest = found.values
      }
      return newest
    },
  }
}

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

function toScope(owner: readonly unknown[]): Scope {
  const [agent = '', tenant = '', principal = ''] = owner.map(String)
  return { agent, tenant, owner: principal }
}

/** The tasks of one scope, or of all. */
interface WhoseTasks extends AllTasksFilter {
  readonly scope?: Scope
}

/** Whether a task belongs to a list. */
export function isIn(filter: WhoseTasks): (stored: StoredTask) => boolean {
  const { scope, agent, contextId, state, timestampAfter } = filter
  return ({ head }) =>
    (scope === undefined || isSameScope(head.scope, scope)) &&
    (agent === undefined || head.scope.agent === agent) &&
    (contextId === undefined || head.contextId === contextId) &&
    (state === undefined || head.state === state) &&
    (timestampAfter === undefined || head.timestamp >= timestampAfter)
}

/** A page of tasks that all match the filter. */
export function pageOf(matching: StoredTask[], filter: ListConditions): Promise<TaskPage> {
  const { cursor } = filter
  const order = ({ timestamp, id }: { timestamp: string; id: string }) => `${timestamp} ${id}`
  const sorted = matching.sort((a, b) => (order(a.head) < order(b.head) ? 1 : -1))
  const rest = cursor ? sorted.filter(({ head }) => order(head) < order(cursor)) : sorted
  const bounds = { ...filter, total: matching.length }
  return toTaskPage(rest, bounds, (stored) => shownIn(filter, stored))
}
