import type { HttpReply, HttpRequest } from '../bindings/http.ts'

/** Which pages may call. Credentials are never allowed together with `*`. */
export interface CorsOptions {
  /** Allowed origins, or `*` for all, the default; an empty list turns CORS off. */
  readonly origins?: '*' | readonly string[]
}

/** Answers preflights and marks replies. */
interface Cors {
  preflight(request: HttpRequest, methods: string): HttpReply
  mark(request: HttpRequest, reply: HttpReply): HttpReply
}

const allowHeaders =
  'Content-Type, Authorization, A2A-Version, A2A-Extensions, X-A2A-Extensions, Last-Event-ID, Idempotency-Key, X-API-Key, traceparent'
const exposeHeaders = 'A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, WWW-Authenticate'

/** Makes the server's CORS rules. */
export function createCors({ origins = '*' }: CorsOptions = {}): Cors {
  /** Replies share a few constant header objects; each is marked once. */
  const marked = new WeakMap<object, Readonly<Record<string, string>>>()

  function originFor(request: HttpRequest): string | undefined {
    if (origins === '*') return '*'
    const { origin } = request.headers
    return origin !== undefined && origins.includes(origin) ? origin : undefined
  }

  function markAll(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const known = marked.get(headers)
    if (known) return known
    const all = {
      ...headers,
      'access-control-allow-origin': '*',
      'access-control-expose-headers': exposeHeaders,
    }
    marked.set(headers, all)
    return all
  }

  return {
    preflight(request, methods) {
      const origin = originFor(request)
      if (!origin) return { status: 204, headers: {} }
      const headers = {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': methods,
        'access-control-allow-headers': allowHeaders,
        'access-control-max-age': '86400',
        ...(origin !== '*' && { vary: 'Origin' }),
      }
      return { status: 204, headers }
    },
    mark(request, reply) {
      if (origins === '*') {
        const { status, headers, body } = reply
        return body === undefined
          ? { status, headers: markAll(headers) }
          : { status, headers: markAll(headers), body }
      }
      const origin = originFor(request)
      if (!origin) return reply
      const headers = {
        ...reply.headers,
        'access-control-allow-origin': origin,
        'access-control-expose-headers': exposeHeaders,
        vary: reply.headers.vary ? `${reply.headers.vary}, Origin` : 'Origin',
      }
      return { ...reply, headers }
    },
  }
}
