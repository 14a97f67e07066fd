import type { Clock } from '../../shared/clock.ts'
import type { Commits } from './commits.ts'
import type { TrimStep } from './retention.ts'

/** What is done beside the commits: retention, and finding out when a database that failed takes writes again. */
interface DatabaseUpkeep {
  begin(): void
  committed(writes: number): void
  failed(): void
  stop(): void
}

/** What upkeep works with. */
interface UpkeepOptions {
  readonly clock: Clock
  commits(): Pick<Commits, 'between' | 'recovered'>
  /** Absent where everything is kept. */
  readonly trim: TrimStep | undefined
  /** Writes something of no meaning. */
  probe(): Promise<unknown>
}

/** Writes after which finished tasks are counted again. */
const trimEvery = 500
const trimEveryMs = 60_000
const probeEveryMs = 1_000

/** Upkeep of an open store; it ends with `stop`. */
export function createDatabaseUpkeep(options: UpkeepOptions): DatabaseUpkeep {
  const { clock, commits, trim, probe } = options
  let writes = 0
  let stopped = false
  let trimming = false
  let cancelTrim: (() => void) | undefined
  let cancelProbe: (() => void) | undefined

  /** One step after the other; commits that arrive meanwhile come in between. */
  async function trimAll(step: TrimStep): Promise<void> {
    if (trimming || stopped) return
    trimming = true
    cancelTrim?.()
    try {
      while (!stopped && (await commits().between(step)));
    } catch {
      // A database that fails now is asked again later.
    }
    trimming = false
    if (!stopped) cancelTrim = clock.after(trimEveryMs, () => void trimAll(step))
  }

  async function look(): Promise<void> {
    cancelProbe = undefined
    try {
      await commits().between(probe)
      commits().recovered()
    } catch {
      if (!stopped) watch()
    }
  }

  function watch(): void {
    cancelProbe ??= clock.after(probeEveryMs, () => void look())
  }

  return {
    begin: () => trim && void trimAll(trim),
    committed(count) {
      writes += count
      if (trim === undefined || writes < trimEvery) return
      writes = 0
      void trimAll(trim)
    },
    failed: watch,
    stop() {
      stopped = true
      cancelProbe?.()
      cancelTrim?.()
    },
  }
}
