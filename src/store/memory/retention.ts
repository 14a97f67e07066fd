import { type Clock, toTimestamp } from '../../shared/clock.ts'
import type { LogRecord } from '../store.ts'
import { weighTask } from '../weight.ts'
import { type Entry, TaskPlace } from './entry.ts'
import { Queue } from './queue.ts'
import { createKeptShares, type ShareLimits } from './shares.ts'

/** How much to keep of what is finished. */
interface Limits extends ShareLimits {
  readonly clock: Clock
  readonly maxAgeMs: number
  readonly maxWaitingMs: number
  readonly maxRecords: number
}

/** Which finished tasks stay. */
export interface Retention {
  /** The task is finished, and may be dropped when its time comes. */
  release(task: Entry): void
  /** The task waits for its user, and may be dropped when that has taken too long or too much. */
  wait(task: Entry): void
  /** The task is finished and its webhooks are behind: it is dropped only where it takes too much. */
  lag(task: Entry): void
  /** The task is needed again. */
  hold(task: Entry): void
  /** So many bytes more, or less, are kept for a principal besides its tasks. */
  count(principal: string, bytes: number): void
  /** Drops and compacts what is over the limits, oldest first. */
  trim(): void
}

/**
 * Keeps finished tasks within limits. Tasks queue up in the order in which they were released; beyond
 * `maxRecords` the logs of the oldest become one record, beyond `maxAgeMs` the tasks go. Beyond `maxTasks` or `maxBytes`
 * it is the oldest of whoever keeps most that goes, so that nobody's flood takes what others keep within their share.
 */
export function createRetention(limits: Limits, drop: (task: Entry) => void): Retention {
  const { clock, maxAgeMs, maxWaitingMs, maxRecords } = limits
  // Tasks move from the first queue to the second, so everything in `compacted` is older than all of `whole`.
  const whole = new Queue<TaskPlace>()
  const compacted = new Queue<TaskPlace>()
  const waiting = new Queue<TaskPlace>()
  const shares = createKeptShares(limits)
  let records = 0

  function enter(task: Entry, queue: Queue<TaskPlace>): void {
    task.place = new TaskPlace(task)
    queue.join(task.place)
  }

  function leave(task: Entry): void {
    const { place } = task
    if (place?.queue === whole) records -= task.records.length
    if (place) place.queue?.leave(place)
    task.place = undefined
    shares.remove(task)
  }

  function dropOldest(task: Entry): void {
    leave(task)
    drop(task)
  }

  function dropBefore(ageMs: number, oldest: () => TaskPlace | undefined): void {
    if (ageMs === Number.POSITIVE_INFINITY) return
    const floor = toTimestamp(clock.now() - ageMs)
    for (let place = oldest(); place && isBefore(place, floor); place = oldest())
      dropOldest(place.task)
  }

  function compact(place: TaskPlace): void {
    const { task } = place
    records -= task.records.length
    // The records of a short log weigh about what the task does; chunks of a long one are merged in it.
    if (task.bytes > smallBytes) shares.resize(task, weighTask(task.stored.task))
    task.records = []
    whole.leave(place)
    // Where age counts for nothing, nobody asks for the oldest of all any more.
    if (maxAgeMs !== Number.POSITIVE_INFINITY) compacted.join(place)
  }

  return {
    release(task) {
      if (task.place) return
      leave(task)
      records += task.records.length
      enter(task, whole)
      shares.add(task, 'finished')
    },
    wait(task) {
      enter(task, waiting)
      shares.add(task, 'open')
    },
    lag: (task) => shares.add(task, 'open'),
    hold: leave,
    count: shares.count,
    trim() {
      while (whole.oldest && records > maxRecords) compact(whole.oldest)
      for (let task = shares.excess(); task; task = shares.excess()) dropOldest(task)
      dropBefore(maxAgeMs, () => compacted.oldest ?? whole.oldest)
      dropBefore(maxWaitingMs, () => waiting.oldest)
    },
  }
}

function isBefore({ task }: TaskPlace, floor: string): boolean {
  return task.stored.head.timestamp < floor
}

/** Smaller logs are counted as they were: to weigh their tasks costs more than the room that it would find. */
const smallBytes = 16 * 1024

/**
 * The log of a task. A compacted one is a single record: who asks for what came after any earlier one gets the whole
 * task. The record is made when it is asked for, since hardly any of them ever is.
 */
export function logOf({ records, stored }: Entry): LogRecord[] {
  if (records.length > 0) return records
  return [{ seq: stored.version, kind: 'event', event: { task: stored.task } }]
}
