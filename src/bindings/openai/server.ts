import { A2AError, toA2AError } from '../../protocol/errors.ts'
import { addUsage, estimateUsage, toUsageMetadata, type Usage } from '../../protocol/extensions.ts'
import {
  type AuthContext,
  anonymous,
  type Call,
  type Dispatch,
  type EventStream,
  reachesAgent,
  type Sequenced,
} from '../../protocol/operations.ts'
import { isInterrupted } from '../../protocol/task.ts'
import type { Part, StreamResponse } from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { newId } from '../../shared/ids.ts'
import { askForJson, jsonTextOf, notJson, refuseAnswer } from '../../shared/json.ts'
import { ask, readAll } from '../ask.ts'
import { parseBody, toCall } from '../call.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../http.ts'
import type { OpenAIRoute } from '../routes.ts'
import { EventBody, streamHeaders } from '../sse.ts'
import {
  type CompletionHead,
  createChunkWriter,
  cutAt,
  errorReply,
  finishReasonOf,
  placeOf,
  TextReader,
  toClientTools,
  toCompletion,
  toOpenAIUsage,
} from './answer.ts'
import {
  type AnswerFormat,
  type ChatInput,
  type CompletionForm,
  type EarlierTurn,
  findWaiting,
  parseChat,
  parseCompletion,
  promptText,
  questionText,
  toMessage,
} from './request.ts'

/** What the OpenAI endpoints need. */
interface OpenAIBindingOptions {
  /** The operations of the agent or team that a model's name stands for. */
  readonly dispatchOf: (model: string) => Dispatch | undefined
  /** The models there are; the first answers where a request names none. */
  readonly models: () => readonly OpenAIModel[]
  /** Who asks for the models; anyone if absent. @throws A2AError `unauthenticated`. */
  readonly identify?: (call: Call) => AuthContext | Promise<AuthContext>
  /** How long a stream may be quiet before a comment keeps it open; 15 000 if absent, 0 for never. */
  readonly heartbeatMs?: number
  readonly clock?: Clock
}

/** An agent or team as a model. */
export interface OpenAIModel {
  readonly id: string
  /** Seconds since the epoch; 0 if absent. */
  readonly created?: number
  /** "corral" if absent. */
  readonly ownedBy?: string
  /** Whether the agent reads the history extension; else earlier messages are put before the question as text. */
  readonly readsHistory?: boolean
  /** Whether the agent takes tools that its client runs; else they are ignored. */
  readonly takesTools?: boolean
}

/** A request on its way to an agent. */
interface Asked {
  readonly model: string
  readonly prompt: string
  readonly stream: EventStream
}

const json: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

/**
 * Answers as OpenAI's API does, one handler for each of its routes: `completions`, streamed or not, the `models` and one
 * `model` of them; and `chat`, a plainer way to say the same. Each agent or team is a model. `responses` are not served.
 */
export function createOpenAIBinding(
  options: OpenAIBindingOptions,
): Readonly<Record<OpenAIRoute, HttpHandler>> {
  const models = async (request: HttpRequest): Promise<readonly OpenAIModel[]> => {
    const auth = (await options.identify?.(request)) ?? anonymous
    return options.models().filter(({ id }) => reachesAgent(auth, id))
  }
  return {
    completions: guarded((request) => complete(options, request)),
    chat: guarded((request) => chat(options, request)),
    models: guarded(async (request) => {
      return ok({ object: 'list', data: (await models(request)).map(toModel) })
    }),
    model: guarded(async (request) => {
      return ok(toModel(modelOf(await models(request), nameIn(request.path))))
    }),
    responses: guarded(() => {
      throw noResponses
    }),
  }
}

async function complete(options: OpenAIBindingOptions, request: HttpRequest): Promise<HttpReply> {
  const { heartbeatMs = 15_000, clock = systemClock } = options
  const { input, form } = parseCompletion(parseBody(request))
  const asked = await send(options, request, { input, form })
  const head = headOf(asked.model, clock)
  if (!form.stream) {
    const reader = await read(asked, request)
    const text = cutAt(form.stop, reader.text)
    return ok(toCompletion(head, { reader, text, usage: usageOf(asked, reader) }))
  }
  const writer = createChunkWriter(head, form, (reader) => usageOf(asked, reader))
  const body = new EventBody(asked.stream, { writer, heartbeatMs, clock })
  await body.opened()
  return { status: 200, headers: streamHeaders, body }
}

