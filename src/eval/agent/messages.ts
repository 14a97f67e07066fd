import { takesPart } from '../../protocol/card.ts'
import {
  answerParts,
  dataPart,
  isTerminal,
  textOf,
  textPart,
  userMessage,
} from '../../protocol/task.ts'
import type { Artifact, DataPart, JsonObject, Message, Part, Task } from '../../protocol/types.ts'
import { newId } from '../../shared/ids.ts'
import { type EmbeddedJson, findJson } from '../../shared/json.ts'
import { isJsonObject, tryParseSaid, ValidationError } from '../base.ts'
import {
  type AgentInput,
  agentView,
  type ConversationMessage,
  isResults,
  isToolCall,
  type ToolCall,
  type ToolDescriptor,
  type ToolMessage,
} from '../domain/domain.ts'
import type { A2AAgentState, ArtifactsRead } from '../results/simulation.ts'

/** What the first message of a task brings beside the user's words. */
export interface Introduction {
  /** The rules that the agent is judged by. */
  readonly policy: string
  /** The tools that it may call. */
  readonly tools: readonly ToolDescriptor[]
}

/** A message of the protocol; its `role` is ROLE_USER or ROLE_AGENT. */
export type A2AMessage = Message

/** What was read of an agent's task so far. */
export type TaskRead = Pick<A2AAgentState, 'taskId' | 'artifactsRead'>

/** What an agent's answer means: words, tool calls, or both where it breaks the rule of one at a time. */
export interface ParsedReply {
  readonly content: string | null
  readonly calls: readonly ToolCall[]
}

/** How leniently to read an answer. */
export interface ReplyOptions {
  /** Only `{"tool_call": …}`, in a data part or as a text that is nothing but its JSON. */
  readonly strict?: boolean
}

/** A request for a tool, as an agent wrote it; not yet checked against the tools there are. */
export interface ToolCallRequest {
  readonly id?: string
  readonly name: string
  readonly arguments: JsonObject
  /** What is wrong with the request itself. */
  readonly fault?: string
}

/**
 * Makes the message that tells the agent what is new. As long as the agent has named no context it cannot remember
 * anything, so the message then has everything: policy, tools, and the conversation so far. Everything is there as text;
 * schemas of tools and their results come as data too where the agent's card takes `application/json`.
 */
export function toA2A(input: AgentInput, state: A2AAgentState, intro: Introduction): A2AMessage {
  const opening = state.contextId === undefined
  const parts = [...(opening ? introduce(state, intro) : []), ...inputParts(input)]
  const taken = takesData(state) ? parts : parts.filter((part) => 'text' in part)
  return checkOutgoing(userMessage(taken, messageIds(state)))
}

