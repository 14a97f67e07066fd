import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { isCardPath, isConsolePath, methodsAt } from '../bindings/routes.ts'

/** Which pages may read a server's answers. What the console says is for its own page alone. */
export interface PagePolicy {
  /** What every page may read: all answers, the cards, or nothing. */
  readonly open: 'all' | 'cards' | 'nothing'
  /** Whether pages of this origin may read everything. */
  allows?(origin: string): boolean
}

/** Marks what a browser gets to see: who may read it, and what a page made of it may do. */
interface Marks {
  preflight(request: HttpRequest): HttpReply
  mark(request: HttpRequest, reply: HttpReply): HttpReply
  /** Marks a reply of the user's own routes: what its page may do is the user's matter. */
  markForeign(request: HttpRequest, reply: HttpReply): HttpReply
}

type Headers = HttpReply['headers']

const allowHeaders =
  'Content-Type, Authorization, A2A-Version, A2A-Extensions, X-A2A-Extensions, Last-Event-ID, Idempotency-Key, X-API-Key, traceparent'
const exposeHeaders =
  'A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, WWW-Authenticate'

/** For whatever a browser may show. */
const shown = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

/** For data: shown as a page it runs nothing, and stands in no frame. A reply that is a page names its own policy. */
const data = {
  ...shown,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
}

const forAll = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposeHeaders,
}

/** Makes the marks of a policy. */
export function createMarks({ open, allows }: PagePolicy): Marks {
  const closed = createMark((headers) => ({
    ...data,
    'cross-origin-resource-policy': 'same-origin',
    ...headers,
    // A cache must not give the answer without an origin to a page that may read it.
    ...(allows && headers['cache-control']?.startsWith('public') && { vary: varied(headers) }),
  }))
  const opened = createMark((headers) => ({
    ...data,
    'cross-origin-resource-policy': 'cross-origin',
    ...headers,
    ...forAll,
  }))
  const foreign = createMark((headers) => ({ ...shown, ...headers }))
  const foreignOpened = createMark((headers) => ({ ...shown, ...headers, ...forAll }))

  function isOpen({ method, path }: HttpRequest): boolean {
    if (isConsolePath(path)) return false
    return open === 'all' || (open === 'cards' && method !== 'POST' && isCardPath(path))
  }

  function allowedOrigin({ path, headers: { origin } }: HttpRequest): string | undefined {
    return origin !== undefined && allows?.(origin) && !isConsolePath(path) ? origin : undefined
  }

  function withOrigin(request: HttpRequest, headers: Headers): Headers {
    const origin = allowedOrigin(request)
    return origin === undefined ? headers : { ...headers, ...forOrigin(origin, headers) }
  }

  return {
    preflight(request) {
      const methods = [...methodsAt(request.path), 'OPTIONS'].join(', ')
      const origin = isOpen(request) ? '*' : allowedOrigin(request)
      if (origin === undefined) return { status: 204, headers: { allow: methods } }
      return { status: 204, headers: leaveFor(origin, methods) }
    },
    mark(request, reply) {
      const { headers } = reply
      return isOpen(request)
        ? withHeaders(reply, opened(headers))
        : withHeaders(reply, withOrigin(request, closed(headers)))
    },
    markForeign(request, reply) {
      const { headers } = reply
      return isOpen(request)
        ? withHeaders(reply, foreignOpened(headers))
        : withHeaders(reply, withOrigin(request, foreign(headers)))
    },
  }
}

/** Replies share a few constant header objects; each is marked once. */
function createMark(mark: (headers: Headers) => Headers): (headers: Headers) => Headers {
  const marked = new WeakMap<object, Headers>()
  return (headers) => {
    const known = marked.get(headers)
    if (known) return known
    const all = mark(headers)
    marked.set(headers, all)
    return all
  }
}

function withHeaders({ status, body }: HttpReply, headers: Headers): HttpReply {
  return body === undefined ? { status, headers } : { status, headers, body }
}

function forOrigin(origin: string, headers: Headers): Headers {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposeHeaders,
    vary: varied(headers),
  }
}

function varied({ vary }: Headers): string {
  if (!vary) return 'Origin'
  return vary.split(', ').includes('Origin') ? vary : `${vary}, Origin`
}

function leaveFor(origin: string, methods: string): Headers {
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': allowHeaders,
    'access-control-max-age': '86400',
    ...(origin !== '*' && { vary: 'Origin' }),
  }
}
