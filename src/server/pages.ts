import type { Agent, Health } from '../agents/agent.ts'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import type { RouteHandlers, ServerRoute } from '../bindings/routes.ts'
import type { Clock } from '../shared/clock.ts'
import type { Mount } from './mount.ts'
import type { ServerOptions } from './options.ts'
import type { ServerParts } from './parts.ts'

type Mounts = ReadonlyMap<string, Mount>

/** The server's own pages: how it is, what it counts, whom it serves, and the keys of its webhooks. */
export function createPages(
  parts: ServerParts,
  mounts: Mounts,
): RouteHandlers<Extract<ServerRoute, 'health' | 'metrics' | 'catalogue' | 'keys'>> {
  const keys = keysReply(parts.options)
  return {
    health: (request) => health(request, parts, mounts),
    metrics: () => parts.metrics.page(gauges(parts, mounts)),
    catalogue: () => catalogue(mounts),
    keys: keys && (() => keys),
  }
}

const json = { 'content-type': 'application/json' }
const uncached = { ...json, 'cache-control': 'no-store' }
const alive: HttpReply = { status: 200, headers: uncached, body: '{"status":"alive"}' }
const maxHealthMs = 5_000

/** 503 if an agent or the store cannot do its work. With `?live=1` only: the process runs. */
async function health(
  { query }: HttpRequest,
  { store, clock }: ServerParts,
  mounts: Mounts,
): Promise<HttpReply> {
  if (new URLSearchParams(query).has('live')) return alive
  const agents = await Promise.all(
    [...mounts.values()].map(async ({ id, identity, agent }) => {
      const { name } = identity.known()
      return { id, name, ...(await healthOf(agent(), clock)) }
    }),
  )
  const storeHealth = store.health()
  const healthy = storeHealth.writable && agents.every((agent) => agent.healthy)
  const body = JSON.stringify({
    status: healthy ? 'healthy' : 'unhealthy',
    protocol: 'A2A',
    agent: agents[0]?.name ?? '',
    agents,
    store: storeHealth,
  })
  return { status: healthy ? 200 : 503, headers: uncached, body }
}

/** An agent that does not answer in time, or at all, is not healthy. Why it failed stays inside. */
async function healthOf(agent: Agent, clock: Clock): Promise<Health> {
  if (!agent.health) return { healthy: true }
  let callOff = (): void => {}
  const late = new Promise<Health>((resolve) => {
    const reason = 'no answer in time'
    callOff = clock.after(maxHealthMs, () => resolve({ healthy: false, reason }))
  })
  try {
    return await Promise.race([agent.health(), late])
  } catch {
    return { healthy: false, reason: 'the health check failed' }
  } finally {
    callOff()
  }
}

/** Every agent with its card's address. */
async function catalogue(mounts: Mounts): Promise<HttpReply> {
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

/** The public keys of webhook tokens, for receivers to check them; only where tokens are signed. */
function keysReply({ pushNotifications }: ServerOptions): HttpReply | undefined {
  const signer = typeof pushNotifications === 'object' ? pushNotifications.signer : undefined
  if (!signer) return undefined
  const headers = { ...json, 'cache-control': 'public, max-age=300' }
  return { status: 200, headers, body: JSON.stringify(signer.jwks()) }
}

function gauges({ queue, hub }: ServerParts, mounts: Mounts): Readonly<Record<string, number>> {
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
