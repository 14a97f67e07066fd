import { Agent as Connections, errors, request } from 'undici'
import { AddressRefused } from '../../client/faults.ts'
import { isPassing, type RetryContext, retryRules } from '../../client/retry.ts'
import { checkedConnector } from '../../network/connect.ts'
import { createNamedRules, type Rules } from '../../network/rules.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { retry } from '../../shared/retry.ts'
import type { Account } from '../account.ts'
import { type Assembly, type ChatAnswer, createAssembly } from './assembly.ts'
import { malformed, networkFault, refusal, retryAfterOf } from './errors.ts'
import { readDeltas, readText, type ServiceReply, withinSilence } from './read.ts'
import { type ChatDelta, type ChatRequest, toUrls } from './wire.ts'

/** What a chat client needs to know. */
interface ChatClientOptions extends RetryContext {
  /** Names the model's user in errors. */
  readonly agent: string
  readonly endpoint: string
  /** Sent as a bearer token; a service may need none. */
  readonly apiKey?: string
  /** How long the service may be silent: until it connects, until it answers, between two chunks of the answer. */
  readonly timeoutMs: number
  /** Where connections may lead; if absent, to the endpoint as it is written. */
  readonly rules?: Rules
  /** Sent with every request, over our own; they may hold secrets. */
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of every request. */
  readonly extraBody?: JsonObject
}

/** A model service. Leaving a stream, or a signal that fires, closes the connection. */
export interface ChatClient {
  /** The chunks of one answer as they come. Tried again until the answer begins, never after: what is said is said. */
  stream(chat: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta>
  /** One answer as a whole, at an account's prices; tried again until it is there. */
  complete(chat: ChatRequest, signal: AbortSignal, account?: Account): Promise<ChatAnswer>
  /** Resolves where the service lists its models within 5 seconds. */
  probe(): Promise<void>
  close(): Promise<void>
}

const probeMs = 5_000

/** A client of an OpenAI-compatible service. It holds kept-alive connections until it is closed. */
export function createChatClient(options: ChatClientOptions): ChatClient {
  const { agent, timeoutMs, clock } = options
  const service = connectService(options)

  async function* read(
    opening: () => Promise<ServiceReply>,
    signal: AbortSignal,
  ): AsyncGenerator<ChatDelta> {
    const reply = await opening()
    const giveUp = (): void => void reply.body.destroy(new errors.BodyTimeoutError())
    try {
      yield* withinSilence(readDeltas(reply, agent), { ms: timeoutMs, clock, giveUp })
    } catch (error) {
      signal.throwIfAborted()
      throw isNetworkError(error) ? networkFault(agent, error) : error
    } finally {
      reply.body.destroy()
    }
  }

  return {
    stream(chat, signal) {
      const streamed = {
        ...options.extraBody,
        ...chat,
        stream: true,
        stream_options: { include_usage: true },
      }
      const body = JSON.stringify(streamed)
      const format = chat.response_format?.type
      const attempt = (): Promise<ServiceReply> => service.ask(body, signal, format)
      return read(() => retry(attempt, retryRules(options, isPassing, signal)), signal)
    },
    complete(chat, signal, account) {
      const body = JSON.stringify({ ...options.extraBody, ...chat })
      const opening = (): Promise<ServiceReply> => service.ask(body, signal)
      const attempt = (): Promise<ChatAnswer> =>
        assemble(read(opening, signal), agent, createAssembly(account, chat.model))
      return retry(attempt, retryRules(options, isPassing, signal))
    },
    probe: service.probe,
    close: service.close,
  }
}

interface Service extends Pick<ChatClient, 'probe' | 'close'> {
  /** One request for an answer, in a `response_format` of this type if any. @throws A2AError for a refusal, or where the service cannot be reached. */
  ask(body: string, signal: AbortSignal, format?: string): Promise<ServiceReply>
}

function connectService(options: ChatClientOptions): Service {
  const { agent, timeoutMs, apiKey, clock, log } = options
  const { completions, models } = toUrls(options.endpoint)
  const { rules = createNamedRules([completions]) } = options
  const dispatcher = new Connections({
    connect: checkedConnector({
      rules,
      refusal: (reason) => new AddressRefused(reason),
      timeoutMs,
    }),
  })
  const own = Object.entries(options.headers ?? {})
  const credentials = {
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value])),
  }
  const secrets = [apiKey ?? '', ...own.map(([, value]) => value)].filter(
    ({ length }) => length > 3,
  )
  const headers = {
    ...credentials,
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
  }
  const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  let closing: Promise<void> | undefined

  async function refuse(reply: ServiceReply, format: string | undefined): Promise<A2AError> {
    const said = (await readText(reply).catch(() => '')).slice(0, 500)
    const text = secrets.reduce((words, one) => words.replaceAll(one, '[redacted]'), said)
    log.warn({ agent, status: reply.statusCode, text }, 'the model service refused')
    const retryAfterSeconds = retryAfterOf(reply.headers, clock.now())
    return refusal(agent, reply.statusCode, { retryAfterSeconds, format })
  }

  return {
    async ask(body, signal, format) {
      const asked = { dispatcher, method: 'POST', headers, body, signal, ...limits } as const
      const reply = await request(completions, asked).catch((cause: unknown) => {
        signal.throwIfAborted()
        throw networkFault(agent, cause)
      })
      if (reply.statusCode < 300) return reply
      throw await refuse(reply, format)
    },
    async probe() {
      const late = new AbortController()
      const callOff = clock.after(probeMs, () => late.abort(new errors.HeadersTimeoutError()))
      try {
        const asked = { dispatcher, headers: credentials, signal: late.signal }
        const reply = await request(models, asked).catch((cause: unknown) => {
          throw networkFault(agent, cause)
        })
        await reply.body.dump()
        if (reply.statusCode >= 300) throw refusal(agent, reply.statusCode)
      } finally {
        callOff()
      }
    },
    close: () => (closing ??= dispatcher.destroy()),
  }
}

async function assemble(
  deltas: AsyncIterable<ChatDelta>,
  agent: string,
  answer: Assembly,
): Promise<ChatAnswer> {
  for await (const delta of deltas) answer.add(delta)
  const isEmpty = answer.text === '' && answer.toolCalls().length === 0
  if (isEmpty && answer.finish === undefined) throw malformed(agent, 'sent no chat completion')
  return answer
}

/** The errors of undici and of the system have codes in upper case; our own have words in lower case. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return typeof error.code === 'string' && /^[A-Z_]+$/.test(error.code)
}
