import type { EventStream, Sequenced } from '../protocol/call.ts'
import type { LogRecord } from '../store/store.ts'

/** What a watcher is asked to show. */
export interface WatcherOptions {
  /** Show what follows this sequence number. */
  readonly after: number
  /** Whether the log may already hold records after `after`; false for a task that is just being made. */
  readonly replay: boolean
  /** Told before everything else: the snapshot that a subscription begins with. */
  readonly first?: Sequenced
  /** Says what a record shows to this watcher, if anything. */
  show(record: LogRecord): Sequenced | undefined
  /** Whether the stream ends with this record. */
  isLast(record: LogRecord): boolean
}

/** One reader of a task's log: pushed to by the hub, read as an EventStream by a binding. */
export interface Watcher extends EventStream {
  push(records: readonly LogRecord[]): void
  /** Shows something that is not in the log (a Message that answers without a task) and ends. */
  finish(item: Sequenced): void
  /** Ends after what is already waiting; with a fault, the reader gets the fault. */
  end(fault?: Error): void
  /** Whether the reader has left or the stream is over. */
  readonly ended: boolean
}

/** What a watcher needs of its hub. */
interface WatcherHost {
  read(after: number, limit: number): Promise<readonly LogRecord[]>
  leave(): void
}

/** Beyond this many waiting records, a slow reader is dropped to reading the log: memory stays bounded. */
const maxWaiting = 256
/** The same bound in characters of text and bytes, for few but large events. */
const maxWaitingWeight = 1_000_000
const page = 128

/**
 * Sequence numbers have no gaps, so a watcher knows what it misses: a batch that does not continue its position,
 * or more waiting than the bound, sends it back to the log, and it is live again once it has caught up.
 */
export function createWatcher(options: WatcherOptions, host: WatcherHost): Watcher {
  let position = options.after
  let published = options.after
  let behind = options.replay
  let waiting: LogRecord[] = []
  let weight = 0
  let extra: Sequenced[] = options.first ? [options.first] : []
  let over = false
  let fault: Error | undefined
  let left = false
  let wake: (() => void) | undefined

  function rouse(): void {
    const call = wake
    wake = undefined
    call?.()
  }

  function push(records: readonly LogRecord[]): void {
    const last = records.at(-1)
    if (over || left || !last) return
    published = Math.max(published, last.seq)
    if (!behind) enqueue(records)
    rouse()
  }

  function enqueue(records: readonly LogRecord[]): void {
    const next = waiting.at(-1)?.seq ?? position
    for (const record of records) {
      if (record.seq <= next) continue
      weight += weigh(record)
      waiting.push(record)
    }
    const gap = waiting[0] !== undefined && waiting[0].seq > position + 1
    if (gap || waiting.length > maxWaiting || weight > maxWaitingWeight) {
      behind = true
      waiting = []
      weight = 0
    }
  }

  /** What the hub has brought since the last time. */
  function taken(): readonly LogRecord[] {
    const ready = waiting
    waiting = []
    weight = 0
    return ready
  }

  /** A page of the log, while behind. */
  async function read(): Promise<readonly LogRecord[]> {
    const records = await host.read(position, page)
    // What was published meanwhile was dropped while behind; only a log read up to it makes us live again.
    const reached = records.at(-1)?.seq ?? position
    if (records.length < page && reached >= published) behind = false
    return records
  }

  function shown(records: readonly LogRecord[]): Sequenced[] {
    const items = extra
    extra = []
    for (const record of records) {
      if (record.seq <= position) continue
      position = record.seq
      const item = options.show(record)
      if (item) items.push(item)
      if (options.isLast(record)) {
        over = true
        waiting = []
        break
      }
    }
    return items
  }

  async function next(): Promise<IteratorResult<readonly Sequenced[]>> {
    for (;;) {
      if (left) return finished()
      if (extra.length > 0 && behind) return { done: false, value: shown([]) }
      const done = over && waiting.length === 0
      const items = shown(done ? [] : behind ? await read() : taken())
      if (items.length > 0) return { done: false, value: items }
      if (fault) return fail()
      if (over) return finished()
      // The reader may have left while the log was read: then nobody wakes us any more.
      if (waiting.length === 0 && !behind && !left)
        await new Promise<void>((resolve) => (wake = resolve))
    }
  }

  function finished(): IteratorResult<readonly Sequenced[]> {
    depart()
    return { done: true, value: undefined }
  }

  function fail(): never {
    const thrown = fault
    fault = undefined
    depart()
    throw thrown
  }

  function depart(): void {
    if (left) return
    left = true
    waiting = []
    host.leave()
    rouse()
  }

  return {
    push,
    finish(item) {
      extra.push(item)
      over = true
      rouse()
    },
    end(reason) {
      over = true
      fault = reason
      rouse()
    },
    get ended() {
      return over || left
    },
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        return finished()
      },
    }),
  }
}

/** About how many characters a record holds; exact enough to bound memory. */
function weigh(record: LogRecord): number {
  if (record.kind !== 'event' || !('artifactUpdate' in record.event)) return 200
  let sum = 200
  for (const part of record.event.artifactUpdate.artifact.parts) {
    if ('text' in part) sum += part.text.length
    else if ('raw' in part) sum += part.raw.length
    else sum += 500
  }
  return sum
}
