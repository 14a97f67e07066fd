import { Agent as Connections, errors, request } from 'undici'
import { isPassing, type RetryContext, retryRules } from '../../client/retry.ts'
import type { A2AError } from '../../protocol/errors.ts'
import { retry } from '../../shared/retry.ts'
import { trimEnd } from '../../shared/text.ts'
import { networkFault, refusal, retryAfterOf } from './errors.ts'
import { type Reply, readDeltas, readText, withinSilence } from './read.ts'
import type { ChatDelta, ChatRequest } from './wire.ts'

/** What a chat client needs to know. */
export interface ChatClientOptions extends RetryContext {
  /** Names the agent in errors. */
  readonly agent: string
  readonly endpoint: string
  readonly apiKey: string
  /** How long the service may be silent: until it connects, until it answers, between two chunks of the answer. */
  readonly timeoutMs: number
}

/** A model service. */
export interface ChatClient {
  /**
   * The chunks of one answer as they come. Tried again until the answer begins, never after: what is said is said.
   * Leaving the loop closes the connection.
   */
  stream(chat: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta>
  /** Resolves where the service lists its models within 5 seconds. */
  probe(): Promise<void>
  close(): Promise<void>
}

const probeMs = 5_000

/** A client of an OpenAI-compatible service. It holds kept-alive connections until it is closed. */
export function createChatClient(options: ChatClientOptions): ChatClient {
  const { agent, timeoutMs, apiKey } = options
  const { completions, models } = toUrls(options.endpoint)
  const connections = new Connections({ connect: { timeout: timeoutMs } })
  const authorization = `Bearer ${apiKey}`
  let closing: Promise<void> | undefined

  async function open(body: string, signal: AbortSignal): Promise<Reply> {
    const reply = await request(completions, {
      dispatcher: connections,
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
      },
      body,
      signal,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    }).catch((cause: unknown) => {
      signal.throwIfAborted()
      throw networkFault(agent, cause)
    })
    if (reply.statusCode < 300) return reply
    throw await refuse(reply)
  }

  async function refuse(reply: Reply): Promise<A2AError> {
    const said = await readText(reply).catch(() => '')
    const text = said.slice(0, 500).replaceAll(apiKey, '[redacted]')
    options.log.warn({ agent, status: reply.statusCode, text }, 'the model service refused')
    const later = retryAfterOf(reply.headers, options.clock.now())
    return refusal(agent, reply.statusCode, later)
  }

  return {
    async *stream(chat, signal) {
      const body = JSON.stringify({
        ...chat,
        stream: true,
        stream_options: { include_usage: true },
      })
      const attempt = (): Promise<Reply> => open(body, signal)
      const reply = await retry(attempt, retryRules(options, isPassing, signal))
      try {
        yield* withinSilence(readDeltas(reply, agent), timeoutMs, () =>
          reply.body.destroy(new errors.BodyTimeoutError()),
        )
      } catch (error) {
        signal.throwIfAborted()
        throw error instanceof Error && 'code' in error && isNetworkCode(error.code)
          ? networkFault(agent, error)
          : error
      } finally {
        reply.body.destroy()
      }
    },
    async probe() {
      const signal = AbortSignal.timeout(probeMs)
      const headers = { authorization }
      const reply = await request(models, { dispatcher: connections, headers, signal }).catch(
        (cause: unknown) => {
          throw networkFault(agent, cause)
        },
      )
      await reply.body.dump()
      if (reply.statusCode >= 300) throw refusal(agent, reply.statusCode)
    },
    close: () => (closing ??= connections.destroy()),
  }
}

/** A path that ends with `/chat/completions` is used as it is, else that is appended. The query stays. */
export function toUrls(endpoint: string): { completions: string; models: string } {
  const url = new URL(endpoint)
  const base = trimEnd(url.pathname, '/').replace(/\/chat\/completions$/, '')
  const at = (path: string): string => {
    url.pathname = `${base}${path}`
    return url.href
  }
  return { completions: at('/chat/completions'), models: at('/models') }
}

/** Codes of undici and of the system; our own errors have words in lower case. */
function isNetworkCode(code: unknown): boolean {
  return typeof code === 'string' && /^[A-Z_]+$/.test(code)
}
