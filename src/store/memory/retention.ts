import { type Clock, toTimestamp } from '../../shared/clock.ts'
import { weighTask } from '../size-limits.ts'
import type { LogRecord, PushConfigRecord, StoredTask } from '../store.ts'

/** A task and what hangs on it. Its own links are those among the tasks of its share. */
export interface Entry extends Linked<Entry> {
  stored: StoredTask
  /** The whole log; empty once it is compacted. */
  records: LogRecord[]
  readonly idempotencyKey: string | undefined
  /** The webhooks by id, oldest first; most tasks have none. */
  configs: Map<string, PushConfigRecord> | undefined
  /** The principal that it counts against. */
  readonly principal: string
  /** About how many bytes it takes. */
  bytes: number
  /** Its place among all tasks that rest as it does; undefined while it is needed. */
  place: TaskPlace | undefined
  /** Its number in the order in which tasks came to rest. */
  order: number
}

/** The place of a task among those of all shares; in no queue once the oldest of them is not needed any more. */
class TaskPlace implements Linked<TaskPlace> {
  readonly task: Entry
  queue: Queue<TaskPlace> | undefined
  older: TaskPlace | undefined
  newer: TaskPlace | undefined

  constructor(task: Entry) {
    this.task = task
  }
}

/** How much to keep of what is finished. */
interface RetentionLimits extends ShareLimits {
  readonly clock: Clock
  readonly maxAgeMs: number
  readonly maxWaitingMs: number
  readonly maxRecords: number
}

/**
 * Keeps finished tasks within limits. Tasks queue up in the order in which they were released; beyond
 * `maxRecords` the logs of all but the newest become one record, beyond `maxAgeMs` the tasks are dropped. Beyond `maxTasks` or
 * `maxBytes` the oldest task of the principal that keeps most is dropped, so that a flood of one principal never
 * displaces what others keep within their share.
 */
export class Retention {
  readonly #limits: RetentionLimits
  readonly #drop: (task: Entry) => void
  // Tasks move from the first queue to the second, so everything in `compacted` is older than all of `whole`.
  readonly #whole = new Queue<TaskPlace>()
  readonly #compacted = new Queue<TaskPlace>()
  readonly #waiting = new Queue<TaskPlace>()
  readonly #shares: KeptShares
  #records = 0

  /** @param drop Removes a task from the store. */
  constructor(limits: RetentionLimits, drop: (task: Entry) => void) {
    this.#limits = limits
    this.#drop = drop
    this.#shares = new KeptShares(limits)
  }

  /** The task is finished, and may be dropped when its time comes. */
  release(task: Entry): void {
    if (task.place) return
    this.hold(task)
    this.#records += task.records.length
    this.#enqueue(task, this.#whole)
    this.#shares.add(task, 'finished')
  }

  /** The task waits for its user, and may be dropped when that has taken too long or too much. */
  wait(task: Entry): void {
    this.#enqueue(task, this.#waiting)
    this.#shares.add(task, 'open')
  }

  /** The task is finished and its webhooks are behind: it is dropped only where it takes too much. */
  lag(task: Entry): void {
    this.#shares.add(task, 'open')
  }

