import { A2AError, type ErrorCode, errorRow, toA2AError } from '../../protocol/errors.ts'
import {
  addUsage,
  type ClientToolCall,
  errorExtension,
  finishOf,
  type OfferedTool,
  toolCallsOf,
  type Usage,
  usageOf,
} from '../../protocol/extensions.ts'
import type { Sequenced } from '../../protocol/operations.ts'
import { textOf } from '../../protocol/task.ts'
import type {
  Artifact,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  TaskState,
  TaskStatus,
} from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import { isSettled } from '../ask.ts'
import { refusalHeaders } from '../call.ts'
import type { HttpReply } from '../http.ts'
import { type EventWriter, encodeFrame } from '../sse.ts'
import { type CompletionForm, isNeutral, objectField, wrong } from './request.ts'

/** What every chunk and completion of one answer has in common. */
export interface CompletionHead {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
}

/** A whole answer. */
interface Answer {
  readonly reader: TextReader
  /** What of the text is told. */
  readonly text: string
  readonly usage: Usage
}

/** A `chat.completion`. Task and context are told in `metadata`, for clients that want to go on with them. */
export function toCompletion(head: CompletionHead, { reader, text, usage }: Answer): object {
  const { toolCalls, refusal = null } = reader
  const calls = toolCalls.length > 0 && { tool_calls: toOpenAIToolCalls(toolCalls) }
  const content = (calls || refusal !== null) && text === '' ? null : text
  const message = { role: 'assistant', content, refusal, ...calls }
  return {
    ...named(head, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasonOf(reader) }],
    usage: toOpenAIUsage(usage),
    metadata: placeOf(reader),
  }
}

/** Usage by OpenAI's names; a guess says so. */
export function toOpenAIUsage(usage: Usage): object {
  const { inputTokens, outputTokens, estimated } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(estimated && { estimated }),
  }
}

/** Where an answer stands in A2A's terms. */
export function placeOf(reader: TextReader): Record<string, string> {
  const { contextId, taskId, state } = reader
  return {
    ...(contextId !== undefined && { context_id: contextId }),
    ...(taskId !== undefined && { task_id: taskId }),
    ...(state !== undefined && { state }),
  }
}

/** OpenAI's word for how an answer ended. */
export function finishReasonOf({ toolCalls, cut }: TextReader): string {
  return toolCalls.length > 0 ? 'tool_calls' : (cut ?? 'stop')
}

function named(head: CompletionHead, object: string): object {
  return { id: head.id, object, created: head.created, model: head.model }
}

const done = 'data: [DONE]\n\n'

/** Writes an agent's events as chunks: the role first, then the text as it comes, then the end or the error. */
export function createChunkWriter(
  head: CompletionHead,
  { includeUsage, stop }: CompletionForm,
  usage: (reader: TextReader) => Usage,
): EventWriter {
  const reader = new TextReader()
  const cutter = stop.length > 0 ? createStopCutter(stop) : undefined
  let begun = false

  function begin(): string {
    if (begun) return ''
    begun = true
    return frame(toChunk(head, { role: 'assistant', content: '' }))
  }
  function finish(): string {
    const fault = reader.fault()
    if (fault) return failed(fault)
    const { refusal, toolCalls } = reader
    const said = refusal === undefined ? '' : frame(toChunk(head, { refusal }))
    const calls = toolCalls.length > 0 ? frame(toCallsChunk(head, reader)) : ''
    const last = includeUsage ? frame(toUsageChunk(head, usage(reader))) : ''
    const rest = chunkOf(head, cutter?.end() ?? '') + said + calls
    return rest + frame(toLastChunk(head, reader)) + last + done
  }
  function write(batch: readonly Sequenced[]): string {
    let text = ''
    for (const { event } of batch) text += reader.take(event)
    const told = cutter ? cutter.take(text) : text
    return begin() + chunkOf(head, told) + (reader.settled ? finish() : '')
  }

  return { write, fail: failed }
}

