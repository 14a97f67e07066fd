import type { ClientRequest, HttpSend } from '../bindings/http.ts'
import { connectionLost } from './network.ts'
import { createReply, type HttpClient, type HttpOptions } from './reply.ts'
import { withTimeouts } from './timeouts.ts'

/** HTTP over the runtime's `fetch`; stands in for `node.ts` in a browser, which makes its connections itself. */
export function createHttp(options: HttpOptions = {}): HttpClient {
  return { send: withTimeouts(fetchSend(), options), close: () => Promise.resolve() }
}

/** HTTP over a given `fetch`. Redirects are refused, so that credentials go nowhere unasked. */
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
