import type { JsonObject } from '../../protocol/types.ts'

/** Who asks for a tool: the agent under test, or the simulated user with tools of their own. */
export type Requestor = 'assistant' | 'user'

/** A call of a tool. Tools run in the evaluator, never in the agent. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: JsonObject
  readonly requestor: Requestor
  /** Why the call cannot be executed as it was written, found while parsing it. */
  readonly fault?: string
}

/** What the agent or the user said: text or tool calls, in the field names of tau2's results. */
export interface SpokenMessage {
  readonly role: Requestor
  readonly content: string | null
  readonly tool_calls: readonly ToolCall[] | null
  readonly turn_idx?: number
  readonly timestamp?: string
}

/** What a tool gave back to the one that called it. */
export interface ToolMessage {
  readonly id: string
  readonly role: 'tool'
  /** The tool's name; recordings of tau2 lack it. */
  readonly name?: string
  readonly content: string
  readonly requestor: Requestor
  readonly error: boolean
  /** The call was not executed: no such tool, or arguments that break its schema. */
  readonly refused?: true
  readonly turn_idx?: number
  readonly timestamp?: string
}

/** One entry of a conversation, in tau2's format. */
export type ConversationMessage = SpokenMessage | ToolMessage

/** A message without its place in the trajectory. */
export function spoken(
  role: Requestor,
  content: string | null,
  calls: readonly ToolCall[] = [],
): SpokenMessage {
  return { role, content, tool_calls: calls.length > 0 ? calls : null }
}

/** Whether a message asks for tools rather than speaks. */
export function isToolCall(message: SpokenMessage): boolean {
  return (message.tool_calls?.length ?? 0) > 0
}

/** What an agent gets to see next: the user's words or the results of its tool calls. */
export type AgentInput = SpokenMessage | readonly ToolMessage[]

/** Whether the input is the results of tool calls rather than words. */
export function isResults(input: AgentInput): input is readonly ToolMessage[] {
  return Array.isArray(input)
}

/** What the agent may see of a conversation: its own messages, the user's words, the results of its own calls. */
export function agentView(history: readonly ConversationMessage[]): ConversationMessage[] {
  return history.filter((message) => {
    if (message.role === 'tool') return message.requestor === 'assistant'
    return message.role === 'assistant' || !isToolCall(message)
  })
}
