import type { HttpHandler, HttpReply } from '../bindings/http.ts'
import type { McpOffer } from '../bindings/mcp/offer.ts'
import { createMcpBinding } from '../bindings/mcp/server.ts'
import { createOpenAIBinding, type OpenAIModel } from '../bindings/openai/server.ts'
import type { OpenAIRoute, RouteHandlers, ServerRoute } from '../bindings/routes.ts'
import { clientToolsExtension, historyExtension } from '../protocol/extensions.ts'
import { scopeNames } from '../protocol/scopes.ts'
import { readUrl } from '../shared/url.ts'
import { createHealthPage } from './health.ts'
import type { Mount } from './mount.ts'
import type { ServerOptions } from './options.ts'
import type { ServerParts } from './parts.ts'
import { createVisitors, forKnown } from './visitors.ts'

/** What answers clients that do not speak A2A: the server's agents as models and as tools. */
export interface Endpoints {
  readonly openai: RouteHandlers<OpenAIRoute>
  readonly mcp: HttpHandler
  close(): Promise<void>
}

/** Makes the endpoints. Agents are looked up at each request, so a changed team is a changed model. */
export function createEndpoints(parts: ServerParts, mounts: ReadonlyMap<string, Mount>): Endpoints {
  const { options, clock } = parts
  const { identify } = createVisitors(parts)
  const { heartbeatMs } = options.timeouts ?? {}
  const origins = options.cors?.origins
  const mcp = createMcpBinding({
    offers: () => Promise.all([...mounts.values()].map(toOffer)),
    identify,
    ...(Array.isArray(origins) && { allowedOrigins: origins }),
  })
  return {
    openai: createOpenAIBinding({
      dispatchOf: (model) => mounts.get(model)?.dispatch,
      models: () => [...mounts.values()].map(toModel),
      identify,
      clock,
      ...(heartbeatMs !== undefined && { heartbeatMs }),
    }),
    mcp: mcp.handle,
    close: mcp.close,
  }
}

function toModel({ id, identity }: Mount): OpenAIModel {
  const extensions = identity.known().details?.extensions ?? []
  const declares = (extension: string): boolean => extensions.some(({ uri }) => uri === extension)
  return {
    id,
    readsHistory: declares(historyExtension),
    takesTools: declares(clientToolsExtension),
  }
}

async function toOffer({ id, identity, dispatch }: Mount): Promise<McpOffer> {
  const { name, description, details } = await identity.info()
  return { id, name, description, outputSchema: details?.outputSchema, dispatch }
}

type Mounts = ReadonlyMap<string, Mount>

/** The server's own pages: how it is, what it counts, whom it serves, whose tokens it takes, its webhooks' keys. */
export function createPages(
  parts: ServerParts,
  mounts: Mounts,
): RouteHandlers<Extract<ServerRoute, 'health' | 'metrics' | 'catalogue' | 'keys' | 'resource'>> {
  const keys = keysReply(parts.options)
  const visitors = createVisitors(parts)
  return {
    health: createHealthPage(parts, mounts, visitors),
    metrics: forKnown(visitors, async () =>
      parts.metrics.page({ ...gauges(parts, mounts), ...(await clusterGauges(parts, mounts)) }),
    ),
    catalogue: forKnown(visitors, ({ base }) => catalogue(mounts, base)),
    keys: keys && (() => keys),
    resource: resourcePage(parts, mounts),
  }
}

const json = { 'content-type': 'application/json' }
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

/** Whose tokens the server takes, for clients that know OAuth (RFC 9728); only where an issuer has an address. */
function resourcePage({ auth }: ServerParts, mounts: Mounts): HttpHandler | undefined {
  const issuers = auth.issuers.filter((issuer) => /^https?:/.test(issuer) && readUrl(issuer))
  if (issuers.length === 0) return undefined
  return ({ base }) => {
    const body = JSON.stringify({
      resource: mounts.values().next().value?.identity.base(base) ?? '',
      authorization_servers: issuers,
      scopes_supported: scopeNames,
      bearer_methods_supported: ['header'],
    })
    return { status: 200, headers: { ...json, 'cache-control': 'public, max-age=300' }, body }
  }
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

/** How this replica and the others stand; nothing where one process has the store to itself. */
async function clusterGauges(
  { store, readCluster, takenOn }: ServerParts,
  mounts: Mounts,
): Promise<Readonly<Record<string, number>>> {
  if (!store.feed) return {}
  let moved = 0
  for (const mount of mounts.values()) moved += mount.engine.moved()
  const facts = await readCluster()
  return {
    replicas_alive: store.feed.replicas,
    tasks_taken_over: takenOn(),
    tasks_moved: moved,
    ...(facts && {
      tasks_run_here: facts.members.find(({ number }) => number === facts.replica)?.tasks ?? 0,
      tasks_orphaned: facts.orphans,
      inbox_waiting: facts.inbox,
    }),
  }
}
