import { A2AError, toA2AError } from '../protocol/errors.ts'
import { backoffMs, retry, soon, wait } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { TasksLocked, taskIdOf } from '../store/documents.ts'
import type { Store, Write, WriteResult } from '../store/store.ts'
import { KeyTaken, TaskMoved, taskNotFound } from './errors.ts'

/** Something whose changes are committed: the log of a task, or writes beside tasks. */
export interface CommitSource {
  /** About how many bytes its writes will have. */
  readonly commitBytes: number
  /** The principal that these bytes are counted against: no principal's changes wait for all of another's. */
  readonly principal: string
  /** Reduces what has come in since the last commit to writes; called when the commit begins. */
  reduce(): readonly Write[]
  /** The writes of the last `reduce` are stored; publish them. */
  stored(results: readonly WriteResult[]): void
  /** The store has rejected them. `never` means that trying again is of no use. */
  refused(error: A2AError, never?: boolean): void
}

/**
 * The only writer of tasks. What becomes dirty while a commit runs goes into the next one, so that durability costs one
 * sync per batch, not per event. Check → reduce → store → publish: nothing is published before it is stored.
 *
 * Written with callbacks: a commit costs one promise besides the store's own.
 */
export class Committer {
  readonly #store: Store
  readonly #clock: Clock
  /** Receives how long the store took for each commit, in milliseconds, and why it failed. */
  readonly #observer: ((ms: number, error?: A2AError) => void) | undefined
  readonly #shares = new CommitShares()
  readonly #gaps: ChunkGaps | undefined
  readonly #flushBurst: () => void
  readonly #delayed: DelayedCommits
  #dirty = new Set<CommitSource>()
  #running: Promise<void> | undefined
  #startedAt = 0
  #isScheduled = false

  constructor(
    store: Store,
    clock: Clock = systemClock,
    observer?: (ms: number, error?: A2AError) => void,
  ) {
    this.#store = store
    this.#clock = clock
    this.#observer = observer
    this.#gaps = store.chunkGapMs
      ? new ChunkGaps(store.chunkGapMs, clock, (source) => this.enqueue(source, 'now'))
      : undefined
    this.#delayed = new DelayedCommits(store, clock, (source) => this.enqueue(source, 'now'))
    this.#flushBurst = () => {
      this.#isScheduled = false
      this.#flush()
    }
  }

  /** Puts a task's changes into the next commit: at once if none is running, or at the end of this tick's burst. */
  enqueue(source: CommitSource, urgency: 'now' | 'burst'): void {
    if (this.#gaps?.mustWait(source, urgency) || this.#delayed.mustWait(source)) return
    this.#dirty.add(source)
    if (this.#running) return
    if (urgency === 'now') this.#flush()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      soon(this.#flushBurst)
    }
  }

  /** Commits other writes along with the tasks'. They are small, so they count against no principal. */
  write(writes: readonly Write[]): Promise<readonly WriteResult[]> {
    return new Promise((resolve, reject) => {
      const source: CommitSource = {
        commitBytes: 0,
        principal: '',
        reduce: () => writes,
        stored: resolve,
        refused: reject,
      }
      this.enqueue(source, 'now')
    })
  }

  /** For how long the commit under way has waited for the store, in milliseconds; undefined where none is. */
  get waitedMs(): number | undefined {
    return this.#running && this.#clock.elapsed() - this.#startedAt
  }

  /** Resolves when nothing is left to commit. */
  async idle(): Promise<void> {
    while (this.#running || this.#dirty.size > 0 || this.#delayed.size > 0) {
      this.#flush()
      await (this.#running ?? this.#delayed.next())
    }
  }

  #flush(): void {
    if (this.#running || this.#dirty.size === 0) return
    const sources = this.#shares.take(this.#dirty)
    if (sources === this.#dirty) this.#dirty = new Set()
    const parts = reduceAll(sources)
    if (parts.length === 0) this.#flush()
    else this.#commit(parts)
  }

  #commit(parts: readonly CommitPart[]): void {
    this.#startedAt = this.#clock.elapsed()
    const [only] = parts
    const writes = only && parts.length === 1 ? only.writes : parts.flatMap((part) => part.writes)
    this.#running = this.#store.commit(writes).then(
      (results) => this.#end(parts, results),
      (thrown) =>
        thrown instanceof TasksLocked
          ? this.#split(parts, thrown)
          : this.#end(parts, undefined, toStoreError(thrown)),
    )
  }

  /** Commits the tasks that no other client has locked. The locked ones are committed later, each by itself. */
  #split(parts: readonly CommitPart[], error: TasksLocked): void {
    const rest = parts.filter(({ source, writes }) => {
      const isLocked = writes.some((write) => error.ids.has(taskIdOf(write) ?? ''))
      // Changes that arrived meanwhile must not overtake it.
      if (isLocked) this.#delayed.add(source, writes, this.#dirty.delete(source))
      return !isLocked
    })
    if (rest.length === parts.length) this.#end(parts, undefined, error)
    else if (rest.length > 0) this.#commit(rest)
    else {
      this.#running = undefined
      this.#flush()
    }
  }

  /** Publishes how a commit ended. What becomes dirty through that goes into the next one. */
  #end(parts: readonly CommitPart[], results?: readonly WriteResult[], error?: A2AError): void {
    this.#observer?.(this.#clock.elapsed() - this.#startedAt, error)
    try {
      let from = 0
      for (const { source, writes } of parts) {
        if (results) source.stored(results.slice(from, from + writes.length))
        else if (error) source.refused(error)
        from += writes.length
      }
    } finally {
      this.#running = undefined
      this.#flush()
    }
  }
}