function headOf(model: string, clock: Clock): CompletionHead {
  const created = Math.floor(clock.now() / 1000)
  return { id: `chatcmpl-${newId()}`, created, model }
}

async function chat(options: OpenAIBindingOptions, request: HttpRequest): Promise<HttpReply> {
  const { input, id } = parseChat(parseBody(request))
  const asked = await send(options, request, { input })
  const reader = await read(asked, request)
  const usage = toOpenAIUsage(usageOf(asked, reader))
  return ok({
    id: id ?? newId(),
    response: {
      content: reader.refusal ?? reader.text,
      role: 'assistant',
      finish_reason: finishReasonOf(reader),
      usage,
    },
    metadata: { model: asked.model, ...placeOf(reader) },
  })
}

async function send(
  options: OpenAIBindingOptions,
  request: HttpRequest,
  { input, form }: { readonly input: ChatInput; readonly form?: CompletionForm },
): Promise<Asked> {
  const model = modelOf(options.models(), input.model)
  const dispatch = options.dispatchOf(model.id)
  if (!dispatch) throw noModel(model.id)
  const call = toCall(request, '1.0')
  // It looks for a task that waits, to answer it: that is part of sending.
  call.scope = 'tasks:write'
  const tools = model.takesTools ? toClientTools(form?.tools ?? []) : undefined
  const put: Put = (one) => ask(dispatch, { message: toMessage(one, model, tools) }, call)
  const question = await withWaiting(dispatch, input, call)
  const principal = call.client ?? request.headers.authorization
  const stream = form?.format
    ? await askInFormat(put, question, { format: form.format, stop: form.stop, principal })
    : await put(question)
  return { model: model.id, prompt: promptText(input), stream }
}

function modelOf(known: readonly OpenAIModel[], name: string | undefined): OpenAIModel {
  const model = name === undefined ? known[0] : known.find(({ id }) => id === name)
  if (!model) throw noModel(name ?? '')
  return model
}

/** A fault is an answer too, as OpenAI's clients expect it. */
function guarded(answer: HttpHandler): HttpHandler {
  return async (request) => {
    try {
      return await answer(request)
    } catch (thrown) {
      return errorReply(toA2AError(thrown))
    }
  }
}

/** A message in a named conversation answers the task that waits there, if one does. */
async function withWaiting(dispatch: Dispatch, input: ChatInput, call: Call): Promise<ChatInput> {
  if (input.contextId === undefined || input.taskId !== undefined) return input
  const taskId = await findWaiting(dispatch, input.contextId, call)
  return taskId === undefined ? input : { ...input, taskId }
}

async function read(asked: Asked, request: HttpRequest): Promise<TextReader> {
  const reader = new TextReader()
  await readAll(asked.stream, request.signal, (event) => void reader.take(event))
  const fault = reader.fault()
  if (fault) throw fault
  return reader
}

function usageOf(asked: Asked, reader: TextReader): Usage {
  return reader.usage ?? estimateUsage(asked.prompt, reader.text)
}