function takesData({ agentCard }: A2AAgentState): boolean {
  return agentCard !== undefined && takesPart(agentCard.defaultInputModes, { data: null })
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

interface Parameter {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

function parametersOf(schema: JsonObject): Parameter[] {
  const { properties, required } = schema
  if (!isJsonObject(properties)) return []
  const needed = Array.isArray(required) ? required : []
  return Object.entries(properties).map(([name, property]) => {
    const { type, description } = isJsonObject(property) ? property : {}
    return {
      name,
      type: typeof type === 'string' ? type : 'any',
      required: needed.includes(name),
      description: typeof description === 'string' ? description : '',
    }
  })
}

function formatParameter({ name, type, required, description }: Parameter): string {
  const head = `    - ${name} (${type}, ${required ? 'required' : 'optional'})`
  return description === '' ? head : `${head}: ${description}`
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

/** A tool's result in words that name the call it answers. */
function formatToolResult({ id, content, error }: ToolMessage): string {
  return `Tool result (id=${id}): ${error ? `ERROR: ${content}` : content}`
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

function checkPart(part: Part, index: number): void {
  const contents = ['text', 'data', 'raw', 'url'].filter((member) => member in part)
  if (contents.length !== 1)
    throw new ValidationError(`parts[${index}] must hold exactly one of text, data, file`)
  if ('text' in part && part.text === '')
    throw new ValidationError(`parts[${index}].text must not be empty`)
  if ('data' in part && !isJsonObject(part.data))
    throw new ValidationError(`parts[${index}].data must be a JSON object`)
}

/**
 * Tells what an agent's answer means, as `parseReply` reads it. Of a task that is continued only what is new counts.
 */
export function fromA2A(
  answer: Task | Message,
  state: TaskRead,
  options?: ReplyOptions,
): ParsedReply {
  return parseReply(newParts(answer, state), options)
}

/**
 * Reads an agent's answer: data parts first, then text that is JSON, then JSON in fences, tags or prose, then plain
 * text. An answer that says nothing comes back with neither words nor calls.
 */
export function parseReply(parts: readonly Part[], options: ReplyOptions = {}): ParsedReply {
  const read = options.strict ? readPlainUtterances : readUtterances
  const data = parts.filter((part): part is DataPart => 'data' in part)
  const said = [
    ...data.map((part) => read(part.data) ?? []),
    ...parts.flatMap((part) =>
      'text' in part ? readText(part.text, read, options.strict ?? false) : [],
    ),
  ]
  const spoken = withoutRepetition(said)
  if (spoken.length === 0) spoken.push(...data.map((part) => ({ text: JSON.stringify(part.data) })))
  return gather(spoken)
}

/** What a JSON value says: words for the user, or a request for a tool. */
type Utterance = { readonly text: string } | { readonly call: ToolCallRequest }

/** Reads a JSON value in the plain dialect alone; what strict mode accepts. */
function readPlainUtterances(value: unknown): readonly Utterance[] | undefined {
  if (!isJsonObject(value)) return undefined
  const list = Array.isArray(value.tool_calls) ? value.tool_calls : [value]
  const read = list.map((item) => (isJsonObject(item) ? readPlain(item) : undefined))
  return read.length > 0 && read.every((item) => item !== undefined) ? read : undefined
}

function readPlain(value: JsonObject): Utterance | undefined {
  if (!isJsonObject(value.tool_call)) return undefined
  return { call: toRequest(value.tool_call, value.tool_call.id ?? value.id) }
}

function toRequest(inner: JsonObject, id: unknown): ToolCallRequest {
  const given = inner.arguments ?? {}
  const args = typeof given === 'string' ? tryParseSaid(given === '' ? '{}' : given) : given
  const named = typeof inner.name === 'string' && inner.name !== ''
  const fault = !named
    ? 'tool_call.name must be a non-empty string'
    : isJsonObject(args)
      ? undefined
      : 'tool_call.arguments must be a JSON object'
  return {
    ...(typeof id === 'string' && id !== '' && { id }),
    name: named ? String(inner.name) : '',
    arguments: isJsonObject(args) ? args : {},
    ...(fault && { fault }),
  }
}

/**
 * Reads a JSON value as tool calls, in any of three dialects; undefined if it is none of them.
 *
 * - plain: `{"tool_call": {"name", "arguments"}}`, `{"tool_calls": [{"tool_call": {…}}, …]}`
 * - AgentBeats: `{"name", "arguments"}`, where the name `respond` speaks to the user; a list of them
 * - OpenAI: `{"tool_calls": [{"id", "type": "function", "function": {"name", "arguments": "<JSON text>"}}]}`,
 *   one of its elements alone, and the older `{"function_call": {"name", "arguments"}}`
 */
export function readUtterances(value: unknown): readonly Utterance[] | undefined {
  if (Array.isArray(value)) return readList(value)
  if (!isJsonObject(value)) return undefined
  if (Array.isArray(value.tool_calls)) return readList(value.tool_calls)
  const one = readPlain(value) ?? readOpenAi(value) ?? readAgentBeats(value)
  return one && [one]
}

function readList(list: readonly unknown[]): readonly Utterance[] | undefined {
  const read = list.map(readUtterances)
  if (read.length === 0 || read.some((item) => item === undefined)) return undefined
  return read.flatMap((item) => item ?? [])
}

function readOpenAi(value: JsonObject): Utterance | undefined {
  const inner = value.function ?? value.function_call
  return isJsonObject(inner) ? { call: toRequest(inner, value.id) } : undefined
}

function readAgentBeats(value: JsonObject): Utterance | undefined {
  if (typeof value.name !== 'string' || !('arguments' in value)) return undefined
  if (value.name !== 'respond') return { call: toRequest(value, value.id) }
  const { arguments: given } = value
  const text = isJsonObject(given) ? (given.content ?? given.message ?? given.text) : given
  return { text: typeof text === 'string' ? text : JSON.stringify(text ?? '') }
}

function readText(
  text: string,
  read: (value: unknown) => readonly Utterance[] | undefined,
  strict: boolean,
): readonly (readonly Utterance[])[] {
  const whole = read(tryParseSaid(text))
  if (whole) return [whole]
  const pieces = strict ? [] : findJson(text).filter((piece) => read(piece.value))
  const prose = withoutJson(text, pieces)
  return [...(prose ? [[{ text: prose }]] : []), ...pieces.map((piece) => read(piece.value) ?? [])]
}

/** The text without the given pieces and the fences or tags that held them. */
function withoutJson(text: string, pieces: readonly EmbeddedJson[]): string {
  let rest = ''
  let from = 0
  for (const { start, end } of pieces) {
    rest += text.slice(from, start)
    from = end
  }
  rest += text.slice(from)
  return rest
    .replace(/```[a-z]*\s*```/gi, '')
    .replace(/<(json|tool_call)>\s*<\/\1>/gi, '')
    .trim()
}

/** Agents that say a call as data and again as text mean it once; two in one list are two. */
function withoutRepetition(said: readonly (readonly Utterance[])[]): Utterance[] {
  const known = new Set<string>()
  return said.flatMap((piece) => {
    const fresh = piece.filter((item) => !('call' in item) || !known.has(keyOf(item.call)))
    for (const item of piece) if ('call' in item) known.add(keyOf(item.call))
    return fresh
  })
}

function keyOf({ name, arguments: args }: ToolCallRequest): string {
  return JSON.stringify([name, args])
}

function gather(spoken: readonly Utterance[]): ParsedReply {
  const texts = spoken.flatMap((item) => ('text' in item && item.text.trim() ? [item.text] : []))
  const calls = spoken.flatMap((item) => ('call' in item ? [item.call] : []))
  return {
    content: texts.length > 0 ? texts.join('\n') : null,
    calls: calls.map(({ id, ...call }) => ({
      id: id ?? newId(),
      ...call,
      requestor: 'assistant',
    })),
  }
}

/** The parts of an answer that are new since the state before it. */
export function newParts(answer: Task | Message, state: TaskRead): readonly Part[] {
  if (!('status' in answer)) return answer.parts
  return freshParts(answer, answer.id === state.taskId ? state.artifactsRead : {})
}

/**
 * The parts of a task that answer the last message. A finished task answers in its artifacts, else in its status or its
 * last message; one that waits for input also asks its question in the status. The chunks of an artifact's text are one
 * text.
 */
function freshParts(task: Task, read: ArtifactsRead): readonly Part[] {
  const fresh = (task.artifacts ?? []).flatMap((artifact) => freshOf(artifact, read))
  if (!isTerminal(task.status.state) && task.status.message)
    return [...fresh, ...task.status.message.parts]
  return fresh.length > 0 ? fresh : answerParts({ ...task, artifacts: [] })
}

function freshOf({ artifactId, parts }: Artifact, read: ArtifactsRead): Part[] {
  const before = read[artifactId] ?? { text: '', others: 0 }
  const text = textOf(parts)
  // An artifact that was written anew does not begin with its old text: then all of it is new.
  const added = text.startsWith(before.text) ? text.slice(before.text.length) : text
  return [...parts.filter(isOther).slice(before.others), ...(added ? [{ text: added }] : [])]
}

function isOther(part: Part): boolean {
  return !('text' in part)
}

/** What the next message must name: the context, and the task while it is not over. */
export type NextIds = Pick<A2AAgentState, 'contextId' | 'taskId' | 'artifactsRead'>

/** What the next message needs to know: the context stays, a task is continued only while it is not over. */
export function nextIds(answer: Task | Message): NextIds {
  const contextId = answer.contextId || undefined
  if (!('status' in answer) || isTerminal(answer.status.state))
    return { contextId, taskId: undefined, artifactsRead: {} }
  return { contextId, taskId: answer.id, artifactsRead: readArtifacts(answer) }
}

/** The ids of a message that continues a conversation, as far as they are known. */
export function messageIds({ contextId, taskId }: Pick<NextIds, 'contextId' | 'taskId'>): {
  readonly contextId?: string
  readonly taskId?: string
} {
  return { ...(contextId !== undefined && { contextId }), ...(taskId !== undefined && { taskId }) }
}

function readArtifacts({ artifacts = [] }: Task): ArtifactsRead {
  return Object.fromEntries(
    artifacts.map(({ artifactId, parts }) => [
      artifactId,
      { text: textOf(parts), others: parts.filter(isOther).length },
    ]),
  )
}

/**
 * Gives the call that a data part asks for, with an id made up if it brings none; undefined where it asks for no tool.
 */
export function parseToolCall(part: DataPart): ToolCall | undefined {
  return gather(readUtterances(part.data) ?? []).calls[0]
}