/** The least time between two commits of one task's chunks. */
class ChunkGaps {
  readonly #ms: number
  readonly #clock: Clock
  readonly #onDue: (source: CommitSource) => void
  /** Sources that were committed lately, and whether some of their chunks wait. */
  readonly #resting = new Map<CommitSource, { waits: boolean }>()

  constructor(ms: number, clock: Clock, onDue: (source: CommitSource) => void) {
    this.#ms = ms
    this.#clock = clock
    this.#onDue = onDue
  }

  /** Whether a source's chunks wait for their time. Changes that a caller waits for do not. */
  mustWait(source: CommitSource, urgency: 'now' | 'burst'): boolean {
    const rest = this.#resting.get(source)
    if (rest && urgency === 'burst') {
      rest.waits = true
      return true
    }
    if (rest) {
      rest.waits = false
      return false
    }
    const begun = { waits: false }
    this.#resting.set(source, begun)
    this.#clock.after(this.#ms, () => {
      this.#resting.delete(source)
      if (begun.waits) this.#onDue(source)
    })
    return false
  }
}

const lockBackoff = { baseMs: 20, maxMs: 500 }

/**
 * Commits that are delayed because another client of the store has locked their task. Each is retried by itself until the
 * store accepts or rejects it; further changes of its source wait until then.
 */
class DelayedCommits {
  readonly #store: Store
  readonly #clock: Clock
  readonly #onFree: (source: CommitSource) => void
  readonly #waiting = new Map<CommitSource, { isDirty: boolean; readonly done: Promise<void> }>()

