import { spoken } from '../domain/conversation.ts'
import type { Domain } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'
import type { TaskBaseline } from '../results/results.ts'
import { scoreConversation } from '../scorers/reward.ts'
import { greeting } from './converse.ts'

/**
 * What an agent gets that does nothing while the user ends the call in good order: the floor beside every score.
 * Computed from the tasks alone; nobody is called, and no judge is asked. Null where a task's world does not open.
 */
export async function doNothingBaseline(
  domain: Domain,
  tasks: readonly EvalTask[],
): Promise<readonly TaskBaseline[]> {
  const rewards: TaskBaseline[] = []
  for (const task of tasks)
    rewards.push({ task_id: task.id, reward: await idleReward(domain, task).catch(() => null) })
  return rewards
}

async function idleReward(domain: Domain, task: EvalTask): Promise<number | null> {
  const history = task.initial_state?.message_history ?? []
  const messages = [...history, spoken('assistant', greeting), spoken('user', '###STOP###')]
  const signal = new AbortController().signal
  const termination = 'user_stop'
  return (await scoreConversation({ domain, task, messages, termination, signal })).reward
}
