import type { Task } from '../protocol/types.ts'
import type {
  ClaimRequest,
  ListConditions,
  StoredTask,
  TaskCursor,
  TaskHead,
  TaskPage,
  TaskParts,
} from './store.ts'
import { weighTask } from './weight.ts'

/** In a light list, tasks of more bytes than this come with what their heads tell alone. */
export const lightBytes: number = 16 * 1024

/** In other lists, tasks of more bytes than this are read one by one, so that a page is never read as a whole. */
export const largeBytes: number = 64 * 1024

/**
 * A page of what was found, one more than is asked for where there is another page. Each is read only once those before
 * it have left room for it.
 */
export async function toTaskPage<T>(
  found: Iterable<T>,
  { limit, maxBytes = Number.POSITIVE_INFINITY, total }: PageBounds,
  read: (one: T) => StoredTask | undefined | Promise<StoredTask | undefined>,
): Promise<TaskPage> {
  const tasks: StoredTask[] = []
  let bytes = 0
  for (const one of found) {
    if (tasks.length === limit || bytes >= maxBytes) return { tasks, total, ...nextOf(tasks) }
    const reading = read(one)
    const stored = reading instanceof Promise ? await reading : reading
    if (!stored) continue
    tasks.push(stored)
    if (maxBytes !== Number.POSITIVE_INFINITY) bytes += weighTask(stored.task)
  }
  return { tasks, total }
}

interface PageBounds extends Pick<ListConditions, 'limit' | 'maxBytes'> {
  /** How many match, on all pages. */
  readonly total: number
}

function nextOf(tasks: readonly StoredTask[]): Pick<TaskPage, 'next'> {
  const last = tasks.at(-1)?.head
  return last ? { next: { timestamp: last.timestamp, id: last.id } } : {}
}

/** What the head of a task tells, as a task. */
export function taskOfHead({ id, contextId, state, timestamp }: TaskHead): Task {
  return { id, contextId, status: { state, timestamp } }
}

/** A stored task as a list shows it: without artifacts where they are not asked for. */
export function shownIn({ artifacts = true, light }: TaskParts, stored: StoredTask): StoredTask {
  if ((artifacts && !light) || stored.task.artifacts === undefined) return stored
  const { artifacts: _, ...task } = stored.task
  return { ...stored, task }
}

/** Whether one place comes before another in the order of timestamp, then id. */
export function isBefore(a: TaskCursor, b: TaskCursor): boolean {
  return a.timestamp < b.timestamp || (a.timestamp === b.timestamp && a.id < b.id)
}

/** The tasks that a process takes on where it has the store to itself: the busy ones, oldest first. */
export function claimable(
  heads: Iterable<TaskHead>,
  { agent, limit, after }: ClaimRequest = {},
): readonly TaskHead[] {
  const busy: TaskHead[] = []
  for (const head of heads) {
    const isWanted = agent === undefined || head.scope.agent === agent
    if (head.busy && isWanted && (!after || isBefore(after, head))) busy.push(head)
  }
  return busy.sort((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, limit)
}
