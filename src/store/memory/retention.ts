import { type Clock, toTimestamp } from '../../shared/clock.ts'
import type { LogRecord, StoredTask } from '../store.ts'

/** A task as retention sees it. */
export interface Kept extends Linked<Kept> {
  stored: StoredTask
  /** The whole log; empty once it is compacted. */
  records: LogRecord[]
}

/** How much to keep of what is finished. */
interface Limits {
  readonly clock: Clock
  readonly maxTasks: number
  readonly maxAgeMs: number
  readonly maxWaitingMs: number
  readonly maxRecords: number
}

/** Which finished tasks stay. */
export interface Retention {
  /** The task may be dropped when its time comes. */
  release(task: Kept): void
  /** The task waits for its user and may be dropped when that has taken too long. */
  wait(task: Kept): void
  /** The task is needed again. */
  hold(task: Kept): void
  /** Drops and compacts what is over the limits, oldest first. */
  trim(): void
}

/**
 * Keeps finished tasks within limits. Tasks queue up in the order in which they were released; beyond
 * `maxRecords` the logs of the oldest become one record, beyond `maxTasks` or `maxAgeMs` the tasks go.
 */
export function createRetention(limits: Limits, drop: (task: Kept) => void): Retention {
  const { clock, maxTasks, maxAgeMs, maxWaitingMs, maxRecords } = limits
  // Tasks move from the first queue to the second, so everything in `compacted` is older than all of `whole`.
  const whole = createQueue<Kept>()
  const compacted = createQueue<Kept>()
  const waiting = createQueue<Kept>()
  let records = 0

  function leave(task: Kept): void {
    if (task.queue === whole) records -= task.records.length
    task.queue?.leave(task)
  }

  function dropOldest(task: Kept): void {
    leave(task)
    drop(task)
  }

  function dropBefore(ageMs: number, oldest: () => Kept | undefined): void {
    if (ageMs === Number.POSITIVE_INFINITY) return
    const floor = toTimestamp(clock.now() - ageMs)
    for (let task = oldest(); task && task.stored.head.timestamp < floor; task = oldest())
      dropOldest(task)
  }

  return {
    release(task) {
      if (task.queue) return
      records += task.records.length
      whole.join(task)
    },
    wait(task) {
      if (maxWaitingMs !== Number.POSITIVE_INFINITY) waiting.join(task)
    },
    hold: leave,
    trim() {
      while (whole.oldest && records > maxRecords) {
        const task = whole.oldest
        leave(task)
        task.records = []
        compacted.join(task)
      }
      const oldest = () => compacted.oldest ?? whole.oldest
      while (whole.size + compacted.size > maxTasks) {
        const task = oldest()
        if (task === undefined) break
        dropOldest(task)
      }
      dropBefore(maxAgeMs, oldest)
      dropBefore(maxWaitingMs, () => waiting.oldest)
    },
  }
}

/**
 * The log of a task. A compacted one is a single record: who asks for what came after any earlier one gets the whole
 * task. The record is made when it is asked for, since hardly any of them ever is.
 */
export function logOf({ records, stored }: Kept): LogRecord[] {
  if (records.length > 0) return records
  return [{ seq: stored.version, kind: 'event', event: { task: stored.task } }]
}

/** A member of a queue; it carries its own links, so that leaving costs the same from anywhere. */
interface Linked<T> {
  older: T | undefined
  newer: T | undefined
  queue: Queue<T> | undefined
}

/** First in, first out, with members that may leave early. */
interface Queue<T> {
  readonly oldest: T | undefined
  readonly size: number
  join(member: T): void
  leave(member: T): void
}

/** An empty queue. A plain Map would do, were its first key not slow to find after many deletions. */
function createQueue<T extends Linked<T>>(): Queue<T> {
  let oldest: T | undefined
  let newest: T | undefined
  let size = 0
  const queue: Queue<T> = {
    get oldest() {
      return oldest
    },
    get size() {
      return size
    },
    join(member) {
      member.queue = queue
      member.older = newest
      member.newer = undefined
      if (newest) newest.newer = member
      else oldest = member
      newest = member
      size += 1
    },
    leave(member) {
      if (member.queue !== queue) return
      if (member.older) member.older.newer = member.newer
      else oldest = member.newer
      if (member.newer) member.newer.older = member.older
      else newest = member.older
      member.queue = member.older = member.newer = undefined
      size -= 1
    },
  }
  return queue
}
