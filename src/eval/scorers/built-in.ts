import { ValidationError } from '../base/errors.ts'
import { basisOf, type EvalTask, type RewardType } from '../domain/task.ts'
import { actionsScorer } from './actions.ts'
import { assertionsScorer } from './assertions.ts'
import { communicateScorer } from './communicate.ts'
import { statementsScorer } from './judge.ts'
import type { BuiltInScorer, RewardInfo, ScoreCheck, Scorer } from './scorer.ts'
import { stateScorer } from './state.ts'

/** The scorers that tasks name in `reward_basis`. They run in this order: an assertion may change the world. */
export const builtInScorers: Readonly<Record<RewardType, BuiltInScorer>> = {
  DB: stateScorer,
  ENV_ASSERTION: assertionsScorer,
  ACTION: actionsScorer,
  COMMUNICATE: communicateScorer,
  NL_ASSERTION: statementsScorer,
}

/** What a reward is made of, in words: every check of every scorer. */
export function reasonsOf(info: RewardInfo): readonly ScoreCheck[] {
  const builtIn = Object.values(builtInScorers).flatMap((scorer) => scorer.reasons(info) ?? [])
  return [...builtIn, ...Object.values(info.own_scores ?? {}).flatMap(({ checks }) => checks)]
}

/** Whether a task is scored by the final state of its world. */
export function needsState(task: EvalTask): boolean {
  if (!task.evaluation_criteria) return false
  return basisOf(task).some((name) => builtInScorers[name].needs?.(task).includes('state'))
}

/**
 * Checks the scorers that a run brings.
 *
 * @throws ValidationError for a name that is empty, a built-in scorer's, or given twice.
 */
export function checkScorers(scorers: readonly Scorer[]): void {
  const names = new Set<string>(Object.keys(builtInScorers))
  for (const { name } of scorers) {
    if (name === '') throw new ValidationError('A scorer needs a name')
    if (names.has(name)) throw new ValidationError(`There is another scorer of the name ${name}`)
    names.add(name)
  }
}
