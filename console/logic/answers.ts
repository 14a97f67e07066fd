import type { ListedTask } from '../../src/console/api.ts'
import type { JsonObject, Part } from '../../src/protocol/types.ts'
import { toUserMessage } from './conversation.ts'
import { servedAgent } from './peer.ts'

/** Answers what a task asks; resolves when the answer is taken, not when the task is done. */
export async function answerTask(
  { id, agent, contextId }: ListedTask,
  parts: readonly Part[],
): Promise<void> {
  const { messageId, role } = toUserMessage(parts, contextId)
  const message: JsonObject = {
    messageId,
    role,
    contextId,
    taskId: id,
    parts: parts.map((part) => ({ ...part })),
  }
  const configuration = { returnImmediately: true }
  await servedAgent(agent).call('SendMessage', { message, configuration })
}

/** Cancels a task of the caller's own. */
export async function stopTask({ id, agent }: Pick<ListedTask, 'id' | 'agent'>): Promise<void> {
  await servedAgent(agent).call('CancelTask', { id })
}

/** Cancels many, a few at a time; gives back those that would not be. */
export async function cancelTasks(tasks: readonly ListedTask[]): Promise<readonly ListedTask[]> {
  const left = [...tasks]
  const failed: ListedTask[] = []
  const worker = async (): Promise<void> => {
    for (let task = left.shift(); task; task = left.shift())
      await stopTask(task).catch(() => void (task && failed.push(task)))
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  return failed
}
