import type { Clock } from '../../shared/clock.ts'
import type { GroupEvents } from './group.ts'
import type { Thread } from './thread.ts'
import type { TrimRequest } from './trim.ts'

/** What is done beside the commits: retention, tasks by context, finding out when a file that failed takes writes again. */
export interface Upkeep extends GroupEvents {
  /** Resolves when all tasks are found by their context, or that is not possible now. */
  fillContexts(): Promise<void>
  stop(): void
}

/** What upkeep works with. */
interface UpkeepOptions {
  readonly clock: Clock
  limits(): TrimRequest
  /** The file takes writes again. */
  recovered(): void
}

/** Writes after which finished tasks are counted again. */
const trimEvery = 500
const trimEveryMs = 60_000
const probeEveryMs = 1_000

/** Upkeep of an open store; it ends with `stop`. */
export function createUpkeep(thread: Thread, { clock, limits, recovered }: UpkeepOptions): Upkeep {
  let writes = 0
  let stopped = false
  let trimming = false
  let filling: Promise<void> | undefined
  let cancelProbe: (() => void) | undefined
  let cancelTrim: (() => void) | undefined

  /** Asks for step after step; commits that arrive meanwhile come in between. */
  async function repeat(step: () => ReturnType<Thread['ask']>): Promise<boolean> {
    while (!stopped) {
      const answer = await step()
      if ('fault' in answer) return false
      if (answer.ok !== true) return true
    }
    return false
  }

  async function trim(): Promise<void> {
    if (trimming || stopped || isUnlimited(limits())) return
    trimming = true
    cancelTrim?.()
    await repeat(() => thread.ask({ type: 'trim', ...limits() }))
    trimming = false
    if (!stopped) cancelTrim = clock.after(trimEveryMs, () => void trim())
  }

  /** What fails, on a full disk, is tried again by the next who asks. */
  async function fill(): Promise<void> {
    const done = await repeat(() => thread.ask({ type: 'fillContexts' }))
    if (!done) filling = undefined
  }

  async function probe(): Promise<void> {
    cancelProbe = undefined
    const answer = await thread.ask({ type: 'probe' })
    if (stopped) return
    if ('ok' in answer) recovered()
    else watch()
  }

  function watch(): void {
    cancelProbe ??= clock.after(probeEveryMs, () => void probe())
  }

  void trim()
  return {
    committed(count) {
      writes += count
      if (writes < trimEvery) return
      writes = 0
      void trim()
    },
    failed() {
      watch()
      // A file at its bound may have finished tasks to drop.
      void trim()
    },
    fillContexts: () => (filling ??= fill()),
    stop() {
      stopped = true
      cancelProbe?.()
      cancelTrim?.()
    },
  }
}

function isUnlimited({ maxTasks, floor, waitingFloor, maxPages }: TrimRequest): boolean {
  return [maxTasks, floor, waitingFloor, maxPages].every((limit) => limit === undefined)
}
