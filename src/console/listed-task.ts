import type { StoredTask } from '../store/store.ts'
import type { ListedTask } from './api.ts'
import type { TaskReader } from './task-reader.ts'
import type { Viewer } from './viewer.ts'

/** A task as lists show it to somebody. */
export async function toListedTask(
  stored: StoredTask,
  viewer: Viewer,
  reader: TaskReader,
): Promise<ListedTask> {
  const { head } = stored
  const { tokens, costUsd } = await reader.facts(stored)
  const { id, contextId, state, timestamp, scope } = head
  return {
    id,
    contextId,
    agent: scope.agent,
    state,
    at: timestamp,
    words: await reader.words(stored),
    mine: viewer.owns(head),
    ...(tokens !== undefined && { tokens }),
    ...(costUsd !== undefined && { costUsd }),
    ...(viewer.isOperator && { owner: scope.owner }),
  }
}
