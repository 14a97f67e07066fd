import { A2AError, toA2AError } from '../protocol/errors.ts'
import { soon } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import type { Store, Write, WriteResult } from '../store/store.ts'
import { CommitShares, type Weighed } from './commit-share.ts'
import { KeyTaken, TaskMoved, taskNotFound } from './faults.ts'

/**
 * The only writer of tasks. Whatever becomes dirty while a commit runs goes into the next one, so that durability
 * costs one sync per batch, not per event. Check → reduce → store → publish: nobody hears of what is not stored.
 */
export interface Committer {
  /** Puts a task's changes into the next commit: at once if none is running, or at the end of this tick's burst. */
  enqueue(source: CommitSource, urgency: 'now' | 'burst'): void
  /** Commits other writes along with the tasks'. */
  write(writes: readonly Write[]): Promise<readonly WriteResult[]>
  /** Resolves when nothing is left to commit. */
  idle(): Promise<void>
}

/** Something whose changes are committed: the log of a task. */
export interface CommitSource extends Weighed {
  /** Reduces what has come in since the last commit to writes; called when the commit begins. */
  reduce(): readonly Write[]
  /** The writes of the last `reduce` are stored; publish them. */
  stored(results: readonly WriteResult[]): void
  /** They are not; `never` tells that they cannot be, however often it is tried. */
  refused(error: A2AError, never?: boolean): void
}

/** Is told how long the store took for a commit, in milliseconds. */
type CommitObserver = (ms: number) => void

/** Makes the writer over a store. Written with callbacks: a commit costs one promise besides the store's own. */
export function createCommitter(
  store: Store,
  clock: Clock = systemClock,
  told?: CommitObserver,
): Committer {
  const shares = new CommitShares()
  let startedAt = 0
  let dirty = new Set<CommitSource>()
  let running: Promise<void> | undefined
  let scheduled = false
  const gaps = store.chunkGapMs ? createGaps(store.chunkGapMs, clock, enqueueDue) : undefined

  function enqueueDue(source: CommitSource): void {
    committer.enqueue(source, 'now')
  }

  function flushBurst(): void {
    scheduled = false
    flush()
  }

  function flush(): void {
    if (running || dirty.size === 0) return
    const sources = shares.take(dirty)
    if (sources === dirty) dirty = new Set()
    const { writes, parts } = reduceAll(sources)
    if (writes.length === 0) {
      flush()
      return
    }
    if (told) startedAt = clock.elapsed()
    running = store.commit(writes).then(
      (results) => end(() => tellStored(parts, results)),
      (thrown) => end(() => tellRefused(parts, toStoreError(thrown))),
    )
  }

  /** Tells how a commit ended. What becomes dirty through that goes into the next one. */
  function end(tell: () => void): void {
    told?.(clock.elapsed() - startedAt)
    try {
      tell()
    } finally {
      running = undefined
      flush()
    }
  }

  const committer: Committer = {
    enqueue(source, urgency) {
      if (gaps?.mustWait(source, urgency)) return
      dirty.add(source)
      if (running) return
      if (urgency === 'now') flush()
      else if (!scheduled) {
        scheduled = true
        soon(flushBurst)
      }
    },
    write: (writes) =>
      new Promise((resolve, reject) => {
        const source = { ...light, reduce: () => writes, stored: resolve, refused: reject }
        committer.enqueue(source, 'now')
      }),
    async idle() {
      while (running || dirty.size > 0) {
        flush()
        await running
      }
    },
  }
  return committer
}

/** Writes beside those of tasks are small. */
const light = { weight: 0, whose: '' }

/** The least time between two commits of one task's chunks. */
interface Gaps {
  /** Whether a source's chunks wait for their time. What somebody waits for does not. */
  mustWait(source: CommitSource, urgency: 'now' | 'burst'): boolean
}

function createGaps(ms: number, clock: Clock, due: (source: CommitSource) => void): Gaps {
  /** Those that were committed lately, and whether something of theirs waits. */
  const resting = new Map<CommitSource, { waits: boolean }>()
  return {
    mustWait(source, urgency) {
      const rest = resting.get(source)
      if (rest && urgency === 'burst') {
        rest.waits = true
        return true
      }
      if (rest) {
        rest.waits = false
        return false
      }
      const begun = { waits: false }
      resting.set(source, begun)
      clock.after(ms, () => {
        resting.delete(source)
        if (begun.waits) due(source)
      })
      return false
    },
  }
}

/** The writes of one source within a commit. */
interface PartOfCommit {
  readonly source: CommitSource
  readonly from: number
  readonly to: number
}

function reduceAll(sources: Iterable<CommitSource>): {
  readonly writes: readonly Write[]
  readonly parts: readonly PartOfCommit[]
} {
  const writes: Write[] = []
  const parts: PartOfCommit[] = []
  for (const source of sources) {
    const from = writes.length
    for (const write of reduce(source)) writes.push(write)
    if (writes.length > from) parts.push({ source, from, to: writes.length })
  }
  return { writes, parts }
}

function tellStored(parts: readonly PartOfCommit[], results: readonly WriteResult[]): void {
  for (const { source, from, to } of parts) source.stored(results.slice(from, to))
}

function tellRefused(parts: readonly PartOfCommit[], error: A2AError): void {
  for (const { source } of parts) source.refused(error)
}

/** A task that cannot be reduced is refused by itself: those that are committed with it have no part in its fault. */
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
  return new A2AError('unavailable', 'The task store cannot be written', { cause: thrown })
}

/** What a store's answer to a task's write has against it; undefined where it is stored. */
export function faultOf(result: WriteResult, taskId: string): A2AError | undefined {
  if ('version' in result) return undefined
  if ('existing' in result) return new KeyTaken(result.existing)
  if ('conflict' in result)
    return result.conflict === 0 ? taskNotFound(taskId) : new TaskMoved(taskId)
  return new A2AError('invalidAgentResponse', `The task cannot be stored: ${result.refused}`)
}
