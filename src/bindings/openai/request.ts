import { A2AError } from '../../protocol/errors.ts'
import {
  type ClientToolCall,
  historyExtension,
  type OfferedTool,
  toClientToolsMetadata,
} from '../../protocol/extensions.ts'
import type { Call, Dispatch } from '../../protocol/operations.ts'
import { userMessage } from '../../protocol/task.ts'
import type { JsonObject, Message, Part } from '../../protocol/types.ts'
import { type Fields, isFields, isLongerThan } from '../../shared/json.ts'
import { parseJsonSchema, type SchemaCheck } from '../../shared/json-schema/parse.ts'
import { SchemaFault } from '../../shared/json-schema/schema.ts'

/** A chat request, whichever of the two endpoints it came in by. */
export interface ChatInput extends ChatTurns {
  readonly model: string | undefined
  /** Metadata for the message. */
  readonly metadata?: JsonObject
  /** The conversation, where the client names it. */
  readonly contextId?: string
  /** Whether the conversation was named as such, so that the server's memory of it counts before the request's. */
  readonly remembers: boolean
  /** The task that the message continues. */
  readonly taskId?: string
}

const maxIdLength = 256

/** Reads the body of `/v1/chat/completions`. @throws A2AError `invalidParams` that names the field. */
export function parseCompletion(body: unknown): { input: ChatInput; form: CompletionForm } {
  const fields = objectField(body, 'body')
  const metadata = isFields(fields.metadata) ? fields.metadata : {}
  const named = idOf(metadata.context_id, 'metadata.context_id')
  const user = idOf(fields.user, 'user')
  return {
    form: parseForm(fields),
    input: {
      ...parseMessages(fields.messages),
      model: textField(fields.model, 'model'),
      ...conversation(named, user === undefined ? undefined : `user:${user}`),
      ...optional('taskId', idOf(metadata.task_id, 'metadata.task_id')),
    },
  }
}

/** Reads the body of `/v1/chat`. @throws A2AError `invalidParams` that names the field. */
export function parseChat(body: unknown): { input: ChatInput; id: string | undefined } {
  const fields = objectField(body, 'body')
  const { context } = fields
  const place = isFields(context) ? context : { context_id: context ?? undefined }
  const last: unknown = Array.isArray(fields.messages) ? fields.messages.at(-1) : undefined
  const metadata = isFields(last) && isFields(last.metadata) ? last.metadata : undefined
  return {
    id: idOf(fields.id, 'id'),
    input: {
      ...parseMessages(fields.messages),
      model: textField(place.model ?? place.team_id ?? undefined, 'context.model'),
      ...conversation(idOf(place.context_id, 'context.context_id'), undefined),
      ...optional('taskId', idOf(place.task_id, 'context.task_id')),
      ...(metadata && { metadata: metadata as JsonObject }), // it came out of JSON.parse
    },
  }
}

function conversation(
  named: string | undefined,
  user: string | undefined,
): Pick<ChatInput, 'contextId' | 'remembers'> {
  return { ...optional('contextId', named ?? user), remembers: named !== undefined }
}

function idOf(value: unknown, field: string): string | undefined {
  const id = textField(value, field)
  if ((id?.length ?? 0) > maxIdLength)
    throw wrong(field, `must have at most ${maxIdLength} characters`)
  return id
}

function optional<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string }) // K is one literal
}

/** What a completion asks of the answer's form. */
export interface CompletionForm {
  readonly stream: boolean
  readonly includeUsage: boolean
  /** The answer ends before the first of these. */
  readonly stop: readonly string[]
  /** The JSON that the answer must be; undefined where any text will do. */
  readonly format: AnswerFormat | undefined
  /** The tools that the client runs, as it sent them; none where it wants no calls. */
  readonly tools: readonly unknown[]
}

/** The JSON that an answer must be. */
export interface AnswerFormat {
  readonly schema: unknown
  readonly check: SchemaCheck
}

const maxStops = 4

const maxStopLength = 256

const maxTools = 128

