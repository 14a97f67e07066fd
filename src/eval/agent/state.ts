import type { AgentCard } from '../../protocol/types.ts'
import type { ConversationMessage } from '../domain/conversation.ts'

/** What is remembered of one simulation. Each trial of each task has its own. */
export interface A2AAgentState {
  /** The conversation; undefined until the agent's first answer names it. */
  readonly contextId: string | undefined
  /** The A2A task that the next message continues; undefined once it is terminal. */
  readonly taskId: string | undefined
  /** What earlier answers already brought of that task's artifacts. */
  readonly artifactsRead: ArtifactsRead
  /** What was said so far. */
  readonly conversationHistory: readonly ConversationMessage[]
  /** The card as discovered at the start of the evaluation. */
  readonly agentCard: AgentCard | undefined
  /** Messages sent in this task. */
  readonly requestCount: number
}

/** How much of each artifact earlier answers of a task already brought. */
export interface ArtifactsRead {
  readonly [artifactId: string]: { readonly text: string; readonly others: number }
}

/** Makes the state of a simulation that has not begun. */
export function initialState(
  history: readonly ConversationMessage[] = [],
  agentCard?: AgentCard,
): A2AAgentState {
  return {
    contextId: undefined,
    taskId: undefined,
    artifactsRead: {},
    conversationHistory: history,
    agentCard,
    requestCount: 0,
  }
}
