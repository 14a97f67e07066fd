import { textOf } from '../protocol/task.ts'
import type { Task } from '../protocol/types.ts'
import type { StoredTask } from '../store/store.ts'
import type { ListedTask } from './api.ts'
import type { ReadFacts } from './facts.ts'
import type { Viewer } from './viewer.ts'

/** So many characters of a task's first message are shown. */
const maxWords = 140

/** A task as lists show it. */
export async function toListedTask(
  stored: StoredTask,
  viewer: Viewer,
  readFacts: ReadFacts,
): Promise<ListedTask> {
  const { head, task } = stored
  const { tokens, costUsd } = await readFacts(stored)
  const { id, contextId, state, timestamp, scope } = head
  return {
    id,
    contextId,
    agent: scope.agent,
    state,
    at: timestamp,
    words: wordsOf(task),
    mine: viewer.owns(head),
    ...(tokens !== undefined && { tokens }),
    ...(costUsd !== undefined && { costUsd }),
    ...(viewer.isOperator && { owner: scope.owner }),
  }
}

/** The first words of the user's first message, in one line. */
export function wordsOf({ history = [] }: Task): string {
  const first = history.find(({ role }) => role === 'ROLE_USER')
  // Long before the line is made: a message may have megabytes.
  const text = textOf(first?.parts ?? []).slice(0, maxWords * 4)
  const line = text.split(/\s+/).filter(Boolean).join(' ')
  return line.length > maxWords ? `${line.slice(0, maxWords - 1)}…` : line
}