/**
 * Reads what a request says of the answer's form. What says nothing passes, whatever the field; what cannot be done is
 * refused. @throws A2AError `invalidParams` that names the field.
 */
function parseForm(fields: Fields): CompletionForm {
  if (!isNeutral(fields.n) && fields.n !== 1) throw wrong('n', 'must be 1')
  mustNotForce(fields.function_call, 'function_call')
  mustNotForce(fields.tool_choice, 'tool_choice')
  const options = isFields(fields.stream_options) ? fields.stream_options : {}
  const tools = parseTools(fields.tools)
  return {
    stream: fields.stream === true,
    includeUsage: options.include_usage === true,
    stop: parseStop(fields.stop),
    format: parseFormat(fields.response_format),
    tools: fields.tool_choice === 'none' ? [] : tools,
  }
}

function mustNotForce(choice: unknown, field: string): void {
  if (isNeutral(choice) || choice === 'auto' || choice === 'none') return
  throw wrong(field, 'must be "auto" or "none": no tool can be forced upon an agent')
}

function parseTools(value: unknown): readonly unknown[] {
  if (isNeutral(value)) return []
  if (!Array.isArray(value) || value.length > maxTools)
    throw wrong('tools', `must be a list of at most ${maxTools}`)
  return value
}

function parseStop(value: unknown): readonly string[] {
  if (isNeutral(value)) return []
  const words: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (words.length > maxStops) throw wrong('stop', `must have at most ${maxStops} entries`)
  return words.flatMap((word) => {
    if (typeof word !== 'string') throw wrong('stop', 'must be a string or a list of strings')
    if (word.length > maxStopLength)
      throw wrong('stop', `must have at most ${maxStopLength} characters in each entry`)
    return word === '' ? [] : [word]
  })
}

const anyObject = { type: 'object' }

function parseFormat(value: unknown): AnswerFormat | undefined {
  if (isNeutral(value)) return undefined
  const { type, json_schema: given } = objectField(value, 'response_format')
  if (type === 'text') return undefined
  if (type === 'json_object')
    return { schema: anyObject, check: parseJsonSchema(anyObject, 'answer') }
  if (type !== 'json_schema')
    throw wrong('response_format.type', 'must be "text", "json_object" or "json_schema"')
  const schema = objectField(given, 'response_format.json_schema').schema ?? {}
  if (isLongerThan(schema, maxSchemaLength))
    throw wrong(
      'response_format.json_schema.schema',
      `must have at most ${maxSchemaLength} characters as JSON: leave out what does not concern the answer`,
    )
  return { schema, check: toCheck(schema) }
}

/** A schema that is compiled for one request: a fraction of what an operator's own may have. */
const maxSchemaLength = 65_536

function toCheck(schema: unknown): SchemaCheck {
  let check: SchemaCheck
  try {
    check = parseJsonSchema(schema, 'answer')
  } catch (thrown) {
    throw toFault(thrown)
  }
  return async (value, principal) => {
    try {
      return await check(value, principal)
    } catch (thrown) {
      throw toFault(thrown)
    }
  }
}

/** A schema that cannot be checked is the client's matter, whenever that shows. */
function toFault(thrown: unknown): unknown {
  if (!(thrown instanceof SchemaFault)) return thrown
  const place = thrown.path === '' ? '' : `.${thrown.path}`
  return wrong(`response_format.json_schema.schema${place}`, thrown.message)
}

/** The messages of a chat request. */
interface ChatTurns {
  /** The last message: what is asked, or what a tool gave. */
  readonly parts: readonly Part[]
  /** The call that the last message answers, where a tool said it. */
  readonly toolCallId?: string
  /** The messages before it, as text. */
  readonly earlier: readonly EarlierTurn[]
}

/** One earlier message, as the history extension writes it. */
export type EarlierTurn =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly toolCalls?: readonly ClientToolCall[]
    }
  | { readonly role: 'tool'; readonly content: string; readonly toolCallId: string }

