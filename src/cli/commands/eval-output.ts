import { outcomeOf, type Progress, percent } from '../../eval/index.ts'
import type { Logger } from '../../shared/log.ts'
import { toPrintableLine } from '../../shared/text.ts'
import type { Screen } from '../screen.ts'

/** Shows how far a run is. */
interface ProgressDisplay {
  readonly show: (progress: Progress) => void
  end(words: string): void
}

/** A line per simulation, or, on a terminal, one bar that moves. */
export function createProgress(screen: Screen): ProgressDisplay {
  const live = screen.isTTY
  return {
    show(progress) {
      const line = toPrintableLine(describe(progress))
      if (live) screen.rewrite(`${bar(progress)} ${line}`)
      else screen.write(`${line}\n`)
    },
    end: (words) => screen.write(live ? `\n${words}\n` : `${words}\n`),
  }
}

function describe({ done, total, successes, scored, cost, eta, simulation }: Progress): string {
  const score = percent(scored > 0 ? successes / scored : null)
  const money = cost === null ? '' : `, $${cost.toFixed(4)}`
  const left = eta === null ? '' : `, ${eta} s left`
  return `${done}/${total} ${simulation.task_id}: ${outcomeOf(simulation)}; ${score} so far${money}${left}`
}

function bar({ done, total }: Progress): string {
  const filled = Math.round((done / Math.max(1, total)) * 20)
  return `[${'#'.repeat(filled)}${'.'.repeat(20 - filled)}]`
}

/** Warnings on stderr, and everything with `--a2a-debug`. Messages never hold credentials. */
export function createEvalLog(screen: Screen, debug: boolean): Logger {
  const write =
    (level: string) =>
    (fields: object, message: string): void =>
      screen.write(`${toPrintableLine(`${level} ${message} ${JSON.stringify(fields)}`)}\n`)
  const quiet = (): void => {}
  return {
    debug: debug ? write('debug') : quiet,
    info: debug ? write('info') : quiet,
    warn: write('warn'),
    error: write('error'),
  }
}

/** A signal that an interrupt from the keyboard or the system fires; what was finished stays on disk. */
export function interruptible(): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const stop = (): void => controller.abort(new Error('Interrupted; go on with --resume'))
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  return {
    signal: controller.signal,
    clear() {
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
    },
  }
}
