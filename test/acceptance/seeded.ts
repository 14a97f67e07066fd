import type { Task, TaskState } from '../../src/protocol/types.ts'
import { toTaskStore } from '../../src/store/task-store.ts'
import { scripted, serve } from './serve.ts'

/** The UUID of 004's examples. */
export const exampleId = '123e4567-e89b-12d3-a456-426614174000'

/** A task in a state, since a moment, with an answer if it has one. */
export function taskIn(
  state: TaskState,
  { timestamp, answer, id = exampleId }: { timestamp: string; answer?: string; id?: string },
): Task {
  const artifact = { artifactId: 'a', name: 'response', parts: [{ text: answer ?? '' }] }
  return {
    id,
    contextId: 'context',
    status: { state, timestamp },
    ...(answer !== undefined && { artifacts: [artifact] }),
  }
}

/** A server whose store has these tasks already; gives its URL. */
export async function serveTasks(...tasks: readonly Task[]): Promise<string> {
  const { url, server } = await serve(scripted('ok'))
  const tasksOfAll = toTaskStore(server.store, { agent: 'scripted', tenant: '', owner: '' })
  for (const task of tasks) await tasksOfAll.create(task)
  return url
}
