import type { Clock } from '../shared/clock.ts'
import type { Run } from './run.ts'

/** Resolves when no turn runs any more, or at the deadline. */
export async function drain(
  active: () => readonly Run[],
  deadlineMs: number,
  clock: Clock,
): Promise<void> {
  if (deadlineMs <= 0) return
  await new Promise<void>((resolve) => {
    const callOff = clock.after(deadlineMs, resolve)
    void allQuiet(active).then(() => {
      callOff()
      resolve()
    })
  })
}

/** Messages in mailboxes begin further turns, so one round of waiting is not enough. */
async function allQuiet(active: () => readonly Run[]): Promise<void> {
  for (;;) {
    const runs = active()
    // One that waits for leave to start gets none any more.
    const answers = runs.flatMap((run) => (run.held ? [] : (run.latest?.outcome.wait() ?? [])))
    const cancels = runs.flatMap((run) => run.telling ?? [])
    if (answers.length + cancels.length === 0) return
    await Promise.allSettled([...answers, ...cancels])
    // A settled answer is followed by the run's leave-taking, or, where it asked for credentials, by nothing for long.
    await new Promise<void>((resolve) => setTimeout(resolve, 10))
  }
}
