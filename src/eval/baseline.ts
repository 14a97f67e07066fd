import { spoken } from './conversation.ts'
import type { Domain } from './environment.ts'
import { greeting } from './orchestrator.ts'
import type { TaskBaseline } from './results.ts'
import { scoreConversation } from './scorers/reward.ts'
import type { EvalTask } from './task.ts'

/**
 * What an agent gets that does nothing while the user ends the call in good order: the floor beside every score.
 * Computed from the tasks alone; nobody is called, and no judge is asked.
 */
export async function doNothingBaseline(
  domain: Domain,
  tasks: readonly EvalTask[],
): Promise<readonly TaskBaseline[]> {
  const messages = [spoken('assistant', greeting), spoken('user', '###STOP###')]
  const signal = new AbortController().signal
  const rewards: TaskBaseline[] = []
  for (const task of tasks) {
    const history = task.initial_state?.message_history ?? []
    const said = [...history, ...messages]
    const scored = await scoreConversation({
      domain,
      task,
      messages: said,
      termination: 'user_stop',
      signal,
    })
    rewards.push({ task_id: task.id, reward: scored.reward })
  }
  return rewards
}