/** The model that `/v1/models/{name}` names. */
function nameIn(path: string): string {
  const name = path.split('/').slice(3).join('/')
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

function toModel({ id, created = 0, ownedBy = 'corral' }: OpenAIModel): object {
  return { id, object: 'model', created, owned_by: ownedBy }
}

const noResponses = new A2AError(
  'methodNotFound',
  'The Responses API is not served here; use /v1/chat/completions',
  { metadata: { openai: 'unknown_url' } },
)

function noModel(model: string): A2AError {
  return new A2AError('methodNotFound', `The model '${model}' does not exist`, {
    violations: [{ field: 'model', description: 'does not exist' }],
    metadata: { openai: 'model_not_found' },
  })
}

function ok(body: object): HttpReply {
  return { status: 200, headers: json, body: JSON.stringify(body) }
}

/** Sends a question to the agent. */
type Put = (question: ChatInput) => Promise<EventStream>

/** The answer that is wanted. */
interface Wanted {
  readonly format: AnswerFormat
  readonly stop: readonly string[]
  /** What tells callers apart, so that their checks take turns. */
  readonly principal: string | undefined
}

/**
 * Asks for an answer that fits a format. Nothing of it is told before it is whole, since half of it cannot be checked.
 * One that does not fit is asked for once more; then it is an `invalidAgentResponse`. A question, a call of a tool and a
 * failure are no answers: they pass as they are.
 */
async function askInFormat(
  put: Put,
  question: ChatInput,
  { format, stop, principal }: Wanted,
): Promise<EventStream> {
  // What answers a question, such as an approval's, must stay the word that it is.
  const told = question.taskId !== undefined
  const parts = told ? question.parts : [...question.parts, toInstruction(format)]
  const first = await put({ ...question, parts })
  return readOnce(async (signal) => {
    let stream = first
    let used: Usage | undefined
    for (let attempt = 1; ; attempt++) {
      const { reader, events } = await readAnswer(stream, signal)
      used = addUsage(used, reader.usage)
      if (!isAnswer(reader)) return events
      const text = jsonTextOf(cutAt(stop, reader.text))
      const fault = text === undefined ? notJson : await format.check(JSON.parse(text), principal)
      if (text !== undefined && fault === undefined) return [{ event: toEvent(reader, text, used) }]
      if (attempt === 2) throw unfit(fault)
      const complaint = { text: refuseAnswer(fault ?? notJson) }
      stream = await put(toRepeat(question, reader, [complaint, toInstruction(format)]))
    }
  })
}

/** A stream of one batch, which is read when it is asked for. */
function readOnce(read: (signal: AbortSignal) => Promise<readonly Sequenced[]>): EventStream {
  const leaving = new AbortController()
  let isGiven = false
  const iterator: AsyncIterator<readonly Sequenced[]> = {
    async next() {
      if (isGiven) return { done: true, value: undefined }
      isGiven = true
      return { done: false, value: await read(leaving.signal) }
    },
    // Whoever reads then leaves the agent's own events, which cancels the task.
    async return() {
      leaving.abort()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

/** Asks again where the answer stands: the agent sees what it was asked and what it said. */
function toRepeat(question: ChatInput, answer: TextReader, parts: readonly Part[]): ChatInput {
  const { taskId: _, toolCallId: _id, ...rest } = question
  const { contextId = question.contextId } = answer
  const said: readonly EarlierTurn[] = [
    { role: 'user', content: questionText(question) },
    { role: 'assistant', content: answer.text },
  ]
  const earlier = [...question.earlier, ...said]
  return { ...rest, ...(contextId !== undefined && { contextId }), parts, earlier }
}

function toInstruction({ schema }: AnswerFormat): Part {
  return { text: askForJson(schema) }
}

async function readAnswer(
  stream: EventStream,
  signal: AbortSignal,
): Promise<{ readonly reader: TextReader; readonly events: readonly Sequenced[] }> {
  const reader = new TextReader()
  const events: Sequenced[] = []
  await readAll(stream, signal, (event) => {
    reader.take(event)
    events.push({ event })
  })
  return { reader, events }
}

function isAnswer(reader: TextReader): boolean {
  if (reader.fault() || reader.refusal !== undefined || reader.toolCalls.length > 0) return false
  return reader.state !== undefined && !isInterrupted(reader.state)
}

function toEvent(reader: TextReader, text: string, usage: Usage | undefined): StreamResponse {
  const { taskId, contextId, state } = reader
  const parts = [{ text }]
  const metadata = usage && toUsageMetadata(usage)
  if (taskId === undefined || contextId === undefined || state === undefined) {
    const role = 'ROLE_AGENT'
    const place = { ...(contextId !== undefined && { contextId }), ...(metadata && { metadata }) }
    return { message: { messageId: 'answer', role, parts, ...place } }
  }
  const artifact = { artifactId: 'answer', parts, ...(metadata && { metadata }) }
  return { task: { id: taskId, contextId, status: { state }, artifacts: [artifact] } }
}

function unfit(fault: string | undefined): A2AError {
  const message = `The answer does not fit response_format, after two attempts: ${fault}`
  return new A2AError('invalidAgentResponse', message, { metadata: { openai: 'unfit_answer' } })
}
