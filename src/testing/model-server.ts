import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { JsonObject } from '../protocol/types.ts'
import { createDeferred } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'

/** What a scripted model service answers: a list in order, whose last answer repeats, or a function of the request. */
export type ModelScript =
  | readonly ModelAnswer[]
  /** `count` is the number of this request, from 1. */
  | ((request: ModelRequest, count: number) => ModelAnswer | Promise<ModelAnswer>)

/** One answer of a model service; a string is the whole text. */
export type ModelAnswer =
  | string
  /** Text in these pieces, each its own chunk. */
  | { readonly chunks: readonly string[]; readonly finish?: string }
  /** Tool calls, after a text if there is one. */
  | { readonly tools: readonly ModelCall[]; readonly text?: string }
  /** A refusal, with headers such as `retry-after`; a string as body is sent as it is. */
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: unknown
    }
  /** Another answer, after this long. */
  | { readonly delayMs: number; readonly answer: ModelAnswer }
  /** A whole completion, also where a stream was asked for. */
  | { readonly whole: string }
  /** Raw bytes under the content type of a stream. */
  | { readonly raw: string }
  /** Headers and these chunks, then silence for ever. */
  | { readonly hang: readonly string[] }
  /** Headers, then comments that say nothing, for ever. */
  | { readonly drip: true }
  /** Nothing at all, for ever. */
  | { readonly silent: true }
  /** Chunks, then the socket breaks. */
  | { readonly broken: readonly string[] }

/** A tool call of a scripted model; a string as arguments is sent as it is, so that it may be no JSON. */
export interface ModelCall {
  /** `call_0` for the first, and so on, if absent. */
  readonly id?: string
  readonly name: string
  readonly arguments: unknown
}

/** The body of a request to `/chat/completions`. */
export interface ModelRequest {
  readonly model: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages: readonly {
    readonly role: string
    readonly content: unknown
    readonly tool_calls?: readonly { readonly id: string }[]
    readonly tool_call_id?: string
  }[]
  /** The tools that the model may call. */
  readonly tools?: readonly {
    readonly type: string
    readonly function: {
      readonly name: string
      readonly description?: string
      readonly parameters?: JsonObject
    }
  }[]
  readonly [key: string]: unknown
}

/** What a scripted model service works with. */
export interface ModelServerOptions {
  /** The time by which answers are delayed; the machine's own if absent. */
  readonly clock?: Clock
  /** Where it listens on this machine; on any free port if absent. */
  readonly port?: number
}

/** A model service that says what a test wants: OpenAI-compatible, on a real socket, in the real wire format. */
export interface ModelServer extends AsyncDisposable {
  /** The base URL, which ends with `/v1`: the endpoint of models. */
  readonly url: string
  /** The bodies of all chat requests, in order. */
  readonly requests: readonly ModelRequest[]
  /** The headers of all requests, in order. */
  readonly headers: readonly IncomingHttpHeaders[]
  /** Resolves when a client leaves before its answer has ended. */
  readonly abandoned: Promise<void>
  /**
   * Ends everything at once. May be called twice.
   * @throws what the script has thrown.
   */
  close(): Promise<void>
}

/**
 * Starts a model service on this machine: each chat request takes the next answer of the script.
 * @throws Error where the script is an empty list, or the port is taken.
 */
export async function openModelServer(
  script: ModelScript,
  { clock = systemClock, port: wanted = 0 }: ModelServerOptions = {},
): Promise<ModelServer> {
  if (script.length === 0 && typeof script !== 'function')
    throw new Error('The script of a model needs at least one answer')
  const requests: ModelRequest[] = []
  const headers: IncomingHttpHeaders[] = []
  const thrown: unknown[] = []
  const abandoned = createDeferred<void>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    headers.push(request.headers)
    response.on('close', () => {
      if (!response.writableFinished) abandoned.resolve()
    })
    const body = await readBody(request)
    const chat = readChat(request, response, body)
    if (!chat) return
    requests.push(chat)
    try {
      writeAnswer(response, await answerTo(script, chat, requests.length), { chat, clock })
    } catch (error) {
      thrown.push(error)
      // A status that nobody tries again, so that the test comes to its end.
      refuse(response, 400, 'The script of the model has failed')
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()) // the client left while it spoke
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(wanted, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve, reject) => {
      server.close(() => (thrown.length > 0 ? reject(thrown[0]) : resolve()))
      server.closeAllConnections()
    })
    return closing
  }
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    headers,
    abandoned: abandoned.promise,
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}

/** The chat request; undefined where it was something else, which is answered here. */
function readChat(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  body: string,
): ModelRequest | undefined {
  if (method === 'GET' && url.endsWith('/models')) {
    const data = [{ id: 'gpt-test', object: 'model' }]
    writeJson(response, 200, { object: 'list', data })
    return undefined
  }
  if (!url.endsWith('/chat/completions')) return refuse(response, 404, 'no such path')
  try {
    return JSON.parse(body)
  } catch {
    return refuse(response, 400, 'the body is not JSON')
  }
}

/** Writes JSON, or a text that claims to be some, and ends the response. */
function writeJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

