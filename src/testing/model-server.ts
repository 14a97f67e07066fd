import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createDeferred } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { writeAnswer, writeJson } from './model-answer.ts'
import type { ModelAnswer, ModelRequest, ModelScript } from './model-script.ts'

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

/** What a scripted model service works with. */
export interface ModelServerOptions {
  /** The time by which answers are delayed; the machine's own if absent. */
  readonly clock?: Clock
  /** Where it listens on this machine; on any free port if absent. */
  readonly port?: number
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

function answerTo(
  script: ModelScript,
  chat: ModelRequest,
  count: number,
): ModelAnswer | Promise<ModelAnswer> {
  if (typeof script === 'function') return script(chat, count)
  return script[Math.min(count, script.length) - 1] ?? ''
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

function refuse(response: ServerResponse, status: number, message: string): undefined {
  writeJson(response, status, { error: { message } })
}
