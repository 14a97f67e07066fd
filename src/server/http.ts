import type { HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
import { createRouteTable, methodsAt, serverRoutes, splitAgentPath } from '../bindings/routes.ts'
import { isPromiseLike } from '../shared/async.ts'
import { createPages, type Endpoints } from './endpoints.ts'
import type { Mount } from './mount.ts'
import type { CorsOptions } from './options.ts'
import type { ServerParts } from './parts.ts'

/**
 * Answers at every path of a server (`bindings/routes.ts` lists them): its own pages and endpoints first, then the agent
 * under `/agents/{id}`, else the first agent at the root. Never rejects.
 */
export function createHandler(
  parts: ServerParts,
  mounts: ReadonlyMap<string, Mount>,
  { openai, mcp }: Endpoints,
): HttpHandler {
  const cors = createCors(parts.options.cors)
  const find = createRouteTable(serverRoutes, { ...createPages(parts, mounts), ...openai, mcp })

  function route(request: HttpRequest): Promise<HttpReply> | HttpReply {
    const own = find(request.path)
    if (own) return own(request)
    const named = splitAgentPath(request.path)
    if (named) {
      const mount = mounts.get(decodeSegment(named.id))
      return mount ? mount.handle({ ...request, path: named.below }) : notFound
    }
    const first = mounts.values().next().value
    return first ? first.handle(request) : notFound
  }

  function fail(request: HttpRequest, err: unknown): HttpReply {
    parts.logger.error({ err }, 'A request failed')
    return cors.mark(request, failed)
  }

  return (request) => {
    if (request.method === 'OPTIONS')
      return cors.preflight(request, [...methodsAt(request.path), 'OPTIONS'].join(', '))
    try {
      const own = parts.options.routes?.(request)
      const reply = isPromiseLike(own)
        ? Promise.resolve(own).then((given) => given ?? route(request))
        : (own ?? route(request))
      if (!(reply instanceof Promise)) return cors.mark(request, reply)
      return reply.then(
        (settled) => cors.mark(request, settled),
        (err) => fail(request, err),
      )
    } catch (err) {
      return fail(request, err)
    }
  }
}

const json = { 'content-type': 'application/json' }
const notFound: HttpReply = {
  status: 404,
  headers: json,
  body: '{"error":{"code":404,"status":"NOT_FOUND","message":"There is no such agent"}}',
}
const failed: HttpReply = {
  status: 500,
  headers: json,
  body: '{"error":{"code":500,"status":"INTERNAL","message":"Internal error"}}',
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Answers preflights and marks replies. */
interface Cors {
  preflight(request: HttpRequest, methods: string): HttpReply
  mark(request: HttpRequest, reply: HttpReply): HttpReply
}

const allowHeaders =
  'Content-Type, Authorization, A2A-Version, A2A-Extensions, X-A2A-Extensions, Last-Event-ID, Idempotency-Key, X-API-Key, traceparent'
const exposeHeaders =
  'A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, WWW-Authenticate'

/** Makes the server's CORS rules. */
function createCors({ origins = '*' }: CorsOptions = {}): Cors {
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