/** A `chat.completion.chunk` before the last. */
function toChunk(head: CompletionHead, delta: object): object {
  return toAnyChunk(head, delta, null)
}

function toAnyChunk(head: CompletionHead, delta: object, finish: string | null): object {
  return {
    ...named(head, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  }
}

/** The chunk with the calls of tools, each of them whole. */
function toCallsChunk(head: CompletionHead, { toolCalls }: TextReader): object {
  const calls = toOpenAIToolCalls(toolCalls).map((call, index) => ({ index, ...call }))
  return toChunk(head, { tool_calls: calls })
}

/** The chunk that ends the answer, and tells task and context as a completion does. */
function toLastChunk(head: CompletionHead, reader: TextReader): object {
  return { ...toAnyChunk(head, {}, finishReasonOf(reader)), metadata: placeOf(reader) }
}

/** The chunk with the usage, which has no choice. */
function toUsageChunk(head: CompletionHead, usage: Usage): object {
  return { ...named(head, 'chat.completion.chunk'), choices: [], usage: toOpenAIUsage(usage) }
}

function chunkOf(head: CompletionHead, content: string): string {
  return content === '' ? '' : frame(toChunk(head, { content }))
}

function failed(thrown: unknown): string {
  return frame({ error: toOpenAIError(toA2AError(thrown)) })
}

function frame(value: object): string {
  return encodeFrame({ data: JSON.stringify(value) })
}

/**
 * An agent's events as the one text that a chat client sees. Artifacts follow one another with a blank line; one that is sent anew goes on where it
 * was, if it begins alike. Progress notes are not part of the answer; the last status' words are, where there is no
 * artifact, or where they are a question.
 */
export class TextReader {
  text = ''
  state: TaskState | undefined
  /** What the agent wants its client's tools to do. */
  toolCalls: readonly ClientToolCall[] = []
  /** Why the answer is not whole; undefined where it is. */
  cut: 'length' | 'content_filter' | undefined
  /** The model's words for why it does not answer. */
  refusal: string | undefined
  taskId: string | undefined
  contextId: string | undefined
  /** What has been said of each artifact. */
  readonly #told = new Map<string, string>()
  /** Usage of artifacts adds up; a status or message tells of the whole. */
  #parts: Usage | undefined
  #total: Usage | undefined
  #failure = ''
  #code: ErrorCode | undefined

  /** Whether the answer is whole, or the agent asks back. */
  get settled(): boolean {
    return this.state !== undefined && isSettled(this.state)
  }

  get usage(): Usage | undefined {
    return this.#total ?? this.#parts
  }

  /** The further text that an event brings; often none. */
  take(event: StreamResponse): string {
    if ('artifactUpdate' in event) {
      const { artifact, append = false } = event.artifactUpdate
      this.#place(event.artifactUpdate)
      return this.#artifact(artifact, append)
    }
    if ('message' in event) return this.#message(event.message)
    if ('statusUpdate' in event) {
      this.#place(event.statusUpdate)
      this.#conclude(event.statusUpdate.metadata)
      return this.#status(event.statusUpdate.status)
    }
    const { id: taskId, contextId, metadata, artifacts = [], status } = event.task
    this.#place({ taskId, contextId })
    this.#conclude(metadata)
    const said = artifacts.map((artifact) => this.#artifact(artifact, false))
    return said.join('') + this.#status(status)
  }

  /** The error that the task ended in; undefined where it answered or asks. */
  fault(): A2AError | undefined {
    const { state } = this
    if (state === undefined || !isSettled(state))
      return new A2AError('timeout', 'The agent has not answered in time')
    if (!isFailure(state) || this.refusal !== undefined) return undefined
    // These have names that OpenAI's clients know.
    if (this.#code) return new A2AError(this.#code, this.#failure)
    return new A2AError('processingError', this.#failure || `The task ended as ${state}`, {
      metadata: { openai: state.replace('TASK_STATE_', 'task_').toLowerCase() },
    })
  }

  #say(more: string, apart: boolean): string {
    if (more === '') return ''
    const said = apart && this.text !== '' ? `\n\n${more}` : more
    this.text += said
    return said
  }

  #artifact({ artifactId, parts, metadata }: Artifact, append: boolean): string {
    if (metadata) {
      this.#parts = addUsage(this.#parts, usageOf(metadata))
      this.toolCalls = toolCallsOf(metadata) ?? this.toolCalls
      const reason = finishOf(metadata)
      if (reason !== 'refusal') this.cut = reason ?? this.cut
    }
    const before = this.#told.get(artifactId)
    const more = toText(parts)
    const whole = append ? `${before ?? ''}${more}` : more
    this.#told.set(artifactId, whole)
    if (before === undefined || before === '') return this.#say(whole, true)
    if (whole.startsWith(before)) return this.#say(whole.slice(before.length), false)
    return this.#say(whole, true)
  }

  #status({ state, message }: TaskStatus): string {
    this.state = state
    this.#conclude(message?.metadata)
    const words = message ? toText(message.parts) : ''
    if (isFailure(state)) this.#fail(message)
    else if (state === 'TASK_STATE_COMPLETED') return this.text === '' ? this.#say(words, true) : ''
    else if (isSettled(state)) return this.#say(words, true)
    return ''
  }

  #fail(message: Message | undefined): void {
    this.#failure = message ? textOf(message.parts) : ''
    if (finishOf(message?.metadata) === 'refusal') this.refusal = this.#failure
    const said = message?.metadata?.[errorExtension]
    const code = isFields(said) ? said.code : undefined
    this.#code = outcomeErrors.find((one) => one === code)
  }

  #message({ contextId, metadata, parts }: Message): string {
    this.state = 'TASK_STATE_COMPLETED'
    this.contextId = contextId
    this.#conclude(metadata)
    return this.#say(toText(parts), true)
  }

  #conclude(metadata: JsonObject | undefined): void {
    this.#total = usageOf(metadata) ?? this.#total
  }

  #place({ taskId, contextId }: { readonly taskId: string; readonly contextId: string }): void {
    this.taskId = taskId
    this.contextId = contextId
  }
}

