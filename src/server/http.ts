import type { Agent, Health } from '../agents/agent.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
import { createMcpBinding, type McpOffer } from '../bindings/mcp.ts'
import { createOpenAIBinding, type OpenAIModel } from '../bindings/openai/server.ts'
import {
  callbackTask,
  createRouteTable,
  isConsolePath,
  type OpenAIRoute,
  onFirstUse,
  type RouteHandlers,
  type ServerRoute,
  serverRoutes,
  splitAgentPath,
} from '../bindings/routes.ts'
import { toA2AError } from '../protocol/errors.ts'
import { clientToolsExtension, historyExtension } from '../protocol/extensions.ts'
import { type AuthContext, reachesAgent, scopeNames } from '../protocol/operations.ts'
import { isPromiseLike, within } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import type { Mutable } from '../shared/json.ts'
import { type Logger, tellsAll } from '../shared/log.ts'
import { readUrl } from '../shared/text.ts'
import type { ClusterFacts } from '../store/feed.ts'
import type { Store } from '../store/store.ts'
import { forAnyone, forKnown, refusedPage } from './access/auth.ts'
import {
  type BrowserRules,
  createMarks,
  createProxyReader,
  localRules,
  openRules,
} from './access/origins.ts'
import type { Mount } from './mount.ts'
import type { ServerConsole, ServerOptions } from './options.ts'
import type { ServerContext } from './server.ts'

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
export function createHandlers(server: ServerContext, endpoints: Endpoints): Handlers {
  const { options, logger, console: served } = server
  const route = createRoute(server, endpoints)
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
        { ...shared, route: asLocal(options, served ? withConsole(route, served, true) : route) },
        localRules(options, boundTo),
      ),
  }
}

/**
 * Marks requests to a server that only this machine reaches and that asks for no credentials: they may read why tasks
 * failed. The request itself gets the mark, since a copy would cost a sixth of a message.
 */
