import { traceOnce } from '../../run.ts'
import { runList } from './list.ts'
import type { PlannedStep, StepAnswer, StepPlace } from './place.ts'
import type { ReadyRule } from './rules.ts'

/** One way of a branch. */
interface PlannedCase {
  /** Absent where it runs otherwise. */
  readonly when: ReadyRule<boolean> | undefined
  readonly steps: readonly PlannedStep[]
}

/** The first case whose `when` holds runs its steps. */
export async function runBranch(cases: readonly PlannedCase[], place: StepPlace): StepAnswer {
  const { run, name: step } = place
  const team = run.config.id
  for (const [index, { when, steps }] of cases.entries()) {
    if (when && !(await when(place))) continue
    traceOnce(run, `${step}?branch`, { type: 'branch', team, step, case: index + 1 })
    return runList(steps, { ...place, name: `${step}.${index + 1}.` })
  }
  traceOnce(run, `${step}?branch`, { type: 'skip', team, step })
  return undefined
}
