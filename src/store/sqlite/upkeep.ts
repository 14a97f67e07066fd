import type { Clock } from '../../shared/clock.ts'
import type { GroupEvents } from './group.ts'
import type { Thread } from './thread.ts'
import type { TrimRequest } from './trim.ts'

/** What is done beside the commits: retention, and finding out when a file that failed takes writes again. */
export interface Upkeep extends GroupEvents {
  stop(): void
}

/** What upkeep works with. */
export interface UpkeepOptions {
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
  let cancelProbe: (() => void) | undefined
  let cancelTrim: (() => void) | undefined

  async function trim(): Promise<void> {
    if (trimming || stopped || isUnlimited(limits())) return
    trimming = true
    cancelTrim?.()
    let more = true
    while (more && !stopped) {
      const answer = await thread.ask({ type: 'trim', ...limits() })
      more = 'ok' in answer && answer.ok === true
    }
    trimming = false
    if (!stopped) cancelTrim = clock.after(trimEveryMs, () => void trim())
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
    failed: watch,
    stop() {
      stopped = true
      cancelProbe?.()
      cancelTrim?.()
    },
  }
}

function isUnlimited({ maxTasks, floor }: TrimRequest): boolean {
  return maxTasks === undefined && floor === undefined
}