/** Errors of a model that a client may handle. */
const modelErrors = ['contextLengthExceeded', 'insufficientQuota', 'toolRoundLimit'] as const

/** The errors that a task may end with under their own codes; all others are the task's failure. */
const outcomeErrors = [...modelErrors, 'unavailable'] as const

function isFailure(state: TaskState): boolean {
  return (
    state === 'TASK_STATE_FAILED' ||
    state === 'TASK_STATE_REJECTED' ||
    state === 'TASK_STATE_CANCELED'
  )
}

function toText(parts: readonly Part[]): string {
  return parts.map(partText).join('')
}

/** Data and files in the Markdown that chat clients show; bytes are named, not shown. */
function partText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return `\n\`\`\`json\n${JSON.stringify(part.data, null, 2)}\n\`\`\`\n`
  const name = part.filename ?? part.mediaType ?? 'file'
  return 'url' in part ? `[${name}](${part.url})` : `[${name}]`
}

/** Cuts a text that comes piece by piece before the first of some words. */
interface StopCutter {
  /** What of a further piece may be told now; the end of it waits where a word may have begun. */
  take(text: string): string
  /** What still waits when the text is over. */
  end(): string
}

/**
 * A cutter for these words, none of them empty. It only withholds words: the turn goes on to its end, because a team's
 * later steps may have effects that half an answer must not undo.
 */
export function createStopCutter(words: readonly string[]): StopCutter {
  let held = ''
  let isOver = false
  return {
    take(text) {
      if (isOver || text === '') return ''
      const all = held + text
      const at = firstOf(words, all)
      isOver = at >= 0
      const told = isOver ? all.slice(0, at) : all.slice(0, all.length - begunIn(words, all))
      held = isOver ? '' : all.slice(told.length)
      return told
    },
    end() {
      const rest = held
      held = ''
      return rest
    },
  }
}

