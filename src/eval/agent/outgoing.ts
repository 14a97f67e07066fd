import { dataPart, textPart, userMessage } from '../../protocol/build.ts'
import type { JsonObject, Message, Part } from '../../protocol/types.ts'
import { ValidationError } from '../base/errors.ts'
import { isJsonObject } from '../base/json.ts'
import {
  type AgentInput,
  agentView,
  type ConversationMessage,
  isResults,
  isToolCall,
  type ToolMessage,
} from '../domain/conversation.ts'
import type { ToolDescriptor } from '../domain/environment.ts'
import type { A2AAgentState } from './state.ts'

/** What the first message of a task brings beside the user's words. */
export interface Introduction {
  /** The rules that the agent is judged by. */
  readonly policy: string
  /** The tools that it may call. */
  readonly tools: readonly ToolDescriptor[]
}

/** A message of the protocol; its `role` is ROLE_USER or ROLE_AGENT. */
export type A2AMessage = Message

/**
 * Makes the message that tells the agent what is new. As long as the agent has named no context it cannot remember
 * anything, so the message then has everything: policy, tools as text and with their schemas, and the conversation so
 * far.
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

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * Checks a message that is about to be sent to the agent.
 *
 * @throws ValidationError naming the first rule broken.
 */
export function checkOutgoing(message: A2AMessage): A2AMessage {
  if (!uuid.test(message.messageId)) throw new ValidationError('message_id must be a UUID')
  if (message.role !== 'ROLE_USER' && message.role !== 'ROLE_AGENT')
    throw new ValidationError('role must be "user" or "agent"')
  if (message.parts.length === 0) throw new ValidationError('parts must hold at least one part')
  if (message.contextId === '') throw new ValidationError('context_id must be a non-empty string')
  message.parts.forEach(checkPart)
  return message
}

const howTo =
  'To use a tool, respond with JSON: {"tool_call": {"name": "tool_name", "arguments": {"param1": "value"}}}'

/** Makes the text that tells an agent of its tools and how to call them; empty without tools. */
export function formatTools(tools: readonly ToolDescriptor[]): string {
  if (tools.length === 0) return ''
  return `<available_tools>\n${tools.map(formatToolAsText).join('\n')}\n</available_tools>\n\n${howTo}`
}

/** Describes a tool as text: signature, description, and its parameters where it has any. */
export function formatToolAsText(tool: ToolDescriptor): string {
  const parameters = parametersOf(tool.parameters)
  const signature = parameters.map(({ name, type }) => `${name}: ${type}`).join(', ')
  const lines = [`- ${tool.name}(${signature})`, `  Description: ${tool.description}`]
  if (parameters.length > 0) lines.push('  Parameters:', ...parameters.map(formatParameter))
  return lines.join('\n')
}

/** A tool's result in words that name the call it answers. */
function formatToolResult({ id, content, error }: ToolMessage): string {
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

function checkPart(part: Part, index: number): void {
  const contents = ['text', 'data', 'raw', 'url'].filter((member) => member in part)
  if (contents.length !== 1)
    throw new ValidationError(`parts[${index}] must hold exactly one of text, data, file`)
  if ('text' in part && part.text === '')
    throw new ValidationError(`parts[${index}].text must not be empty`)
  if ('data' in part && !isJsonObject(part.data))
    throw new ValidationError(`parts[${index}].data must be a JSON object`)
}

interface Parameter {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

function formatParameter({ name, type, required, description }: Parameter): string {
  const head = `    - ${name} (${type}, ${required ? 'required' : 'optional'})`
  return description === '' ? head : `${head}: ${description}`
}

function parametersOf(schema: JsonObject): Parameter[] {
  const { properties, required } = schema
  if (!isJsonObject(properties)) return []
  const needed = Array.isArray(required) ? required : []
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: isJsonObject(property) && typeof property.type === 'string' ? property.type : 'any',
    required: needed.includes(name),
    description:
      isJsonObject(property) && typeof property.description === 'string'
        ? property.description
        : '',
  }))
}
