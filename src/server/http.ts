import type { HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
import {
  createRouteTable,
  isConsolePath,
  serverRoutes,
  splitAgentPath,
} from '../bindings/routes.ts'
import { isPromiseLike } from '../shared/async.ts'
import { type Logger, tellsAll } from '../shared/log.ts'
import type { ServerConsole } from './console.ts'
import { createMarks } from './cors.ts'
import { createPages, type Endpoints } from './endpoints.ts'
import type { Mount } from './mount.ts'
import type { ServerOptions } from './options.ts'
import { type BrowserRules, localRules, openRules } from './origins.ts'
import type { ServerParts } from './parts.ts'
import { createProxyReader } from './proxies.ts'

/** What answers requests, by where they arrive. */
interface Handlers {
  /** Answers wherever the server is mounted, and on binds that others reach. */
  readonly handle: HttpHandler
  /** Answers on a bind that only this machine reaches, under the name it is bound to. */
  local(boundTo: string): HttpHandler
}

/**
 * Answers at every path of a server (`bindings/routes.ts` lists them): its own pages and endpoints first, then the agent
 * under `/agents/{id}`, else the first agent at the root. The handlers never reject.
 */
export function createHandlers(
  parts: ServerParts,
  mounts: ReadonlyMap<string, Mount>,
  endpoints: Endpoints,
): Handlers {
  const { options, logger } = parts
  const route = createRoute(parts, mounts, endpoints)
  const served = parts.console()
  const shared = {
    routes: options.routes,
    locate: createProxyReader(options, logger),
    logger,
  }
  return {
    handle: createHandler(
      { ...shared, route: served ? withConsole(route, served, false) : route },
      openRules(options),
    ),
    local: (boundTo) =>
      createHandler(
        { ...shared, route: served ? withConsole(route, served, true) : route },
        localRules(options, boundTo),
      ),
  }
}

/** What the handlers of a server share. */
interface Shared {
  readonly routes: ServerOptions['routes']
  readonly route: HttpHandler
  readonly locate: ReturnType<typeof createProxyReader>
  readonly logger: Logger
}

function createHandler(
  { routes, route, locate, logger }: Shared,
  { policy, refuse }: BrowserRules,
): HttpHandler {
  const marks = createMarks(policy)

  function fail(request: HttpRequest, err: unknown): HttpReply {
    logger.error({ err }, 'A request failed')
    return marks.mark(request, failed)
  }

  function answer(request: HttpRequest): Promise<HttpReply> | HttpReply {
    const reply = route(request)
    return reply instanceof Promise
      ? reply.then(
          (settled) => marks.mark(request, settled),
          (err) => fail(request, err),
        )
      : marks.mark(request, reply)
  }

  /** What the user's own routes answer; what they pass on is ours. */
  function answerOwn(
    own: ReturnType<NonNullable<typeof routes>>,
    request: HttpRequest,
  ): Promise<HttpReply> | HttpReply {
    if (isPromiseLike(own))
      return Promise.resolve(own).then(
        (given) => answerOwn(given, request),
        (err) => fail(request, err),
      )
    return own ? marks.markForeign(request, own) : answer(request)
  }

  return (received) => {
    try {
      const request = locate(received)
      const refused = refuse?.(request)
      if (refused) return marks.mark(request, refused)
      if (request.method === 'OPTIONS') return marks.mark(request, marks.preflight(request))
      return routes && !request.answered ? answerOwn(routes(request), request) : answer(request)
    } catch (err) {
      return fail(received, err)
    }
  }
}

function createRoute(
  parts: ServerParts,
  mounts: ReadonlyMap<string, Mount>,
  { openai, mcp }: Endpoints,
): HttpHandler {
  const find = createRouteTable(serverRoutes, { ...createPages(parts, mounts), ...openai, mcp })
  return (request) => {
    const own = find(request.path)
    if (own) return own(request)
    const named = splitAgentPath(request.path)
    if (named) {
      const id = decodeSegment(named.id)
      const mount = mounts.get(id)
      return mount ? mount.handle({ ...request, path: named.below }) : noAgent(parts, mounts, id)
    }
    const first = mounts.values().next().value
    return first ? first.handle(request) : notFound
  }
}

/** Puts a console in front of the routes of a server: its own paths, and the root for browsers. */
function withConsole(route: HttpHandler, served: ServerConsole, isLocal: boolean): HttpHandler {
  return (request) => {
    const { method, path } = request
    if (method !== 'POST' && path === '/') return served.root(request) ?? route(request)
    return isConsolePath(path) ? served.handle(request, isLocal) : route(request)
  }
}

/** Names those there are where anyone may see the catalogue. */
function noAgent(
  { auth, logger }: ServerParts,
  mounts: ReadonlyMap<string, Mount>,
  agent: string,
): HttpReply {
  if (tellsAll(logger)) logger.info({ agent }, 'There is no such agent')
  if (!auth.open) return notFound
  const some = [...mounts.keys()].slice(0, maxNamed).join(', ')
  const more = mounts.size > maxNamed ? ' and others, at /agents' : ''
  const message = `There is no such agent; there are ${some}${more}`
  const body = JSON.stringify({ error: { code: 404, status: 'NOT_FOUND', message } })
  return { status: 404, headers: json, body }
}

/** So many agents are named to one who asks for another. */
const maxNamed = 20

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
