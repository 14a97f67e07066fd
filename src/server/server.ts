import type { Agent } from '../agents/agent.ts'
import { type AgentFunction, toAgent } from '../agents/function.ts'
import { withPrices } from '../agents/prices.ts'
import type { HttpHandler } from '../bindings/http.ts'
import { callbackTask, isReceiverPath } from '../bindings/routes.ts'
import { Committer } from '../engine/commit.ts'
import type { Engine } from '../engine/engine.ts'
import type { Recovery } from '../engine/recover.ts'
import { Cluster, type ReplicaEngine } from '../engine/replicas.ts'
import { Suspects } from '../engine/suspects.ts'
import { TurnQueue } from '../engine/turn-queue.ts'
import type { AgentInfo } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { AuthContext, Dispatch } from '../protocol/operations.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { Json } from '../protocol/types.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { SharedBudget } from '../shared/fair-share.ts'
import { digestOf } from '../shared/ids.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { trimEnd } from '../shared/text.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import type { Store } from '../store/store.ts'
import { Hub } from '../streams/hub.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { type Auth, createAuth, createVisitors, openAuth, type Visitors } from './access/auth.ts'
import {
  createRateLimit,
  type Limits,
  type RateLimit,
  resolveLimits,
  resolveRateLimit,
} from './access/limits.ts'
import { Overload } from './access/overload.ts'
import { createIntake, type Intake } from './body.ts'
import {
  createClusterReader,
  createEndpoints,
  createHandlers,
  createHealthCheck,
  type HealthCheck,
  type ReadCluster,
} from './http.ts'
import { createMetrics, type Metrics, withTurnLog } from './metrics.ts'
import { Mount, type NamedAgent } from './mount.ts'
import type {
  ConsoleHost,
  CorsOptions,
  ServerConsole,
  ServerOptions,
  StoredListener,
  TimeoutOptions,
} from './options.ts'
import { createPush, type Push } from './push.ts'

/** A server of agents, not yet bound to a network: `listen` and `toFetch` do that. */
export interface Server {
  /** Answers HTTP requests as plain objects. */
  readonly handle: HttpHandler
  /**
   * The same for a port that only this machine reaches: foreign host names and foreign pages of its browser are
   * refused.
   */
  localHandle(boundTo: string): HttpHandler
  /** The operations of the first agent, or of the one with this id, to be called without HTTP. */
  dispatch(id?: string): Dispatch
  /** Where its tasks are kept. */
  readonly store: Store
  /** The tasks that a caller has with the first agent; an update is an event, told to streams and webhooks. */
  taskStore(auth?: AuthContext): FullTaskStore
  /** Webhooks, where they are on: dead letters can be read and driven again. */
  readonly webhooks: Webhooks | undefined
  /** Whether anyone may call, without a credential. */
  readonly open: boolean
  /** Its limits, each with its value. */
  readonly limits: Limits
  /**
   * What adapters ask before they read a body: `listen` and `toFetch` use it themselves, `toNodeHandler` takes it as
   * an option.
   */
  readonly intake: Intake
  /** Tells the server under which URL it is reached, unless the options said so. */
  setUrl(url: string): void
  /** The URL that cards point to. */
  url(): string
  /** Takes up what an earlier process left: interrupted tasks and undelivered webhooks. */
  recover(): Promise<Recovery>
  /** Serves these agents from now on; tasks that run keep the agent they began with. */
  setAgents(agents: readonly (Agent | AgentFunction)[]): Promise<void>
  /** Takes no more messages, lets turns end, ends streams, flushes. May be called twice. */
  close(): Promise<void>
}