/** Reads `messages`. @throws A2AError `invalidParams` that names the field. */
function parseMessages(value: unknown): ChatTurns {
  if (!Array.isArray(value) || value.length === 0) throw wrong('messages', 'must be a list')
  const messages = value.map((message, index) => objectField(message, `messages[${index}]`))
  const { role, content, tool_call_id: callId } = messages.at(-1) ?? {}
  if (role === 'assistant' || role === 'system')
    throw wrong('messages', 'must end with a message of the user')
  const earlier = messages.slice(0, -1).flatMap(toEarlier)
  const isResult = role === 'tool' && typeof callId === 'string'
  if (isResult && isNeutral(content)) return { parts: nothing, toolCallId: callId, earlier }
  const parts = parseContent(content, `messages[${messages.length - 1}].content`)
  return { parts, ...(isResult && { toolCallId: callId }), earlier }
}

/** What a tool gave that gave nothing: a message must say something. */
const nothing: readonly Part[] = [{ text: '(nothing)' }]

/** Roles of OpenAI's that only differ in their place. */
const roles: ReadonlyMap<unknown, EarlierTurn['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'user'],
])

function toEarlier(message: Fields, index: number): EarlierTurn[] {
  const role = roles.get(message.role)
  if (!role) throw wrong(`messages[${index}].role`, 'is not a role')
  const field = `messages[${index}].content`
  const parts = isNeutral(message.content) ? [] : parseContent(message.content, field)
  const content = parts.map((part) => ('text' in part ? part.text : '[file]')).join('\n')
  if (role === 'tool') return [toolTurn(message.tool_call_id, content)]
  const toolCalls = role === 'assistant' ? toToolCalls(message.tool_calls) : []
  if (toolCalls.length > 0) return [{ role: 'assistant', content, toolCalls }]
  return content === '' ? [] : [{ role, content }]
}

/** A result that does not say which call it answers is something the user tells. */
function toolTurn(toolCallId: unknown, content: string): EarlierTurn {
  if (typeof toolCallId !== 'string') return { role: 'user', content }
  return { role: 'tool', content, toolCallId }
}

function toToolCalls(value: unknown): readonly ClientToolCall[] {
  const calls: readonly unknown[] = Array.isArray(value) ? value : []
  return calls.flatMap((call) => {
    const { id, type: _, index: _index, function: called, ...extra } = isFields(call) ? call : {}
    const { name, arguments: args } = isFields(called) ? called : {}
    if (typeof id !== 'string' || typeof name !== 'string') return []
    const own = Object.keys(extra).length > 0 && { extra: extra as JsonObject } // it came out of JSON.parse
    return [{ id, name, arguments: typeof args === 'string' ? args : '', ...own }]
  })
}

function parseContent(value: unknown, field: string): readonly Part[] {
  if (typeof value === 'string' && value !== '') return [{ text: value }]
  if (!Array.isArray(value) || value.length === 0) throw wrong(field, 'must not be empty')
  return value.map((piece, index) => parsePiece(piece, `${field}[${index}]`))
}

function parsePiece(value: unknown, field: string): Part {
  const piece = objectField(value, field)
  if (piece.type === 'text' && typeof piece.text === 'string') return { text: piece.text }
  const inner = isFields(piece[String(piece.type)]) ? (piece[String(piece.type)] as Fields) : {} // just checked
  if (piece.type === 'image_url' && typeof inner.url === 'string') return fromUrl(inner.url)
  if (piece.type === 'input_audio' && typeof inner.data === 'string')
    return { raw: inner.data, mediaType: `audio/${String(inner.format ?? 'wav')}` }
  if (piece.type === 'file' && typeof inner.file_data === 'string') {
    const filename = typeof inner.filename === 'string' ? { filename: inner.filename } : {}
    return { ...fromFileData(inner.file_data), ...filename }
  }
  throw wrong(field, 'is not content that can be read')
}

/** A data URL becomes bytes; any other URL stays one. */
function fromUrl(url: string): Part {
  return url.startsWith('data:') ? fromFileData(url) : { url, mediaType: 'image/*' }
}

/** A data URL, or base64 alone. */
function fromFileData(data: string): Part {
  const [, type, raw] = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(data) ?? ['', '', data]
  return { raw: raw ?? '', mediaType: type || 'application/octet-stream' }
}

