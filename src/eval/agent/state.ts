import type { AgentCard } from '../../protocol/types.ts'
import type { ConversationMessage } from '../domain/conversation.ts'

/**
 * What the harness remembers of one simulation. Each (task, trial) has its own: nothing is shared between simulations
 * that run at the same time, and a context id belongs to one of them.
 */
export interface A2AAgentState {
  /** Undefined until the agent's first answer names it; the server makes it, we keep it. */
  readonly contextId: string | undefined
  /** The A2A task that the next message continues; undefined once it is terminal. */
  readonly taskId: string | undefined
  /** What earlier answers already brought of that task's artifacts. */
  readonly artifactsRead: ArtifactsRead
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

/** The state of a task that has not begun. */
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