  constructor(store: Store, clock: Clock, onFree: (source: CommitSource) => void) {
    this.#store = store
    this.#clock = clock
    this.#onFree = onFree
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Whether a source has to wait for its own delayed commit; it is then enqueued after that. */
  mustWait(source: CommitSource): boolean {
    const delayed = this.#waiting.get(source)
    if (delayed) delayed.isDirty = true
    return delayed !== undefined
  }

  add(source: CommitSource, writes: readonly Write[], isDirty: boolean): void {
    this.#waiting.set(source, { isDirty, done: this.#retry(source, writes) })
  }

  /** Resolves when one of them is stored or rejected; at once where there is none. */
  async next(): Promise<void> {
    if (this.#waiting.size > 0)
      await Promise.race([...this.#waiting.values()].map(({ done }) => done))
  }

  async #retry(source: CommitSource, writes: readonly Write[]): Promise<void> {
    const clock = this.#clock
    await wait(clock, backoffMs(1, lockBackoff)) // the first try was part of a commit
    const end = await retry(() => this.#store.commit(writes), {
      clock,
      delay: (thrown, failures) =>
        thrown instanceof TasksLocked ? backoffMs(failures + 1, lockBackoff) : undefined,
    }).then(
      (results) => () => source.stored(results),
      (thrown) => () => source.refused(toStoreError(thrown)),
    )
    const isDirty = this.#waiting.get(source)?.isDirty
    this.#waiting.delete(source)
    try {
      end()
    } finally {
      if (isDirty) this.#onFree(source)
    }
  }
}

/** The writes of one source within a commit. */
interface CommitPart {
  readonly source: CommitSource
  readonly writes: readonly Write[]
}

function reduceAll(sources: Iterable<CommitSource>): readonly CommitPart[] {
  const parts: CommitPart[] = []
  for (const source of sources) {
    const writes = reduce(source)
    if (writes.length > 0) parts.push({ source, writes })
  }
  return parts
}

/** A task that cannot be reduced is rejected by itself; the tasks that are committed with it are not affected. */
function reduce(source: CommitSource): readonly Write[] {
  try {
    return source.reduce()
  } catch (thrown) {
    source.refused(toA2AError(thrown), true)
    return []
  }
}

function toStoreError(thrown: unknown): A2AError {
  if (thrown instanceof A2AError) return thrown
  return new A2AError('unavailable', 'The task store cannot be written', {
    cause: thrown,
    why: 'storeDown',
  })
}

/** The error that a store's answer to a task's write stands for; undefined where it is stored. */
export function storeErrorOf(result: WriteResult, taskId: string): A2AError | undefined {
  if ('version' in result) return undefined
  if ('existing' in result) return new KeyTaken(result.existing)
  if ('conflict' in result)
    return result.conflict === 0 ? taskNotFound(taskId) : new TaskMoved(taskId)
  return new A2AError('invalidAgentResponse', `The task cannot be stored: ${result.refused}`)
}

/** About as many bytes as one commit holds beside the one change that comes first. */
const maxCommitBytes = 512 * 1024

/** How many principals' last turns are remembered. */
const maxRemembered = 1_000

/**
 * Chooses what goes into the next commit. Mostly that is all that is dirty. Where that is too much, the changes of the
 * principals that have the fewest bytes in it go first, until the commit is full. In every second of these commits, the
 * principal that waited longest adds one change, however large it is: a small change waits for one large one at most.
 */
class CommitShares {
  /** The commit in which each principal last added a change of any size. */
  readonly #turns = new Map<string, number>()
  #commits = 0
  #isLargeNext = false

  /** Takes the next commit's sources out of the dirty ones, or returns the set itself; the others keep their order. */
  take(dirty: Set<CommitSource>): Set<CommitSource> {
    if (dirty.size === 1) return dirty
    let bytes = 0
    for (const source of dirty) bytes += source.commitBytes
    if (bytes <= maxCommitBytes) return dirty
    const share = new Set<CommitSource>()
    const large = this.#isLargeNext ? this.#nextTurn(dirty) : undefined
    if (large) share.add(large)
    let left = maxCommitBytes
    for (const source of inFairOrder(dirty)) {
      if (share.has(source)) continue
      left -= source.commitBytes
      if (left < 0) break
      share.add(source)
    }
    this.#isLargeNext = !large
    if (share.size === 0) return this.take(dirty)
    for (const source of share) dirty.delete(source)
    return share
  }

  /** The first change of the principal whose last turn is the longest ago. */
  #nextTurn(dirty: Iterable<CommitSource>): CommitSource | undefined {
    let next: CommitSource | undefined
    let lastTurn = Number.POSITIVE_INFINITY
    for (const source of dirty) {
      const turn = this.#turns.get(source.principal) ?? 0
      if (turn >= lastTurn) continue
      next = source
      lastTurn = turn
    }
    if (this.#turns.size >= maxRemembered) this.#turns.clear()
    if (next) this.#turns.set(next.principal, ++this.#commits)
    return next
  }
}

/** Ordered by the bytes that each principal has taken so far: small changes come before large ones. */
function inFairOrder(sources: Iterable<CommitSource>): readonly CommitSource[] {
  const taken = new Map<string, number>()
  const placed: { readonly source: CommitSource; readonly after: number }[] = []
  for (const source of sources) {
    const after = (taken.get(source.principal) ?? 0) + source.commitBytes
    taken.set(source.principal, after)
    placed.push({ source, after })
  }
  return placed.sort((a, b) => a.after - b.after).map(({ source }) => source)
}