/**
 * The A2A message of a chat request. Chat clients are stateless and send the whole conversation each time:
 *
 * - Where the client names its conversation (`metadata.context_id`), the server's memory of that context is the
 *   conversation, and only the last message is sent on.
 * - Else the earlier messages go along: in the history extension to agents that read it, as a text part before the
 *   question to the others. `user` names a context too, but the request's own messages count before its memory,
 *   because one user may have several conversations.
 * - They also go along with what a tool of the client's gave: no memory of ours holds its call.
 *
 * The client's `tools` are there for an agent that takes them.
 */
export function toMessage(
  input: ChatInput,
  { readsHistory }: { readonly readsHistory?: boolean },
  tools?: readonly OfferedTool[],
): Message {
  const { parts, contextId, taskId } = input
  const told = toldOf(input, tools !== undefined)
  const ids = { ...(contextId !== undefined && { contextId }), ...(taskId && { taskId }) }
  const asExtension = readsHistory && told.length > 0
  const preamble = !readsHistory && told.length > 0 ? [toPreamble(told)] : []
  const message = userMessage([...preamble, ...parts], ids)
  const all: JsonObject = {
    ...input.metadata,
    ...(asExtension && { [historyExtension]: { messages: told } }),
    ...(tools && toolsMetadata(tools, input.toolCallId)),
  }
  return Object.keys(all).length > 0 ? { ...message, metadata: all } : message
}

/** All that the client said, for an estimate of tokens. */
export function promptText(input: ChatInput): string {
  return input.earlier.map((turn) => turn.content).join('') + questionText(input)
}

/** The text of the last message. */
export function questionText({ parts }: Pick<ChatInput, 'parts'>): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

/** The task of a named conversation that waits for an answer: the message is that answer. */
export async function findWaiting(
  dispatch: Dispatch,
  contextId: string,
  call: Call,
): Promise<string | undefined> {
  const status = 'TASK_STATE_INPUT_REQUIRED'
  const { tasks } = await dispatch('ListTasks', { contextId, status, pageSize: 1 }, call)
  return tasks[0]?.id
}

/** The earlier turns that go along. */
function toldOf(input: ChatInput, takesTools: boolean): readonly EarlierTurn[] {
  const { earlier, remembers, taskId, toolCallId } = input
  if (takesTools && toolCallId !== undefined) return earlier
  if (remembers || taskId !== undefined) return []
  return takesTools ? earlier : earlier.flatMap(toPlainTurn)
}

/** To an agent that knows nothing of the client's tools, what one gave is something the user tells. */
function toPlainTurn(turn: EarlierTurn): readonly EarlierTurn[] {
  const { content } = turn
  if (content === '') return []
  if (turn.role === 'tool') return [{ role: 'user', content }]
  return 'toolCalls' in turn ? [{ role: 'assistant', content }] : [turn]
}

function toolsMetadata(tools: readonly OfferedTool[], toolCallId: string | undefined): JsonObject {
  if (tools.length === 0 && toolCallId === undefined) return {}
  return toClientToolsMetadata({ tools, ...(toolCallId !== undefined && { toolCallId }) })
}

function toPreamble(earlier: readonly EarlierTurn[]): Part {
  const lines = earlier.map(({ role, content }) => `${role}: ${content}`)
  return {
    text: `The conversation so far:\n${lines.join('\n')}\n\nThe message to answer:\n`,
    metadata: { [historyExtension]: true },
  }
}

/** Whether a client says nothing by a value: many send every field that they know, whether it is set or not. */
export function isNeutral(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** A field that is there and wrong. */
export function wrong(field: string, description: string): A2AError {
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}

/** A field that must be an object. @throws A2AError `invalidParams`. */
export function objectField(value: unknown, field: string): Fields {
  if (!isFields(value)) throw wrong(field, 'must be an object')
  return value
}

/** A field that is a text; undefined where it says nothing. @throws A2AError `invalidParams`. */
function textField(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw wrong(field, 'must be a string')
  return value
}
