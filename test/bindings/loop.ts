import type { ClientReply, HttpHandler, HttpReply, HttpSend } from '../../src/bindings/http.ts'

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
      for await (const chunk of pieces(body)) text += chunk
      return text
    },
    async *chunks() {
      const encoder = new TextEncoder()
      for await (const chunk of pieces(body)) yield encoder.encode(chunk)
    },
  }
}

async function* pieces(body: string | AsyncIterable<string>): AsyncGenerator<string> {
  if (typeof body === 'string') yield body
  else yield* body
}
