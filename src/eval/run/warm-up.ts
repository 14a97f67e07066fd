import { tokensIn } from '../agent/ask.ts'
import { toA2A } from '../agent/outgoing.ts'
import { initialState } from '../agent/state.ts'
import { spoken } from '../domain/conversation.ts'
import type { TokenCounter } from '../metrics/tokens.ts'
import type { TaskBaseline } from '../results/results.ts'
import type { Scorer } from '../scorers/scorer.ts'
import { greeting } from './converse.ts'
import type { EvaluationPlan } from './plan.ts'
import { doNothingBaseline } from './to-results.ts'

/**
 * Does once, before anything is measured, what the first simulations would pay for: opens and scores worlds, which gives
 * the baseline, and counts the tokens of what opens every conversation. The agent hears nothing of it.
 */
export async function warmUp(
  { domain, tasks }: EvaluationPlan,
  counter: TokenCounter,
  scorers: readonly Scorer[] | undefined,
): Promise<readonly TaskBaseline[]> {
  const baseline = await doNothingBaseline(domain, tasks, scorers)
  const [first] = tasks
  // A world that does not open is told of by the simulations that need it.
  const world = first && (await domain.open(first).catch(() => undefined))
  if (world) {
    const introduction = { policy: domain.policy, tools: world.tools }
    tokensIn(toA2A(spoken('user', greeting), initialState(), introduction).parts, counter)
    await world.close()
  }
  return baseline
}
