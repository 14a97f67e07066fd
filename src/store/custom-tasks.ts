import type { Task } from '../protocol/types.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { shownIn } from './list.ts'
import { isSameScope } from './scope.ts'
import type { Scope, StoredTask, TaskHead, TaskListFilter, TaskPage } from './store.ts'
import { headOf, isUnfinished, type TaskStore } from './task-store.ts'

/** A user's TaskStore with the owner of each task. */
export interface CustomTasks {
  get(id: string): Promise<StoredTask | undefined>
  put(task: Task, head: TaskHead, isNew: boolean): Promise<void>
  list(contextId?: string): Promise<readonly StoredTask[]>
}

/** The metadata entries in which a task of a custom store says whose it is, and that no turn of ours is to finish it. */
const ownerKey = 'urn:corral:store:scope'
const leftKey = 'urn:corral:store:left'

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
    async put(task, head, isNew) {
      const marked = mark(task, head, common)
      await (isNew ? custom.create(marked) : custom.update(marked))
    },
    list: async (contextId) =>
      (await custom.list(contextId === undefined ? {} : { contextId })).map(toStored),
  }
}

function mark(task: Task, { scope, state, busy }: TaskHead, common: Scope): Task {
  const { agent, tenant, owner } = scope
  const isLeft = !busy && isUnfinished(state)
  const isOwned = !isSameScope(scope, common)
  if (!isLeft && !isOwned) return task
  const marks = {
    ...(isOwned && { [ownerKey]: [agent, tenant, owner] }),
    ...(isLeft && { [leftKey]: true }),
  }
  return { ...task, metadata: { ...task.metadata, ...marks } }
}

interface Unmarked {
  readonly task: Task
  readonly scope: Scope
  readonly left: boolean
}

function unmark(marked: Task, common: Scope): Unmarked {
  const { metadata, ...rest } = marked
  const { [ownerKey]: owner, [leftKey]: left = false, ...others } = metadata ?? {}
  if (!Array.isArray(owner) && left === false) return { task: marked, scope: common, left: false }
  const task = Object.keys(others).length > 0 ? { ...rest, metadata: others } : rest
  return { task, scope: Array.isArray(owner) ? toScope(owner) : common, left: left === true }
}

function toScope(owner: readonly unknown[]): Scope {
  const [agent = '', tenant = '', principal = ''] = owner.map(String)
  return { agent, tenant, owner: principal }
}

/** Whether a task belongs to a list. */
export function isIn(filter: TaskListFilter): (stored: StoredTask) => boolean {
  const { scope, contextId, state, timestampAfter } = filter
  return ({ head }) =>
    isSameScope(head.scope, scope) &&
    (contextId === undefined || head.contextId === contextId) &&
    (state === undefined || head.state === state) &&
    (timestampAfter === undefined || head.timestamp >= timestampAfter)
}

/** A page of tasks that all match the filter. */
export function pageOf(matching: StoredTask[], filter: TaskListFilter): TaskPage {
  const { limit, cursor } = filter
  const order = ({ timestamp, id }: { timestamp: string; id: string }) => `${timestamp} ${id}`
  const sorted = matching.sort((a, b) => (order(a.head) < order(b.head) ? 1 : -1))
  const rest = cursor ? sorted.filter(({ head }) => order(head) < order(cursor)) : sorted
  const tasks = rest.slice(0, limit).map((stored) => shownIn(filter, stored))
  const last = tasks.at(-1)?.head
  if (rest.length <= limit || last === undefined) return { tasks, total: matching.length }
  return { tasks, total: matching.length, next: { timestamp: last.timestamp, id: last.id } }
}