/**
 * Makes a server of agents and teams. `listen` binds it to a port, `toFetch` mounts it elsewhere.
 * @throws Error if there are no agents, or two with one id.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  checkOptions('createServer', options, serverOptions)
  checkOptions('createServer: cors', options.cors ?? {}, corsOptions)
  checkOptions('createServer: timeouts', options.timeouts ?? {}, timeoutOptions)
  const server = new ServerContext(options)
  const { mounts, cluster, store, push, auth, limits, intake } = server
  const endpoints = createEndpoints(server)

  async function close(): Promise<void> {
    await server.closeAgents(options.timeouts?.shutdownMs ?? 10_000)
    await cluster.leave()
    await endpoints.close()
    await server.console?.close()
    await server.closeParts()
  }

  await server.setAgents(options.agents)
  await cluster.join()
  server.console = options.console?.(consoleHost(server))
  const { handle, local } = createHandlers(server, endpoints)
  return {
    handle,
    localHandle: local,
    dispatch: (id) => server.mustGet(id).dispatch,
    store,
    taskStore(auth) {
      const { engine } = server.mustGet()
      return engine.tasksOf(engine.scopeOf(undefined, auth))
    },
    webhooks: push?.webhooks,
    open: auth.open,
    limits,
    intake,
    setUrl(next) {
      if (options.publicUrl) return
      server.url = next
      for (const { identity } of mounts.values()) identity.refresh()
    },
    url: () => server.url,
    recover: () => cluster.claim(),
    async setAgents(agents) {
      await server.setAgents(agents)
      cluster.serve()
    },
    close() {
      server.closing ??= close()
      return server.closing
    },
  }
}

/** What each option of a server may be. */
export const serverOptions: OptionTable<ServerOptions> = {
  agents: 'array!',
  store: 'object',
  publicUrl: 'string',
  auth: 'any',
  cors: 'object',
  allowedHosts: 'array',
  trustedProxies: 'array',
  limits: 'object',
  rateLimit: 'object',
  pushNotifications: 'boolean|object',
  streaming: 'boolean',
  extendedCard: 'function',
  openExtendedCard: 'boolean',
  card: 'string',
  interfaces: 'function',
  extensions: 'array',
  trace: 'boolean',
  signCard: 'function',
  errorTable: 'string',
  enforceInputModes: 'boolean',
  concurrency: 'number',
  timeouts: 'object',
  prices: 'object',
  console: 'function',
  routes: 'function',
  clock: 'object',
  logger: 'object|boolean',
}

const corsOptions: OptionTable<CorsOptions> = { origins: 'string|array' }

const timeoutOptions: OptionTable<TimeoutOptions> = {
  blockingMs: 'number',
  heartbeatMs: 'number',
  shutdownMs: 'number',
}

/** What a server is made of: all that its agents, pages and endpoints share. */
export class ServerContext {
  readonly options: ServerOptions
  readonly clock: Clock
  readonly logger: Logger
  readonly limits: Limits
  readonly store: Store
  readonly metrics: Metrics
  /** The only writer of tasks. */
  readonly committer: Committer
  /** Whether new tasks may begin. */
  readonly overload: Overload
  /** Tells watchers of what is stored. */
  readonly hub: Hub
  /** Told of each stored batch of records, after the watchers of its task. */
  readonly listeners: Set<StoredListener> = new Set()
  /** Gives turns their slots. */
  readonly queue: TurnQueue
  /** The watch over tasks that may kill the process. */
  readonly suspects: Suspects
  readonly auth: Auth
  readonly limit: RateLimit | undefined
  /** Who asks for a page. */
  readonly visitors: Visitors
  /** What all live tasks hold together. */
  readonly live: SharedBudget
  /** What the adapters ask before they read a body. */
  readonly intake: Intake
  /** Webhooks, where they are on. */
  readonly push: Push | undefined
  /** Asks an agent how it is; an answer stands for a while. */
  readonly checkHealth: HealthCheck
  /** How the replicas stand that share the store. */
  readonly readCluster: ReadCluster
  /** This process among the replicas. */
  readonly cluster: Cluster
  /** The agents served now, in their order: the first answers at the root, the others below `/agents`. */
  readonly mounts: Map<string, Mount> = new Map()
  /** Agents that are no longer served; their tasks still run, and one that comes back finds them. */
  readonly #retired = new Map<string, Mount>()
  /** Agents that were the first one at some time: the tasks that were made at the root then are still found there. */
  readonly #firsts = new Set<Mount>()
  /** The console, where there is one and the server is made. */
  console: ServerConsole | undefined
  /** The URL that cards point to. */
  url: string
  /** Set once the server is closing. */
  closing: Promise<void> | undefined

