import type { Clock } from '../shared/clock.ts'
import type { Run } from './run.ts'

/** Resolves when no turn runs any more, or at the deadline. */
export async function drain(
  runs: ReadonlyMap<string, Run>,
  deadlineMs: number,
  clock: Clock,
): Promise<void> {
  if (deadlineMs <= 0 || runs.size === 0) return
  await new Promise<void>((resolve) => {
    const callOff = clock.after(deadlineMs, resolve)
    void allQuiet(runs).then(() => {
      callOff()
      resolve()
    })
  })
}

/** Messages in mailboxes begin further turns, so one round of waiting is not enough. */
async function allQuiet(runs: ReadonlyMap<string, Run>): Promise<void> {
  for (;;) {
    const waiting = [...runs.values()].flatMap((run) => run.latest ?? [])
    if (waiting.length === 0) return
    await Promise.allSettled(waiting.map((letter) => letter.outcome.wait()))
    // A settled answer is followed by the run's own leave-taking, a few microtasks later.
    await new Promise<void>((resolve) => setTimeout(resolve, 0))
  }
}