  /** The task is needed again. */
  hold(task: Entry): void {
    const { place } = task
    if (place?.queue === this.#whole) this.#records -= task.records.length
    if (place) place.queue?.leave(place)
    task.place = undefined
    this.#shares.remove(task)
  }

  /** So many bytes more, or less, are kept for a principal besides its tasks. */
  count(principal: string, bytes: number): void {
    this.#shares.count(principal, bytes)
  }

  /** Drops and compacts what is over the limits, oldest first. */
  trim(): void {
    const { maxAgeMs, maxWaitingMs, maxRecords } = this.#limits
    const [whole, shares] = [this.#whole, this.#shares]
    while (whole.size > 1 && whole.oldest && this.#records > maxRecords) this.#compact(whole.oldest)
    for (let task = shares.excess(); task; task = shares.excess()) this.#dropOldest(task)
    if (maxAgeMs !== Number.POSITIVE_INFINITY)
      this.#dropBefore(maxAgeMs, () => this.#compacted.oldest ?? whole.oldest)
    if (maxWaitingMs !== Number.POSITIVE_INFINITY)
      this.#dropBefore(maxWaitingMs, () => this.#waiting.oldest)
  }

  #enqueue(task: Entry, queue: Queue<TaskPlace>): void {
    task.place = new TaskPlace(task)
    queue.join(task.place)
  }

  #compact(place: TaskPlace): void {
    const { task } = place
    this.#records -= task.records.length
    // The records of a short log weigh about what the task does; chunks of a long one are merged in it.
    if (task.bytes > smallBytes) this.#shares.resize(task, weighTask(task.stored.task))
    task.records = []
    this.#whole.leave(place)
    // Without a maximum age, the oldest of all tasks is never asked for again.
    if (this.#limits.maxAgeMs !== Number.POSITIVE_INFINITY) this.#compacted.join(place)
  }

  #dropOldest(task: Entry): void {
    this.hold(task)
    this.#drop(task)
  }

  #dropBefore(ageMs: number, oldest: () => TaskPlace | undefined): void {
    const floor = toTimestamp(this.#limits.clock.now() - ageMs)
    for (let place = oldest(); place; place = oldest()) {
      if (place.task.stored.head.timestamp >= floor) return
      this.#dropOldest(place.task)
    }
  }
}

/** Smaller logs are counted as they were: to weigh their tasks costs more than the room that it would find. */
const smallBytes = 16 * 1024

/**
 * The log of a task. A compacted one is a single record: a reader that asks for what came after any earlier record gets
 * the whole task. The record is made on request, since hardly any of them ever is requested.
 */
export function logOf({ records, stored }: Entry): LogRecord[] {
  if (records.length > 0) return records
  return [{ seq: stored.version, kind: 'event', event: { task: stored.task } }]
}

/** How much all principals keep together. */
interface ShareLimits {
  /** Finished tasks. */
  readonly maxTasks: number
  /** Bytes of tasks that do not run, and of what is kept besides. */
  readonly maxBytes: number
}

/** What one principal keeps. */
interface Share {
  readonly principal: string
  readonly finished: Queue<Entry>
  readonly open: Queue<Entry>
  bytes: number
  /** How much of what all may keep that is. */
  weight: number
  /** Its place in the heap. */
  index: number
}

/** The tasks that do not run, by principal. A change costs the logarithm of the number of principals, and mostly nothing. */
class KeptShares {
  readonly #limits: ShareLimits
  readonly #shares = new Map<string, Share>()
  /** The principal that keeps most comes first. */
  readonly #heap = new Heap<Share>(isAbove)
  /** The share that was looked up last: most changes in a row are of the same principal. */
  #last: Share | undefined
  #tasks = 0
  #bytes = 0
  #order = 0

  constructor(limits: ShareLimits) {
    this.#limits = limits
  }

  /** Adds a task: `finished`, or `open` while a user or a webhook still waits for it and others are dropped first. */
  add(task: Entry, kind: 'finished' | 'open'): void {
    const share = this.#shareOf(task.principal)
    task.order = ++this.#order
    share[kind].join(task)
    if (kind === 'finished') this.#tasks += 1
    this.#change(share, task.bytes)
  }

  remove(task: Entry): void {
    const share = task.queue && this.#find(task.principal)
    if (!share) return
    if (task.queue === share.finished) this.#tasks -= 1
    task.queue?.leave(task)
    this.#change(share, -task.bytes)
    this.#forgetEmpty(share)
  }

  /** The task takes this many bytes from now on. */
  resize(task: Entry, bytes: number): void {
    const share = task.queue && this.#find(task.principal)
    if (share) this.#change(share, bytes - task.bytes)
    task.bytes = bytes
  }

  /** So many bytes more, or less, are kept for a principal besides its tasks. */
  count(principal: string, bytes: number): void {
    if (bytes === 0) return
    const share = this.#shareOf(principal)
    this.#change(share, bytes)
    this.#forgetEmpty(share)
  }

