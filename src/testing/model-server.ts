import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { JsonObject } from '../protocol/types.ts'
import { createDeferred } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import {
  basePathOf,
  chunkOf,
  errorFrames,
  errorOf,
  faultIn,
  frame,
  type ModelErrorKind,
  type ModelWire,
  type Spoken,
  textDeltas,
  toFrames,
  toWholeAnswer,
} from './model-wires.ts'

/** What a scripted model service answers: a list in order, whose last answer repeats, or a function of the request. */
export type ModelScript =
  | readonly ModelAnswer[]
  /** `count` is the number of this request, from 1. */
  | ((request: ModelRequest, count: number) => ModelAnswer | Promise<ModelAnswer>)

/** One answer of a model service; a string is the whole text. */
export type ModelAnswer =
  | string
  /** Text in these pieces, each its own chunk; before it what the model thinks, on wires that show it. */
  | {
      readonly chunks: readonly string[]
      readonly finish?: string
      readonly reasoning?: string
    }
  /** Tool calls, after a text if there is one. */
  | {
      readonly tools: readonly ModelCall[]
      readonly text?: string
      readonly reasoning?: string
    }
  /** The model's own no, in its words. */
  | { readonly refusal: string }
  /** An error in the service's own words, with headers such as `retry-after`; or in the stream, after these chunks. */
  | {
      readonly error: ModelErrorKind
      readonly headers?: Readonly<Record<string, string>>
      readonly after?: readonly string[]
    }
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
  /** Raw bytes under the content type of a stream, which does not end where `open` is true. */
  | { readonly raw: string; readonly open?: boolean }
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
    readonly tool_calls?: readonly { readonly id: string; readonly [key: string]: unknown }[]
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
  /** Which service's way of writing it has; `openai` if absent. */
  readonly wire?: ModelWire
  /** Whether it reports what an answer used; true if absent. */
  readonly usage?: boolean
}

const serverOptions: OptionTable<ModelServerOptions> = {
  clock: 'object',
  port: 'number',
  wire: 'string',
  usage: 'boolean',
}

/** A model service that says what a test wants: OpenAI-compatible, on a real socket, in the real wire format. */
export interface ModelServer extends AsyncDisposable {
  /** The base URL, the endpoint of models: it ends with `/v1`, or as that of the wire's service does. */
  readonly url: string
  /** The bodies of all chat requests, in order. */
  readonly requests: readonly ModelRequest[]
  /** The headers of all requests, in order. */
  readonly headers: readonly IncomingHttpHeaders[]
  /** How many connections clients have opened. */
  connections(): number
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
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  checkArgument('openModelServer', 'the script', script, 'array|function')
  checkOptions('openModelServer', options, serverOptions)
  if (script.length === 0 && typeof script !== 'function')
    throw new Error('The script of a model needs at least one answer')
  const { clock = systemClock, port: wanted = 0, wire = 'openai', usage: hasUsage = true } = options
  const requests: ModelRequest[] = []
  const headers: IncomingHttpHeaders[] = []
  let connections = 0
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
      const fault = faultIn(wire, chat)
      if (fault) return writeJson(response, fault.status, fault.body)
      const answer = await answerTo(script, chat, requests.length)
      writeAnswer(response, answer, { chat, clock, wire, hasUsage })
    } catch (error) {
      thrown.push(error)
      // A status that nobody tries again, so that the test comes to its end.
      refuse(response, 400, 'The script of the model has failed')
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()) // the client left while it spoke
  }).on('connection', () => connections++)
  const port = await listenOn(server, wanted)
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve, reject) => {
      server.close(() => (thrown.length > 0 ? reject(thrown[0]) : resolve()))
      server.closeAllConnections()
    })
    return closing
  }
  return {
    url: `http://127.0.0.1:${port}${basePathOf(wire)}`,
    requests,
    headers,
    connections: () => connections,
    abandoned: abandoned.promise,
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function listenOn(server: Server, wanted: number): Promise<number | undefined> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(wanted, '127.0.0.1', resolve)
  })
  const address = server.address()
  return typeof address === 'object' ? address?.port : undefined
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

/** What an answer is to, how the service writes it, and by which time it is delayed. */
interface AnswerContext {
  readonly chat: ModelRequest
  readonly clock: Clock
  readonly wire: ModelWire
  readonly hasUsage: boolean
}

/** Writes an answer as a model service does: a stream where one was asked for, else a whole completion. */
function writeAnswer(response: ServerResponse, answer: ModelAnswer, context: AnswerContext): void {
  const { chat, clock, wire, hasUsage } = context
  if (typeof answer === 'string') writeSpoken(response, context, { texts: [answer], hasUsage })
  else if ('chunks' in answer) {
    const { chunks: texts, ...more } = answer
    writeSpoken(response, context, { texts, ...more, hasUsage })
  } else if ('tools' in answer) {
    const { tools: calls, text, ...more } = answer
    writeSpoken(response, context, { texts: text ? [text] : [], calls, ...more, hasUsage })
  } else if ('refusal' in answer) {
    writeSpoken(response, context, { texts: [], refusal: answer.refusal, hasUsage })
  } else if ('error' in answer) {
    const { status, body } = errorOf(wire, answer.error)
    const { after } = answer
    if (!after || chat.stream !== true) writeJson(response, status, body, answer.headers)
    else {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const text of errorFrames(chat, wire, { after, body })) response.write(text)
      endLater(response, 3)
    }
  } else if ('status' in answer) {
    const body = answer.body ?? { error: { message: 'refused' } }
    writeJson(response, answer.status, body, answer.headers)
  } else if ('delayMs' in answer) {
    const write = (): void => writeAnswer(response, answer.answer, context)
    response.once('close', clock.after(answer.delayMs, write))
  } else if ('whole' in answer)
    writeJson(response, 200, toWholeAnswer(chat, wire, { texts: [answer.whole], hasUsage }))
  else if (!('silent' in answer)) writeFaulty(response, answer, context)
}

function writeSpoken(
  response: ServerResponse,
  { chat, wire }: AnswerContext,
  spoken: Spoken,
): void {
  if (chat.stream !== true) {
    writeJson(response, 200, toWholeAnswer(chat, wire, spoken))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const text of toFrames(chat, wire, spoken)) response.write(text)
  endLater(response, 3)
}

/** Ends the body in a packet of its own, when clients on this machine have read the last event, as services do. */
function endLater(response: ServerResponse, turns: number): void {
  if (turns === 0) response.end()
  else setImmediate(() => endLater(response, turns - 1))
}

function writeFaulty(
  response: ServerResponse,
  answer: Extract<
    ModelAnswer,
    { raw: unknown } | { drip: true } | { hang: unknown } | { broken: unknown }
  >,
  { chat, clock, wire }: AnswerContext,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  if ('raw' in answer) {
    response.write(answer.raw)
    if (!answer.open) response.end()
  } else if ('drip' in answer) drip(response, clock)
  else {
    const pieces = 'hang' in answer ? answer.hang : answer.broken
    for (const delta of textDeltas(pieces)) response.write(frame(chunkOf(chat, wire, delta)))
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
