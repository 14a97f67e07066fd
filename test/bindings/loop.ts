import {
  type ClientReply,
  type HttpChunk,
  type HttpHandler,
  type HttpReply,
  type HttpSend,
  isStreamed,
} from '../../src/bindings/http.ts'

/** Sends requests straight to a handler: client and server halves with nothing but their bytes between. */
export function loop(handler: HttpHandler): HttpSend {
  return async ({ method, url, headers, body = '', signal }) => {
    const { pathname, search } = new URL(url)
    const reply = await handler({
      method,
      path: pathname,
      query: search.slice(1),
      headers,
      body,
      ...(signal ? { signal } : {}),
    })
    return toClientReply(reply)
  }
}

/** A reply as a client sees it. */
export function toClientReply({ status, headers, body = '' }: HttpReply): ClientReply {
  return {
    status,
    headers,
    text: async () => {
      let text = ''
      const decoder = new TextDecoder()
      for await (const chunk of pieces(body)) text += decoder.decode(chunk, { stream: true })
      return text
    },
    async *chunks() {
      yield* pieces(body)
    },
  }
}

async function* pieces(body: NonNullable<HttpReply['body']>): AsyncGenerator<Uint8Array> {
  if (isStreamed(body)) for await (const chunk of body) yield toBytes(chunk)
  else yield toBytes(body)
}

function toBytes(chunk: HttpChunk): Uint8Array {
  return typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk
}