  constructor(options: ServerOptions) {
    const { clock = systemClock, pushNotifications } = options
    this.options = options
    this.clock = clock
    this.url = trimEnd(options.publicUrl ?? '', '/') || 'http://localhost'
    const limits = resolveLimits(options)
    this.limits = limits
    const rateLimit = resolveRateLimit(options)
    this.logger = toLogger(options.logger)
    const store = options.store ?? createMemoryStore({ clock, maxBytes: limits.memoryStoreBytes })
    this.store = store
    this.metrics = createMetrics()
    const { commit, waited, turn } = this.metrics
    this.committer = new Committer(store, clock, (ms, error) => {
      commit(ms)
      this.overload.committed(error)
    })
    this.overload = new Overload(this)
    this.auth = options.auth === undefined ? openAuth : createAuth(options.auth, this.logger)
    this.limit = rateLimit && createRateLimit(rateLimit, () => store.feed?.replicas ?? 1)
    this.visitors = createVisitors(this)
    this.hub = new Hub(store)
    this.checkHealth = createHealthCheck(clock)
    this.readCluster = createClusterReader(store, clock)
    this.queue = new TurnQueue({
      slots: limits.maxConcurrentTurns,
      maxWaitingEach: limits.maxWaitingPerPrincipal,
      maxBytes: limits.maxQueuedBytes,
      observer: { clock, waited, turn },
    })
    this.suspects = new Suspects(clock)
    this.live = createLive(limits)
    this.intake = createIntake(this)
    const push = pushNotifications === true ? {} : pushNotifications
    this.push = push ? createPush(push, this) : undefined
    const { hub, suspects, logger } = this
    this.cluster = new Cluster({
      ...{ hub, suspects, clock, logger, feed: store.feed, webhooks: this.push?.webhooks },
      engines: () => [...toEngines(this.mounts, true), ...toEngines(this.#retired, false)],
    })
  }

  /** How soon the readers of streams should come back, once the server is closing. */
  readonly retryMs = (): number | undefined =>
    this.closing ? returnAfter(this.store.feed !== undefined) : undefined

  /** Whether a path takes large bodies without credentials, or the error with which it rejects them. */
  isOpenTo(path: string): boolean | A2AError {
    if (this.options.publicUrl && callbackTask(path) !== undefined) return true
    if (!this.options.console || !isReceiverPath(path)) return false
    if (this.console?.isReceiver(path)) return true
    return new A2AError('taskNotFound', 'There is no such receiver; it may have expired')
  }

  /**
   * Serves these agents from now on; tasks that run keep the agent they began with.
   * @throws Error if there are none, or two with one id.
   */
  async setAgents(agents: readonly (Agent | AgentFunction)[]): Promise<void> {
    const { logger, clock, mounts } = this
    const { prices } = this.options
    const named = (await nameAgents(agents)).map((one) => {
      const agent = prices ? withPrices(one.agent, prices) : one.agent
      return { ...one, agent: withTurnLog(agent, { id: one.id, logger, clock }) }
    })
    for (const [id, mount] of mounts) this.#retired.set(id, mount)
    mounts.clear()
    for (const one of named) {
      const { id, info } = one
      if (this.auth.open && info.details?.securityRequirements?.length)
        logger.warn(
          { agent: id },
          'The card asks for credentials, but the server lets everyone call',
        )
      const known = this.#retired.get(id)
      known?.setAgent(one)
      const mount = known ?? new Mount(this, one)
      // The first agent's address is the root, so a change of order changes cards.
      mount.identity.moveTo(mounts.size === 0 ? '' : `/agents/${encodeURIComponent(id)}`)
      if (mounts.size === 0) this.#firsts.add(mount)
      mounts.set(id, mount)
      this.#retired.delete(id)
    }
    for (const mount of this.#retired.values()) mount.retire()
  }

  /** The agent with this id, also one that is no longer served. */
  find(id: string): Mount | undefined {
    return this.mounts.get(id) ?? this.#retired.get(id)
  }

  /** The other agents that were the first one before this one, if it is that now. */
  formerFirsts(mount: Mount): readonly Mount[] {
    if (mount !== this.mounts.values().next().value) return []
    return [...this.#firsts].filter((one) => one !== mount)
  }

  /** The agent with this id, or the first. @throws Error if there is none. */
  mustGet(id?: string): Mount {
    const mount = id === undefined ? this.mounts.values().next().value : this.mounts.get(id)
    if (!mount) throw new Error(`There is no agent ${id}`)
    return mount
  }

  /** The engine of an agent, including one that is no longer served. */
  engineOf(id: string): Engine | undefined {
    return this.find(id)?.engine
  }

  /** Takes no more messages and lets turns end until the deadline, those of agents no longer served too. */
  async closeAgents(deadlineMs: number): Promise<void> {
    const all = [...this.mounts.values(), ...this.#retired.values()]
    await Promise.all(all.map((mount) => mount.close(deadlineMs)))
  }

  /** Closes what agents share, once none of them runs any more. */
  async closeParts(): Promise<void> {
    this.hub.close()
    this.overload.close()
    await this.push?.close()
    await this.committer.idle()
    if (!this.options.store) await this.store.close()
  }
}

/** One principal's live tasks hold at most half, but there is always room for one whole task. */
function createLive({ maxLiveBytes: max, maxTaskBytes }: Limits): SharedBudget {
  return new SharedBudget({ max, share: Math.max(Math.ceil(max / 2), maxTaskBytes) })
}

function toEngines(mounts: ReadonlyMap<string, Mount>, served: boolean): readonly ReplicaEngine[] {
  return [...mounts.values()].map(({ id: agent, engine, build }) => ({
    agent,
    engine,
    build,
    served,
  }))
}

/** How soon readers of streams come back: in about as long as a restart takes, or at once where others serve them. */
function returnAfter(isShared: boolean): number {
  return isShared ? 100 + Math.floor(Math.random() * 400) : 2_000
}

async function nameAgents(
  agents: readonly (Agent | AgentFunction)[],
): Promise<readonly NamedAgent[]> {
  if (agents.length === 0) throw new Error('A server needs at least one agent')
  const named = await Promise.all(
    agents.map(async (given, index) => {
      const agent = toAgent(given, { at: `agents[${index}]` })
      const info = await agent.info()
      const build = await digestOf(definitionOf(agent, info))
      return { id: info.id, agent, info, build }
    }),
  )
  const twice = named.find(({ id }, index) => named.findIndex((one) => one.id === id) !== index)
  if (twice) throw new Error(`Two agents have the id ${twice.id}: each needs its own`)
  return named
}

/** What the definition digest of an agent covers. The version is in it once. */
function definitionOf({ definition, version }: Agent, info: AgentInfo): Json {
  const whole = definition ?? JSON.stringify(info)
  const hasVersion = definition === undefined && info.details?.version === version
  return version === undefined || hasVersion ? whole : [whole, version]
}

/** What the console sees of the server. */
function consoleHost(server: ServerContext): ConsoleHost {
  const { store, push, auth, visitors, clock, logger, options, listeners, mounts } = server
  return {
    store,
    webhooks: push?.webhooks,
    mounts,
    auth,
    visitors,
    clock,
    logger,
    options,
    url: () => server.url,
    async health(id) {
      const agent = mounts.get(id)?.agent()
      return agent ? server.checkHealth(agent) : { healthy: false }
    },
    onStored(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
