import type { EventStream, Sequenced } from '../protocol/operations.ts'
import type { Part } from '../protocol/types.ts'
import { Registry } from '../shared/registry.ts'
import type { LogRecord, Store } from '../store/store.ts'

/** The watchers of tasks. Nothing is kept for a task without watchers. */
export class Hub {
  readonly #store: Pick<Store, 'records' | 'feed'>
  readonly #watchers = new Registry<Set<LogWatcher>>()
  /** The tasks of which other replicas announce growth. */
  readonly #followed = new Set<string>()
  #closed = false

  constructor(store: Pick<Store, 'records' | 'feed'>) {
    this.#store = store
  }

  /** Watches a task's log from after a sequence number. The watcher is live when this returns: nothing is missed. */
  watch(taskId: string, options: WatcherOptions): LogWatcher {
    const watcher = new LogWatcher(this, taskId, options)
    if (this.#closed) watcher.end()
    else {
      const set = this.#watchers.get(taskId)
      if (set) set.add(watcher)
      else this.#watchers.set(taskId, new Set([watcher]))
    }
    return watcher
  }

  /** Hands freshly stored records to the task's watchers. */
  publish(taskId: string, records: readonly LogRecord[]): void {
    const set = this.#watchers.get(taskId)
    if (set) for (const watcher of set) watcher.push(records)
  }

  /** Follows what other replicas store of the task, for as long as it has watchers. */
  follow(taskId: string): void {
    const { feed } = this.#store
    const set = this.#watchers.get(taskId)
    if (!feed || this.#closed || !set) return
    // The task's growth may have been announced before these watchers came.
    if (this.#followed.has(taskId)) for (const watcher of set) watcher.look()
    else {
      this.#followed.add(taskId)
      feed.watch(taskId)
    }
  }

  /** Another replica has stored the task's log up to this version; 0 where the task is gone. */
  grown(taskId: string, version: number): void {
    for (const watcher of this.#watchers.get(taskId) ?? [])
      if (version === 0) watcher.end()
      else watcher.grown(version)
  }

  /** Ends the task's watchers with an error, after what they still have to show. */
  fail(taskId: string, error: Error): void {
    for (const watcher of this.#watchers.get(taskId) ?? []) watcher.end(error)
  }

  /** How many watchers there are, for metrics. */
  count(): number {
    let count = 0
    for (const set of this.#watchers.values()) count += set.size
    return count
  }

  /** Ends all watchers. */
  close(): void {
    this.#closed = true
    for (const set of this.#watchers.values()) for (const watcher of set) watcher.end()
    this.#watchers.clear()
    this.#followed.clear()
  }

  /** Reads a page of a task's log, for a watcher that is behind. */
  read(taskId: string, after: number, limit: number): Promise<readonly LogRecord[]> {
    return this.#store.records(taskId, after, limit)
  }

  /** A watcher's reader has left, or has seen everything. */
  forget(taskId: string, watcher: LogWatcher): void {
    const set = this.#watchers.get(taskId)
    set?.delete(watcher)
    if (set?.size !== 0) return
    this.#watchers.delete(taskId)
    if (this.#followed.delete(taskId)) this.#store.feed?.unwatch(taskId)
  }
}

/** What a watcher is asked to show. */
interface WatcherOptions {
  /** Show what follows this sequence number. */
  readonly after: number
  /** Whether the log may already hold records after `after`; false for a task that is just being made. */
  readonly replay: boolean
  /** Told before everything else: the snapshot that a subscription begins with. */
  readonly first?: Sequenced
  /** Says what a record shows to this watcher, if anything. */
  show(record: LogRecord): Sequenced | undefined
  /** Whether the stream ends with this record; where it ends with a fault, that is told in the record's place. */
  isLast(record: LogRecord): boolean | Error
}

/** Shows the events of a log, and nothing else of it. */
export function showEvent(record: LogRecord): Sequenced | undefined {
  return record.kind === 'event' ? { seq: record.seq, event: record.event } : undefined
}

/** Beyond this many waiting records, a slow reader is dropped to reading the log: memory stays bounded. */
const maxWaiting = 256

/** The same bound in characters of text and bytes, for few but large events. */
const maxWaitingWeight = 1_000_000

const page = 128

/** How many are asked for first, before anyone knows how heavy they are. */
const firstPage = 16

const finished: IteratorResult<readonly Sequenced[]> = { done: true, value: undefined }

/**
 * One reader of a task's log: pushed to by the hub, read as an EventStream by a binding.
 *
 * Sequence numbers have no gaps, so a watcher knows what it misses: a batch that does not continue its position,
 * or more waiting than the bound, sends it back to the log, and it is live again once it has caught up.
 * A class, not closures: one is made per stream.
 */
class LogWatcher implements EventStream, AsyncIterator<readonly Sequenced[]> {
  readonly #hub: Hub
  readonly #taskId: string
  readonly #show: WatcherOptions['show']
  readonly #isLast: WatcherOptions['isLast']
  #position: number
  #published: number
  #behind: boolean
  #page = firstPage
  #waiting: LogRecord[] = []
  #weight = 0
  #extra: Sequenced[]
  #over = false
  #fault: Error | undefined
  #left = false
  #wake: (() => void) | undefined

  constructor(hub: Hub, taskId: string, options: WatcherOptions) {
    this.#hub = hub
    this.#taskId = taskId
    // Not the options as a whole: the task that a stream begins with goes when it is told.
    this.#show = options.show
    this.#isLast = options.isLast
    this.#position = options.after
    this.#published = options.after
    this.#behind = options.replay
    this.#extra = options.first ? [options.first] : []
  }

  get #ended(): boolean {
    return this.#over || this.#left
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly Sequenced[]> {
    return this
  }

  push(records: readonly LogRecord[]): void {
    const last = records.at(-1)
    if (this.#ended || !last) return
    this.#published = Math.max(this.#published, last.seq)
    if (!this.#behind) this.#enqueue(records)
    this.#rouse()
  }

  /** Another replica has stored the log up to this sequence number: what is new is read from the store. */
  grown(version: number): void {
    if (this.#ended || version <= (this.#waiting.at(-1)?.seq ?? this.#position)) return
    this.#published = Math.max(this.#published, version)
    this.look()
  }

  /** Reads the log for what may have been stored without an announcement. */
  look(): void {
    if (this.#ended) return
    this.#behind = true
    this.#taken()
    this.#rouse()
  }

  /** Shows something that is not in the log (a Message that answers without a task) and ends. */
  finish(item: Sequenced): void {
    this.#extra.push(item)
    this.end()
  }

  /** Ends after what is already waiting; with an error, the reader gets the error. */
  end(fault?: Error): void {
    this.#over = true
    this.#fault ??= fault
    this.#rouse()
  }

  async next(): Promise<IteratorResult<readonly Sequenced[]>> {
    for (;;) {
      if (this.#left) return finished
      if (this.#extra.length > 0 && this.#behind) return { done: false, value: this.#shown([]) }
      const isDone = this.#over && this.#waiting.length === 0
      const items = this.#shown(isDone ? [] : this.#behind ? await this.#read() : this.#taken())
      if (items.length > 0) return { done: false, value: items }
      if (this.#fault) return this.#fail(this.#fault)
      if (this.#over) return this.#depart()
      // The reader may have left while the log was read: then nobody wakes us any more.
      if (this.#waiting.length === 0 && !this.#behind && !this.#left)
        await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  async return(): Promise<IteratorResult<readonly Sequenced[]>> {
    return this.#depart()
  }

  #enqueue(records: readonly LogRecord[]): void {
    const waiting = this.#waiting
    const next = waiting.at(-1)?.seq ?? this.#position
    for (const record of records) {
      if (record.seq <= next) continue
      this.#weight += weigh(record)
      waiting.push(record)
    }
    const hasGap = waiting[0] !== undefined && waiting[0].seq > this.#position + 1
    if (!hasGap && waiting.length <= maxWaiting && this.#weight <= maxWaitingWeight) return
    this.#behind = true
    this.#taken()
  }

  /** What the hub has brought since the last time. */
  #taken(): readonly LogRecord[] {
    const ready = this.#waiting
    this.#waiting = []
    this.#weight = 0
    return ready
  }

  /** A page of the log, while behind. */
  async #read(): Promise<readonly LogRecord[]> {
    const asked = this.#page
    const records = await this.#hub.read(this.#taskId, this.#position, asked)
    const some = firstOf(records)
    // Heavy records are asked for a few at a time: what is not shown would be read again.
    this.#page = some.length < records.length ? some.length : Math.min(asked * 2, page)
    // What was published meanwhile was dropped while behind; only a log read up to it makes us live again.
    const reached = some.at(-1)?.seq ?? this.#position
    const isAll = some.length === records.length && records.length < asked
    if (isAll && reached >= this.#published) this.#behind = false
    return some
  }

  #shown(records: readonly LogRecord[]): Sequenced[] {
    const items = this.#extra
    this.#extra = []
    for (const record of records) {
      if (record.seq <= this.#position) continue
      this.#position = record.seq
      const last = this.#isLast(record)
      const item = last instanceof Error ? undefined : this.#show(record)
      if (item) items.push(item)
      if (!last) continue
      this.end(last instanceof Error ? last : undefined)
      this.#waiting = []
      break
    }
    return items
  }

  #fail(fault: Error): never {
    this.#fault = undefined
    this.#depart()
    throw fault
  }

  #depart(): typeof finished {
    if (this.#left) return finished
    this.#left = true
    this.#waiting = []
    this.#hub.forget(this.#taskId, this)
    this.#rouse()
    return finished
  }

  #rouse(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}

/** The first records of a page, as many as may wait at once: what is made of them stays until the reader has taken it. */
function firstOf(records: readonly LogRecord[]): readonly LogRecord[] {
  let weight = 0
  for (let i = 0; i < records.length; i++) {
    const record = records[i]
    if (record) weight += weigh(record)
    if (weight > maxWaitingWeight) return records.slice(0, Math.max(i, 1))
  }
  return records
}

/** About how many characters a record holds; exact enough to bound memory. */
function weigh(record: LogRecord): number {
  if (record.kind === 'message') return 200 + weighParts(record.message.parts)
  if (record.kind !== 'event') return 200
  const { event } = record
  if ('artifactUpdate' in event) return 200 + weighParts(event.artifactUpdate.artifact.parts)
  if ('statusUpdate' in event) return 200 + weighParts(event.statusUpdate.status.message?.parts)
  return 200
}

function weighParts(parts: readonly Part[] = []): number {
  let sum = 0
  for (const part of parts) {
    if ('text' in part) sum += part.text.length
    else if ('raw' in part) sum += part.raw.length
    else if ('data' in part) sum += weighJson(part.data)
    else sum += 500
  }
  return sum
}

/** JSON that came in is nested within bounds. */
function weighJson(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let sum = 8
  for (const [key, member] of Object.entries(value)) sum += key.length + weighJson(member)
  return sum
}