  /** What has to be dropped while there is too much: the oldest task of the principal that keeps most. */
  excess(): Entry | undefined {
    const { maxTasks, maxBytes } = this.#limits
    if (this.#tasks <= maxTasks && this.#bytes <= maxBytes) return undefined
    const isTooLarge = this.#bytes > maxBytes
    const most = this.#heap.first()
    return (most && oldestOf(most, isTooLarge)) ?? heaviest(this.#shares.values(), isTooLarge)
  }

  #find(principal: string): Share | undefined {
    if (this.#last?.principal !== principal) this.#last = this.#shares.get(principal)
    return this.#last
  }

  #shareOf(principal: string): Share {
    const known = this.#find(principal)
    if (known) return known
    const share: Share = {
      principal,
      finished: new Queue(),
      open: new Queue(),
      bytes: 0,
      weight: 0,
      index: 0,
    }
    this.#shares.set(principal, share)
    this.#heap.add(share)
    return share
  }

  #change(share: Share, by: number): void {
    const { maxTasks, maxBytes } = this.#limits
    this.#bytes += by
    share.bytes += by
    share.weight = Math.max(share.bytes / maxBytes, share.finished.size / maxTasks)
    this.#heap.moved(share)
  }

  #forgetEmpty(share: Share): void {
    if (share.finished.size + share.open.size > 0 || share.bytes > 0) return
    this.#shares.delete(share.principal)
    this.#last = undefined
    this.#heap.remove(share)
  }
}

/** What may be dropped of a share: open tasks too, where there are too many bytes. */
function oldestOf({ finished, open }: Share, isTooLarge: boolean): Entry | undefined {
  return finished.oldest ?? (isTooLarge ? open.oldest : undefined)
}

/** What is dropped where the principal that keeps most has nothing that may be, which is rare. */
function heaviest(shares: Iterable<Share>, isTooLarge: boolean): Entry | undefined {
  let found: Share | undefined
  for (const share of shares)
    if (oldestOf(share, isTooLarge) && (!found || isAbove(share, found))) found = share
  return found && oldestOf(found, isTooLarge)
}

/** Whether one loses a task before the other: it keeps more, or as much and for longer. */
function isAbove(a: Share, b: Share): boolean {
  return a.weight > b.weight || (a.weight === b.weight && orderOf(a) < orderOf(b))
}

function orderOf({ finished, open }: Share): number {
  return (finished.oldest ?? open.oldest)?.order ?? Number.POSITIVE_INFINITY
}

/**
 * The first of many in an order that changes, each change at the cost of a logarithm. Items carry their own place, so that
 * none has to be searched for.
 */
class Heap<T extends { index: number }> {
  readonly #isAbove: (a: T, b: T) => boolean
  readonly #items: T[] = []

  constructor(isAbove: (a: T, b: T) => boolean) {
    this.#isAbove = isAbove
  }

  first(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    this.#put(item, this.#items.length)
    this.#rise(item)
  }

  remove(item: T): void {
    const last = this.#items.pop()
    if (!last || last === item) return
    this.#put(last, item.index)
    this.moved(last)
  }

  /** The item may have another place in the order. */
  moved(item: T): void {
    this.#rise(item)
    this.#sink(item)
  }

  #rise(item: T): void {
    while (item.index > 0) {
      const above = this.#items[(item.index - 1) >> 1]
      if (!above || !this.#isAbove(item, above)) return
      this.#swap(item, above)
    }
  }

  #sink(item: T): void {
    for (;;) {
      const left = this.#items[2 * item.index + 1]
      const right = this.#items[2 * item.index + 2]
      const below = left && right && this.#isAbove(right, left) ? right : left
      if (!below || !this.#isAbove(below, item)) return
      this.#swap(item, below)
    }
  }

  #swap(a: T, b: T): void {
    const { index } = a
    this.#put(a, b.index)
    this.#put(b, index)
  }

  #put(item: T, index: number): void {
    this.#items[index] = item
    item.index = index
  }
}

/** What can stand in a queue. It carries its own links: to join costs no memory, and to leave the same from anywhere. */
interface Linked<T extends Linked<T>> {
  queue: Queue<T> | undefined
  older: T | undefined
  newer: T | undefined
}

/**
 * First in, first out, with members that may leave early. A plain Map would do, were its first key not slow to find after
 * many deletions.
 */
class Queue<T extends Linked<T>> {
  oldest: T | undefined
  #newest: T | undefined
  size = 0

  /** Takes in a member that stands in no queue. */
  join(member: T): void {
    member.queue = this
    member.older = this.#newest
    if (this.#newest) this.#newest.newer = member
    else this.oldest = member
    this.#newest = member
    this.size += 1
  }

  /** Lets a member go that stands in this queue. */
  leave(member: T): void {
    const { older, newer } = member
    if (older) older.newer = newer
    else this.oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
    member.queue = member.older = member.newer = undefined
    this.size -= 1
  }
}
