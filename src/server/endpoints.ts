import type { Agent, Health } from '../agents/agent.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
import { createMcpBinding } from '../bindings/mcp/server.ts'
import { createOpenAIBinding, type OpenAIModel } from '../bindings/openai/server.ts'
import type { OpenAIRoute, RouteHandlers, ServerRoute } from '../bindings/routes.ts'
import { historyExtension } from '../protocol/extensions.ts'
import type { Clock } from '../shared/clock.ts'
import type { Mount } from './mount.ts'
import type { ServerOptions } from './options.ts'
import type { ServerParts } from './parts.ts'

/** What answers clients that do not speak A2A: the server's agents as models and as tools. */
export interface Endpoints {
  readonly openai: RouteHandlers<OpenAIRoute>
  readonly mcp: HttpHandler
  close(): Promise<void>
}

/** Makes the endpoints. Agents are looked up at each request, so a changed team is a changed model. */
export function createEndpoints(
  { options, clock }: Pick<ServerParts, 'options' | 'clock'>,
  mounts: ReadonlyMap<string, Mount>,
): Endpoints {
  const { heartbeatMs } = options.timeouts ?? {}
  const origins = options.cors?.origins
  const mcp = createMcpBinding({
    offers: () => Promise.all([...mounts.values()].map(toOffer)),
    ...(Array.isArray(origins) && { allowedOrigins: origins }),
  })
  return {
    openai: createOpenAIBinding({
      dispatchOf: (model) => mounts.get(model)?.dispatch,
      models: () => [...mounts.values()].map(toModel),
      clock,
      ...(heartbeatMs !== undefined && { heartbeatMs }),
    }),
    mcp: mcp.handle,
    close: mcp.close,
  }
}

function toModel({ id, identity }: Mount): OpenAIModel {
  const extensions = identity.known().details?.extensions ?? []
  return { id, readsHistory: extensions.some(({ uri }) => uri === historyExtension) }
}

async function toOffer({ id, identity, dispatch }: Mount): Promise<{
  readonly id: string
  readonly name: string
  readonly description: string
  readonly dispatch: Mount['dispatch']
}> {
  const { name, description } = await identity.info()
  return { id, name, description, dispatch }
}

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
    catalogue: ({ base }) => catalogue(mounts, base),
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
async function catalogue(mounts: Mounts, server?: string): Promise<HttpReply> {
  const agents = await Promise.all(
    [...mounts.values()].map(async ({ id, identity }) => {
      const card = await identity.card()
      const url = identity.base(server)
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
