import type { Domain, Environment, StateHash } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'

/** Whether the world that the conversation left equals the one that the golden actions make, in both halves. */
export async function checkState(
  domain: Domain,
  task: EvalTask,
  predicted: Environment,
): Promise<{ readonly db_match: boolean; readonly db_reward: number }> {
  const met = sameHash(await predicted.hash(), await goldHash(domain, task))
  return { db_match: met, db_reward: met ? 1 : 0 }
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
