import type { Task } from '../protocol/types.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { shownIn } from './list.ts'
import { isSameScope } from './scope.ts'
import type { Scope, StoredTask, TaskListFilter, TaskPage } from './store.ts'
import { headOf, type TaskStore } from './task-store.ts'

/** A user's TaskStore with the owner of each task. */
export interface CustomTasks {
  get(id: string): Promise<StoredTask | undefined>
  put(task: Task, options: { readonly scope: Scope; readonly isNew: boolean }): Promise<void>
  list(contextId?: string): Promise<readonly StoredTask[]>
}

/** The metadata entry in which a task of a custom store says whose it is. */
const ownerKey = 'urn:corral:store:scope'

const nobody: Scope = { agent: '', tenant: '', owner: '' }

/** Marks tasks with their scope on the way in and takes the mark off on the way out. */
export function createCustomTasks(
  custom: TaskStore,
  options: { readonly scope?: Scope; readonly clock?: Clock },
): CustomTasks {
  const { scope: common = nobody, clock = systemClock } = options

  function toStored(marked: Task): StoredTask {
    const { task, scope } = unmark(marked, common)
    const head = headOf(task, scope, { now: toTimestamp(clock.now()) })
    return { head, task, version: 1, taskVersion: 1 }
  }

  return {
    async get(id) {
      const found = await custom.get(id)
      return found ? toStored(found) : undefined
    },
    async put(task, { scope, isNew }) {
      const marked = isSameScope(scope, common) ? task : mark(task, scope)
      await (isNew ? custom.create(marked) : custom.update(marked))
    },
    list: async (contextId) =>
      (await custom.list(contextId === undefined ? {} : { contextId })).map(toStored),
  }
}

function mark(task: Task, { agent, tenant, owner }: Scope): Task {
  return { ...task, metadata: { ...task.metadata, [ownerKey]: [agent, tenant, owner] } }
}

function unmark(marked: Task, common: Scope): { readonly task: Task; readonly scope: Scope } {
  const { metadata, ...rest } = marked
  const { [ownerKey]: owner, ...others } = metadata ?? {}
  if (!Array.isArray(owner)) return { task: marked, scope: common }
  const [agent, tenant, principal] = owner.map(String)
  const scope = { agent: agent ?? '', tenant: tenant ?? '', owner: principal ?? '' }
  return { task: Object.keys(others).length > 0 ? { ...rest, metadata: others } : rest, scope }
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
