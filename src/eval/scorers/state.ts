import type { Domain, StateHash } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'
import { defineBuiltIn } from './define.ts'
import type { BuiltInScorer } from './scorer.ts'

/** Whether the world that the conversation left equals the one that the golden actions make, in both halves. */
export const stateScorer: BuiltInScorer = defineBuiltIn({
  name: 'DB',
  needs: () => ['state'],
  async find({ domain, task, world }) {
    const met = asksNothing(task) || sameHash(await world.hash(), await goldHash(domain, task))
    return { db_check: { db_match: met, db_reward: met ? 1 : 0 } }
  },
  reasons: ({ db_check }) =>
    db_check ? [{ what: 'final state is the golden one', met: db_check.db_match }] : undefined,
})

/** tau2's rule: a task that names neither actions nor assertions leaves the world to the agent. */
function asksNothing({ evaluation_criteria: criteria }: EvalTask): boolean {
  return !criteria?.actions && !criteria?.env_assertions
}

/** The world after the golden actions; one that fails has no effect, as in tau2's evaluator. */
async function goldHash(domain: Domain, task: EvalTask): Promise<StateHash> {
  const gold = await domain.open(task)
  try {
    for (const action of task.evaluation_criteria?.actions ?? []) await gold.apply(action)
    return await gold.hash()
  } finally {
    await gold.close()
  }
}

function sameHash(a: StateHash, b: StateHash): boolean {
  return a.agent === b.agent && a.user === b.user
}