function asLocal(options: ServerOptions, route: HttpHandler): HttpHandler {
  const { auth, publicUrl, trustedProxies, cors } = options
  const isOpen = cors && (cors.origins ?? '*') === '*'
  if (auth || publicUrl || trustedProxies?.length || isOpen) return route
  return (request: Mutable<HttpRequest>) => {
    request.isLocal = true
    return route(request)
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

function createRoute(server: ServerContext, { openai, mcp }: Endpoints): HttpHandler {
  const { mounts, visitors } = server
  const missing = forAnyone(visitors, ({ path }) => noAgent(server, path))
  const callback = createCallback(server)
  const find = createRouteTable(serverRoutes, { ...createPages(server), ...openai, mcp, callback })
  return (request) => {
    const own = find(request.path)
    if (own) return own(request)
    const named = splitAgentPath(request.path)
    if (named) {
      const mount = server.find(decodeSegment(named.id))
      return mount ? mount.handle({ ...request, path: named.below }) : missing(request)
    }
    const first = mounts.values().next().value
    return first ? first.handle(request) : notFound
  }
}

/** Accepts the reports of remote agents; undefined where none can reach this server. The body of a report is never read. */
function createCallback(server: ServerContext): HttpHandler | undefined {
  const { options, store, visitors } = server
  if (!options.publicUrl) return undefined
  return forAnyone(visitors, async ({ path, headers }) => {
    const taskId = decodeSegment(callbackTask(path) ?? '')
    const token = headers['x-a2a-notification-token']
    const stored = token ? await store.get(taskId, undefined, { light: true }) : undefined
    const engine = stored?.head.busy ? server.engineOf(stored.head.scope.agent) : undefined
    const isTaken = (token && (await engine?.callbacks.receive(taskId, token))) ?? false
    return isTaken ? { status: 204, headers: {} } : noCallback
  })
}

const noCallback: HttpReply = {
  status: 404,
  headers: { 'content-type': 'application/json' },
  body: '{"error":{"code":404,"status":"NOT_FOUND","message":"No task waits for this report"}}',
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
function noAgent({ auth, logger, mounts }: ServerContext, path: string): HttpReply {
  const agent = decodeSegment(splitAgentPath(path)?.id ?? '')
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

/** What answers clients that do not speak A2A: the server's agents as models and as tools. */
interface Endpoints {
  readonly openai: RouteHandlers<OpenAIRoute>
  readonly mcp: HttpHandler
  close(): Promise<void>
}

/**
 * Makes the endpoints, each with its first request. Agents are looked up at each request, so a changed team is a changed
 * model.
 */
export function createEndpoints(server: ServerContext): Endpoints {
  let madeOpenAI: ReturnType<typeof createOpenAI> | undefined
  let madeMcp: ReturnType<typeof createMcp> | undefined
  const openai = (route: OpenAIRoute): HttpHandler =>
    onFirstUse(() => {
      madeOpenAI ??= createOpenAI(server)
      return madeOpenAI[route]
    })
  return {
    openai: {
      completions: openai('completions'),
      chat: openai('chat'),
      models: openai('models'),
      model: openai('model'),
      responses: openai('responses'),
    },
    mcp: onFirstUse(() => {
      madeMcp = createMcp(server)
      return madeMcp.handle
    }),
    async close() {
      await madeMcp?.close()
    },
  }
}

function createOpenAI({
  options,
  clock,
  mounts,
  visitors,
}: ServerContext): ReturnType<typeof createOpenAIBinding> {
  const { heartbeatMs } = options.timeouts ?? {}
  return createOpenAIBinding({
    dispatchOf: (model) => mounts.get(model)?.dispatch,
    models: () => [...mounts.values()].map(toModel),
    identify: visitors.visit,
    clock,
    ...(heartbeatMs !== undefined && { heartbeatMs }),
  })
}

function createMcp({
  options,
  mounts,
  visitors,
}: ServerContext): ReturnType<typeof createMcpBinding> {
  const origins = options.cors?.origins
  return createMcpBinding({
    offers: () => Promise.all([...mounts.values()].map(toOffer)),
    identify: visitors.identify,
    visit: visitors.visit,
    ...(Array.isArray(origins) && { allowedOrigins: origins }),
  })
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

/** The server's own pages: how it is, what it counts, whom it serves, whose tokens it takes, its webhooks' keys. */
function createPages(
  server: ServerContext,
): RouteHandlers<Extract<ServerRoute, 'health' | 'metrics' | 'catalogue' | 'keys' | 'resource'>> {
  const keys = keysReply(server.options)
  const resource = resourcePage(server)
  const { visitors, metrics } = server
  return {
    health: createHealthPage(server),
    metrics: forKnown(visitors, async () =>
      metrics.page({ ...gauges(server), ...(await clusterGauges(server)) }),
    ),
    catalogue: forKnown(visitors, ({ base }, auth) => catalogue(server, auth, base)),
    keys: keys && forAnyone(visitors, () => keys),
    resource: resource && forAnyone(visitors, resource),
  }
}

/** Every agent that the caller may use, with its card's address. */
async function catalogue(
  { mounts }: ServerContext,
  auth: AuthContext,
  base?: string,
): Promise<HttpReply> {
  const usable = [...mounts.values()].filter(({ id }) => reachesAgent(auth, id))
  const agents = await Promise.all(
    usable.map(async ({ id, identity }) => {
      const card = await identity.card()
      const url = identity.base(base)
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
function resourcePage({ auth, mounts }: ServerContext): HttpHandler | undefined {
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

function gauges({ queue, hub, mounts }: ServerContext): Readonly<Record<string, number>> {
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
async function clusterGauges({
  store,
  readCluster,
  cluster,
  mounts,
}: ServerContext): Promise<Readonly<Record<string, number>>> {
  if (!store.feed) return {}
  let moved = 0
  for (const mount of mounts.values()) moved += mount.engine.moved()
  const facts = await readCluster()
  return {
    replicas_alive: store.feed.replicas,
    tasks_taken_over: cluster.claimed(),
    tasks_moved: moved,
    ...(facts && {
      tasks_run_here: facts.members.find(({ number }) => number === facts.replica)?.tasks ?? 0,
      tasks_orphaned: facts.orphans,
      inbox_waiting: facts.inbox,
    }),
  }
}

const uncached = { 'content-type': 'application/json', 'cache-control': 'no-store' }

const alive: HttpReply = { status: 200, headers: uncached, body: '{"status":"alive"}' }

/**
 * Makes the page that says how the server is: 503 if an agent or the store cannot do its work, and while it closes. That
 * much is for anyone; what is the matter with whom is for callers whom the server knows. With `?live=1` only: the process runs.
 */
function createHealthPage(server: ServerContext): HttpHandler {
  const { store, mounts, visitors, checkHealth } = server

  async function page(isKnown: boolean): Promise<HttpReply> {
    const draining = server.retryMs() !== undefined
    const cluster = isKnown ? await server.readCluster() : undefined
    const agents = await Promise.all(
      [...mounts.values()].map(async (mount) => {
        const { name } = mount.identity.known()
        return { id: mount.id, name, ...(await checkHealth(mount.agent())) }
      }),
    )
    const storeHealth = store.health()
    const reason = server.overload.reason() ?? server.overload.unregistered()
    const isReady = !draining && storeHealth.writable && reason === undefined
    const healthy = isReady && agents.every((agent) => agent.healthy)
    const body = JSON.stringify({
      status: healthy ? 'healthy' : 'unhealthy',
      protocol: 'A2A',
      agent: agents[0]?.name ?? '',
      ...(draining && { draining }),
      ...(isKnown && reason !== undefined && { reason }),
      ...(isKnown && { agents, store: storeHealth }),
      ...(cluster && { cluster }),
    })
    return { status: healthy ? 200 : 503, headers: uncached, body }
  }

  return async (request) => {
    if (new URLSearchParams(request.query).has('live')) return alive
    try {
      await visitors.countPage(request, 'health')
      const visitor = await visitors.find(request)
      return await page(visitor !== undefined)
    } catch (thrown) {
      return refusedPage(toA2AError(thrown))
    }
  }
}

/** How the replicas stand; undefined where one process has the store to itself, or the store does not answer now. */
export type ReadCluster = () => Promise<ClusterFacts | undefined>

/** Whoever asks: the store is asked no more often than this. */
const maxAgeMs = 1_000

/** A page that is asked for by a machine does not wait for a database that is away. */
const maxWaitMs = 2_000

/** Reads how the replicas stand, for pages; an answer stands for a while, for everyone. */
export function createClusterReader({ feed }: Store, clock: Clock): ReadCluster {
  let asked: { readonly at: number; readonly facts: Promise<ClusterFacts | undefined> } | undefined
  return async () => {
    if (!feed) return undefined
    if (!asked || clock.elapsed() - asked.at >= maxAgeMs)
      asked = { at: clock.elapsed(), facts: feed.facts().catch(() => undefined) }
    let found: ClusterFacts | undefined
    const facts = asked.facts.then((answer) => {
      found = answer
    })
    await within(clock, maxWaitMs, [facts])
    return found
  }
}

const maxHealthMs = 5_000

/** Whoever asks: an agent is asked no more often than this. */
const maxHealthAgeMs = 2_000

/** An answer that is on its way or was given lately. */
interface Checked {
  readonly at: number
  readonly health: Promise<Health>
}

/** Asks an agent how it is. */
export type HealthCheck = (agent: Agent) => Promise<Health>

/** Asks agents how they are; an answer stands for a while, for everyone. */
export function createHealthCheck(clock: Clock): HealthCheck {
  const checked = new WeakMap<Agent, Checked>()
  return (agent) => {
    const last = checked.get(agent)
    if (last && clock.elapsed() - last.at < maxHealthAgeMs) return last.health
    const health = healthOf(agent, clock)
    checked.set(agent, { at: clock.elapsed(), health })
    return health
  }
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
