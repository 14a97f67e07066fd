import type { ClientReply, ClientRequest, HttpSend } from '../bindings/http.ts'
import { checkOptions } from '../shared/options.ts'
import {
  connectionLost,
  type HttpClient,
  type HttpOptions,
  httpOptions,
  toBounds,
  tooLarge,
  withBounds,
  withTimeouts,
} from './http.ts'

export { createFetchHttp as createHttp }

/** HTTP over the runtime's `fetch`. In a browser this file takes the place of `node.ts`, so it exports the same name. */
function createFetchHttp(options: HttpOptions = {}): HttpClient {
  checkOptions('createHttp', options, httpOptions)
  const send = withBounds(fetchSend(), toBounds(options))
  return { send: withTimeouts(send, options), close: () => Promise.resolve() }
}

/**
 * Sends HTTP requests over a given `fetch`: the `send` of a client. Redirects are refused, so that credentials go
 * nowhere unasked.
 */
export function fetchSend(fetcher: typeof fetch = fetch): HttpSend {
  return async (message) => {
    // fetch does not tell a refused connection from a broken one, so no failure here counts as unheard.
    const failed = (cause: unknown): unknown => fault(cause, message)
    const { url, method, headers, body, signal } = message
    const answer = await fetcher(url, {
      method,
      headers,
      redirect: 'error',
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    }).catch((cause) => {
      throw failed(cause)
    })
    const head = { status: answer.status, headers: Object.fromEntries(answer.headers) }
    return createReply(head, () => pieces(answer.body), failed)
  }
}

/** Reads by hand: not every browser can iterate a ReadableStream. */
async function* pieces(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {}) // nothing is left to be told when the connection is gone
  }
}

function fault(cause: unknown, { url, signal }: ClientRequest): unknown {
  return signal?.aborted ? signal.reason : connectionLost(url, cause)
}

/** A reply whose body comes in pieces; `lost` names a failure of the connection while it is read. */
function createReply(
  head: Pick<ClientReply, 'status' | 'headers'>,
  body: () => AsyncIterable<Uint8Array>,
  lost: (cause: unknown) => unknown,
): ClientReply {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* body()
    } catch (cause) {
      throw lost(cause)
    }
  }
  return { ...head, chunks, text: (maxBytes) => readText(chunks(), maxBytes) }
}

/** Bounded even for those who use this `send` by itself. */
const { maxResponseBytes } = toBounds({})

async function readText(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = maxResponseBytes,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge(maxBytes)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
