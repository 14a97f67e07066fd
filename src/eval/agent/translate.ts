import { dataPart, textPart, userMessage } from '../../protocol/build.ts'
import { isTerminal } from '../../protocol/task.ts'
import type { Message, Part, Task } from '../../protocol/types.ts'
import {
  type AgentInput,
  agentView,
  type ConversationMessage,
  isToolCall,
  type ToolMessage,
} from '../domain/conversation.ts'
import { freshParts, readArtifacts } from './answer.ts'
import { type A2AMessage, checkOutgoing } from './message.ts'
import { formatTools, type ToolDescriptor } from './outgoing.ts'
import { type ParsedReply, parseReply, type ReplyOptions } from './reply.ts'
import type { A2AAgentState } from './state.ts'

/** What the first message of a task brings beside the user's words. */
export interface Introduction {
  readonly policy: string
  readonly tools: readonly ToolDescriptor[]
}

/**
 * The message that tells the agent what is new (the seed's `tau2_to_a2a`). As long as the agent has named no context
 * it cannot remember anything, so the message then opens with everything: policy, tools as text and with their full
 * schemas, and the conversation so far.
 */
export function toA2A(input: AgentInput, state: A2AAgentState, intro: Introduction): A2AMessage {
  const opening = state.contextId === undefined
  const parts = [...(opening ? introduce(state, intro) : []), ...inputParts(input)]
  return checkOutgoing(
    userMessage(parts, {
      ...(state.contextId !== undefined && { contextId: state.contextId }),
      ...(state.taskId !== undefined && { taskId: state.taskId }),
    }),
  )
}

/**
 * What an agent's answer means (the seed's `a2a_to_tau2`): its parts read down the ladder of `parseReply`. Of a task
 * that is continued only what is new counts.
 */
export function fromA2A(
  answer: Task | Message,
  state: Pick<A2AAgentState, 'taskId' | 'artifactsRead'>,
  options?: ReplyOptions,
): ParsedReply {
  return parseReply(answerParts(answer, state), options)
}

/** The parts of an answer that are new since the state before it. */
export function answerParts(
  answer: Task | Message,
  state: Pick<A2AAgentState, 'taskId' | 'artifactsRead'>,
): readonly Part[] {
  if (!('status' in answer)) return answer.parts
  return freshParts(answer, answer.id === state.taskId ? state.artifactsRead : {})
}

/** What the next message needs to know: the context stays, a task is continued only while it is not over. */
export function nextIds(
  answer: Task | Message,
): Pick<A2AAgentState, 'contextId' | 'taskId' | 'artifactsRead'> {
  const contextId = answer.contextId || undefined
  if (!('status' in answer) || isTerminal(answer.status.state))
    return { contextId, taskId: undefined, artifactsRead: {} }
  return { contextId, taskId: answer.id, artifactsRead: readArtifacts(answer) }
}

/** A tool's result in words the agent can tie to its call (T-6). */
export function formatToolResult({ id, content, error }: ToolMessage): string {
  return `Tool result (id=${id}): ${error ? `ERROR: ${content}` : content}`
}

function introduce(state: A2AAgentState, { policy, tools }: Introduction): Part[] {
  const said = agentView(state.conversationHistory)
  return [
    ...(policy ? [textPart(`<system>\n${policy.trim()}\n</system>`)] : []),
    ...(tools.length > 0
      ? [textPart(formatTools(tools)), dataPart({ tools: schemasOf(tools) })]
      : []),
    ...(said.length > 0 ? [textPart(formatConversation(said))] : []),
  ]
}

function schemasOf(tools: readonly ToolDescriptor[]) {
  return tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
}

function formatConversation(said: readonly ConversationMessage[]): string {
  return `<conversation>\n${said.map(formatLine).join('\n')}\n</conversation>`
}

function formatLine(message: ConversationMessage): string {
  if (message.role === 'tool') return formatToolResult(message)
  if (!isToolCall(message)) return `${message.role}: ${message.content ?? ''}`
  const calls = (message.tool_calls ?? []).map(({ id, name, arguments: args }) => ({
    tool_call: { id, name, arguments: args },
  }))
  return `${message.role}: ${JSON.stringify({ tool_calls: calls })}`
}

function inputParts(input: AgentInput): Part[] {
  if (!isResults(input)) return [textPart(input.content ?? '')]
  const results = input.map(({ id, name, content, error }) => ({
    id,
    ...(name !== undefined && { name }),
    content,
    error,
  }))
  return [
    ...input.map((result) => textPart(formatToolResult(result))),
    dataPart({ tool_results: results }),
  ]
}

function isResults(input: AgentInput): input is readonly ToolMessage[] {
  return Array.isArray(input)
}
