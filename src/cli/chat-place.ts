import { isInterrupted, type Task } from '../index.ts'
import type { Screen } from './screen.ts'
import type { Tracing } from './tracing.ts'

/** Between whom a chat is, and where it goes. */
export interface ChatOptions {
  readonly url: string
  /** The agent's name. */
  readonly name: string
  readonly output: Screen
  readonly about: Screen
  readonly json: boolean
  /** What shows what happens inside its tasks. */
  readonly tracing: Tracing
  /** The conversation to go on with; a new one if absent. */
  readonly contextId?: string
}

/** Where a conversation stands: what the next line belongs to. */
export interface Place {
  readonly contextId?: string
  /** The latest task. */
  readonly task?: Task
}

/** Whether the latest task waits for an answer. */
export function asks({ task }: Place): boolean {
  return task !== undefined && isInterrupted(task.status.state)
}