function refuse(response: ServerResponse, status: number, message: string): undefined {
  writeJson(response, status, { error: { message } })
}

/** What an answer is to, and by which time it is delayed. */
interface AnswerContext {
  readonly chat: ModelRequest
  readonly clock: Clock
}

/** Writes an answer as a model service does: a stream where one was asked for, else a whole completion. */
function writeAnswer(response: ServerResponse, answer: ModelAnswer, context: AnswerContext): void {
  const { chat, clock } = context
  if (typeof answer === 'string') writeSpoken(response, chat, { texts: [answer] })
  else if ('chunks' in answer) {
    const { chunks: texts, finish } = answer
    writeSpoken(response, chat, { texts, ...(finish && { finish }) })
  } else if ('tools' in answer) {
    const { tools: calls, text } = answer
    writeSpoken(response, chat, { texts: text ? [text] : [], calls, finish: 'tool_calls' })
  } else if ('status' in answer) {
    const body = answer.body ?? { error: { message: 'refused' } }
    writeJson(response, answer.status, body, answer.headers)
  } else if ('delayMs' in answer) {
    const write = (): void => writeAnswer(response, answer.answer, context)
    response.once('close', clock.after(answer.delayMs, write))
  } else if ('whole' in answer)
    writeJson(response, 200, completion(chat, { content: answer.whole }))
  else if (!('silent' in answer)) writeFaulty(response, answer, context)
}

/** An answer as a model means it. */
interface Spoken {
  readonly texts: readonly string[]
  readonly calls?: readonly ModelCall[]
  readonly finish?: string
}

/** What every scripted answer of a model reports as used. */
export const scriptedUsage: Readonly<
  Record<'prompt_tokens' | 'completion_tokens' | 'total_tokens', number>
> = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

function writeSpoken(response: ServerResponse, chat: ModelRequest, spoken: Spoken): void {
  const { texts, calls = [], finish = 'stop' } = spoken
  if (chat.stream !== true) {
    const content = texts.length > 0 ? texts.join('') : null
    const tools = calls.map((call, index) => toolCall(call, index, argumentsOf(call)))
    const message = { content, ...(tools.length > 0 && { tool_calls: tools }) }
    writeJson(response, 200, completion(chat, message, finish))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(frame(chunkOf(chat, { role: 'assistant', content: '' }, null)))
  for (const delta of [...textDeltas(texts), ...callDeltas(calls)])
    response.write(frame(chunkOf(chat, delta, null)))
  response.write(frame(chunkOf(chat, {}, finish)))
  if (chat.stream_options?.include_usage)
    response.write(frame({ ...chunkOf(chat, {}, null), choices: [], usage: scriptedUsage }))
  response.end('data: [DONE]\n\n')
}

function toolCall({ id, name }: ModelCall, index: number, args: string): object {
  return { id: id ?? `call_${index}`, type: 'function', function: { name, arguments: args } }
}

function argumentsOf({ arguments: given }: ModelCall): string {
  return typeof given === 'string' ? given : JSON.stringify(given)
}

function completion(chat: ModelRequest, message: object, finish = 'stop'): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: chat.model,
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage: scriptedUsage,
  }
}

function frame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function chunkOf(chat: ModelRequest, delta: object, finish: string | null): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: chat.model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
}

function textDeltas(pieces: readonly string[]): object[] {
  return pieces.map((content) => ({ content }))
}

/** Calls as models send them: id and name first, then the arguments in pieces, calls interleaved. */
function callDeltas(calls: readonly ModelCall[]): object[] {
  const heads = calls.map((call, index) => ({
    tool_calls: [{ index, ...toolCall(call, index, '') }],
  }))
  const pieces = calls.map((call) => argumentsOf(call).match(/.{1,5}/gs) ?? [])
  const rounds = Math.max(0, ...pieces.map((list) => list.length))
  const bodies = Array.from({ length: rounds }, (_, round) =>
    pieces.flatMap((list, index) =>
      list[round] === undefined
        ? []
        : [{ tool_calls: [{ index, function: { arguments: list[round] } }] }],
    ),
  )
  return [...heads, ...bodies.flat()]
}

function writeFaulty(
  response: ServerResponse,
  answer: Extract<
    ModelAnswer,
    { raw: string } | { drip: true } | { hang: unknown } | { broken: unknown }
  >,
  { chat, clock }: AnswerContext,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  if ('raw' in answer) response.end(answer.raw)
  else if ('drip' in answer) drip(response, clock)
  else {
    const pieces = 'hang' in answer ? answer.hang : answer.broken
    for (const delta of textDeltas(pieces)) response.write(frame(chunkOf(chat, delta, null)))
    if ('broken' in answer) setImmediate(() => response.destroy())
  }
}

function drip(response: ServerResponse, clock: Clock): void {
  let cancel = (): void => {}
  const next = (): void => {
    response.write(': wait\n\n')
    cancel = clock.after(5, next)
  }
  next()
  response.once('close', () => cancel())
}

function answerTo(
  script: ModelScript,
  chat: ModelRequest,
  count: number,
): ModelAnswer | Promise<ModelAnswer> {
  if (typeof script === 'function') return script(chat, count)
  return script[Math.min(count, script.length) - 1] ?? ''
}