/** The text before the first of these words. */
export function cutAt(words: readonly string[], text: string): string {
  const at = firstOf(words, text)
  return at < 0 ? text : text.slice(0, at)
}

/**
 * Where the first of the words begins; -1 where the text has none. The first is the one that ends first, as for a model
 * that stops while it writes: a word that begins earlier and ends later is not complete yet. Of two with the same end,
 * the longer one is cut.
 */
function firstOf(words: readonly string[], text: string): number {
  let first = -1
  let firstEnd = Number.POSITIVE_INFINITY
  for (const word of words) {
    const at = text.indexOf(word)
    const end = at + word.length
    if (at < 0 || end > firstEnd || (end === firstEnd && at > first)) continue
    first = at
    firstEnd = end
  }
  return first
}

/** How many characters at the end of a text may be the beginning of a word. */
function begunIn(words: readonly string[], text: string): number {
  let longest = 0
  for (const word of words)
    for (let length = Math.min(word.length - 1, text.length); length > longest; length--)
      if (text.endsWith(word.slice(0, length))) {
        longest = length
        break
      }
  return longest
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

/** A request's tools for an agent that takes them. @throws A2AError `invalidParams` that names the field. */
export function toClientTools(tools: readonly unknown[]): readonly OfferedTool[] {
  return tools.map((given, index) => {
    const field = `tools[${index}]`
    const { type, function: described } = objectField(given, field)
    if (type !== 'function') throw wrong(`${field}.type`, 'must be "function"')
    const { name, description, parameters } = objectField(described, `${field}.function`)
    if (typeof name !== 'string' || !toolName.test(name))
      throw wrong(`${field}.function.name`, 'must be 1 to 64 letters, digits, _ or -')
    if (!isNeutral(parameters) && !isFields(parameters))
      throw wrong(`${field}.function.parameters`, 'must be a JSON Schema of an object')
    return {
      name,
      description: typeof description === 'string' ? description : '',
      parameters: isNeutral(parameters) ? noParameters : (parameters as JsonObject), // it came out of JSON.parse
    }
  })
}

const noParameters: JsonObject = { type: 'object', properties: {} }

/** Calls as OpenAI's clients read them. */
function toOpenAIToolCalls(calls: readonly ClientToolCall[]): readonly object[] {
  return calls.map(({ id, name, arguments: args, extra }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
    ...extra,
  }))
}

/** An error as OpenAI's clients expect it. */
interface OpenAIError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

/** The error that a fault of ours is to an OpenAI client; what is internal stays internal. */
export function toOpenAIError(error: A2AError): OpenAIError {
  const { violations, metadata, reason = errorRow(error.code).reason } = error.details
  const violation = violations?.[0]
  return {
    message: error.message,
    type: typeOf(statusOf(error)),
    param: violation?.field ?? null,
    code: metadata?.openai ?? reason.toLowerCase(),
  }
}

/** The reply that tells of an error. */
export function errorReply(error: A2AError): HttpReply {
  return {
    status: statusOf(error),
    headers: {
      'content-type': 'application/json',
      ...refusalHeaders(error),
      ...(isDecided(error) && { 'x-should-retry': 'false' }),
    },
    body: JSON.stringify({ error: toOpenAIError(error) }),
  }
}

/**
 * An agent behind us that answers what was not asked for is a bad gateway. A request that was rejected, as by a guard, or
 * cancelled is no error of the server: it must not count as one where errors are watched.
 */
function statusOf({ code, details }: A2AError): number {
  const outcome = details.metadata?.openai
  if (outcome === 'task_rejected') return 400
  if (outcome === 'task_canceled') return 409
  return code === 'invalidAgentResponse' ? 502 : errorRow(code).http
}

/** OpenAI's own clients repeat whatever failed; a refusal would then be repeated to a task that is over. */
function isDecided({ code: ours, details }: A2AError): boolean {
  const code = details.metadata?.openai
  if (modelErrors.some((one) => one === ours)) return true
  return code === 'task_rejected' || code === 'task_canceled' || code === 'unfit_answer'
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}
