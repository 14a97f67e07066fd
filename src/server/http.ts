import type { HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
import { isPromiseLike } from '../shared/async.ts'
import { createCors } from './cors.ts'
import type { Doors } from './doors.ts'
import { healthOf, liveness } from './health.ts'
import type { Mount, Shared } from './mount.ts'
import type { ServerOptions } from './options.ts'

const json = { 'content-type': 'application/json' }

/**
 * Where things answer (ARCHITECTURE §5): the server's own pages and doors, then the agent under `/agents/{id}`, else
 * the first agent at the root. Never rejects.
 */
export function createHandler(
  shared: Shared,
  mounts: ReadonlyMap<string, Mount>,
  doors: Doors,
): HttpHandler {
  const cors = createCors(shared.options.cors)
  const pages: Readonly<Record<string, HttpHandler>> = {
    '/health': (request) => health(request),
    '/metrics': () => shared.metrics.page(gauges(shared, mounts)),
    '/agents': () => catalogue(mounts),
    ...keysPage(shared.options),
  }

  async function health(request: HttpRequest): Promise<HttpReply> {
    if (new URLSearchParams(request.query).has('live')) return liveness()
    const agents = [...mounts.values()].map((mount) => ({
      id: mount.id,
      name: mount.identity.known().name,
      agent: mount.agent(),
    }))
    return healthOf(agents, shared.store)
  }

  function route(request: HttpRequest): Promise<HttpReply> | HttpReply {
    const page = pages[request.path]
    if (page) return request.method === 'GET' || request.method === 'HEAD' ? page(request) : notGet
    if (!request.path.startsWith('/agents/')) {
      const door = doors.at(request.path)
      if (door) return door(request)
      const first = mounts.values().next().value
      return first ? first.handle(request) : notFound
    }
    const cut = request.path.indexOf('/', 8)
    const id = decodeSegment(request.path.slice(8, cut < 0 ? undefined : cut))
    const mount = mounts.get(id)
    if (!mount) return notFound
    return mount.handle({ ...request, path: cut < 0 ? '/' : request.path.slice(cut) })
  }

  function fail(request: HttpRequest, err: unknown): HttpReply {
    shared.logger.error({ err }, 'A request failed')
    return cors.mark(request, failed)
  }

  return (request) => {
    if (request.method === 'OPTIONS') return cors.preflight(request, methodsOf(request.path))
    try {
      const own = shared.options.routes?.(request)
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

const notGet: HttpReply = { status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } }
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

/** JSON-RPC paths take POST, cards and pages GET, REST all three. */
function methodsOf(path: string): string {
  const below = path.replace(/^\/agents\/[^/]+/, '')
  if (/^\/?$|^\/rpc\/?$|^\/v1\/rpc\/?$|^\/stream$/.test(below)) return 'POST, OPTIONS'
  if (/^\/(\.well-known\/|health|metrics|agents$)/.test(below)) return 'GET, OPTIONS'
  return 'GET, POST, DELETE, OPTIONS'
}

/** The public keys of webhook tokens, for receivers to check them; only where tokens are signed. */
function keysPage({ pushNotifications }: ServerOptions): Readonly<Record<string, HttpHandler>> {
  const signer = typeof pushNotifications === 'object' ? pushNotifications.signer : undefined
  if (!signer) return {}
  const headers = { ...json, 'cache-control': 'public, max-age=300' }
  const reply = { status: 200, headers, body: JSON.stringify(signer.jwks()) }
  return { '/.well-known/jwks.json': () => reply }
}

/** Every agent with its card's address. */
async function catalogue(mounts: ReadonlyMap<string, Mount>): Promise<HttpReply> {
  const agents = await Promise.all(
    [...mounts.values()].map(async ({ id, identity }) => {
      const card = await identity.card()
      const url = identity.base()
      const { name, description, version } = card
      return { id, name, description, version, url, card: `${url}/.well-known/agent-card.json` }
    }),
  )
  return { status: 200, headers: json, body: JSON.stringify({ agents }) }
}

function gauges(
  { queue, hub }: Shared,
  mounts: ReadonlyMap<string, Mount>,
): Readonly<Record<string, number>> {
  const { running, waiting, away } = queue.counts()
  let live = 0
  for (const mount of mounts.values()) live += mount.engine.live()
  return {
    turns_running: running,
    turns_waiting: waiting,
    turns_away: away,
    tasks_live: live,
    stream_watchers: hub.count(),
    resident_memory_bytes: globalThis.process?.memoryUsage?.rss?.() ?? 0,
  }
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
