import type { Agent } from '../agents/agent.ts'
import { type AgentFunction, toAgent } from '../agents/function.ts'
import { withPrices } from '../agents/prices.ts'
import type { HttpHandler } from '../bindings/http.ts'
import { createCluster, type ReplicaEngine } from '../engine/cluster.ts'
import type { Recovery } from '../engine/recover.ts'
import type { AuthContext, Dispatch } from '../protocol/call.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import { digestOf } from '../shared/ids.ts'
import { trimEnd } from '../shared/text.ts'
import type { Store } from '../store/store.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { ConsoleHost, ServerConsole } from './console.ts'
import { createEndpoints } from './endpoints.ts'
import { createHandlers } from './http.ts'
import type { Intake } from './intake.ts'
import type { Limits } from './limits.ts'
import { createMount, type Mount, type NamedAgent } from './mount.ts'
import type { ServerOptions } from './options.ts'
import { closeParts, createParts, type ServerParts } from './parts.ts'
import { withTurnLog } from './turn-log.ts'
import { createVisitors } from './visitors.ts'

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

/** How soon readers of streams come back: in about as long as a restart takes, or at once where others serve them. */
function returnAfter(isShared: boolean): number {
  return isShared ? 100 + Math.floor(Math.random() * 400) : 2_000
}

/**
 * Makes a server of agents and teams. `listen` binds it to a port, `toFetch` mounts it elsewhere.
 * @throws Error if there are no agents, or two with one id.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  let url = trimEnd(options.publicUrl ?? '', '/') || 'http://localhost'
  let closing: Promise<void> | undefined
  const isShared = options.store?.feed !== undefined
  let served: ServerConsole | undefined
  const parts = createParts(options, {
    retryMs: () => (closing ? returnAfter(isShared) : undefined),
    console: () => served,
    takenOn: () => cluster.takenOn(),
  })
  const mounts = createMounts(parts, () => url)
  const endpoints = createEndpoints(parts, mounts.served)
  const webhooks = parts.push?.webhooks
  const cluster = createCluster({
    ...parts,
    feed: parts.store.feed,
    webhooks,
    engines: mounts.engines,
  })

  async function close(): Promise<void> {
    await mounts.close(options.timeouts?.shutdownMs ?? 10_000)
    await cluster.leave()
    await endpoints.close()
    await served?.close()
    await closeParts(parts)
  }

  await mounts.set(options.agents)
  await cluster.join()
  served = options.console?.(consoleHost(parts, mounts.served, () => url))
  const { handle, local } = createHandlers(parts, mounts.served, endpoints)
  return {
    handle,
    localHandle: local,
    dispatch: (id) => mounts.get(id).dispatch,
    store: parts.store,
    taskStore(auth) {
      const { engine } = mounts.get()
      return engine.tasks(engine.scopeOf(undefined, auth))
    },
    webhooks,
    open: parts.auth.open,
    limits: parts.limits,
    intake: parts.intake,
    setUrl(next) {
      if (options.publicUrl) return
      url = next
      mounts.refresh()
    },
    url: () => url,
    recover: () => cluster.takeOn(),
    async setAgents(agents) {
      await mounts.set(agents)
      cluster.serve()
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** What the console sees of the server. */
function consoleHost(
  parts: ServerParts,
  mounts: ReadonlyMap<string, Mount>,
  url: () => string,
): ConsoleHost {
  const { store, push, auth, clock, logger, options, stored } = parts
  return {
    store,
    webhooks: push?.webhooks,
    mounts,
    auth,
    visitors: createVisitors(parts),
    clock,
    logger,
    options,
    url,
    async health(id) {
      const agent = mounts.get(id)?.agent()
      return agent ? parts.checkHealth(agent) : { healthy: false }
    },
    onStored(listener) {
      stored.add(listener)
      return () => stored.delete(listener)
    },
  }
}

/** The agents of a server, in their order: the first answers at the root, the others below `/agents`. */
interface Mounts {
  readonly served: ReadonlyMap<string, Mount>
  /**
   * Serves these agents from now on; tasks that run keep the agent they began with.
   * @throws Error if there are none, or two with one id.
   */
  set(agents: readonly (Agent | AgentFunction)[]): Promise<void>
  /** All engines, those of agents no longer served too. */
  engines(): readonly ReplicaEngine[]
  /** The agent with this id, or the first. @throws Error if there is none. */
  get(id?: string): Mount
  /** The server's URL has changed, and with it every card. */
  refresh(): void
  /** Takes no more messages and lets turns end until the deadline, those of agents no longer served too. */
  close(deadlineMs: number): Promise<void>
}

/** Keeps the agents of a server, which is reached at `url`. */
function createMounts(parts: ServerParts, url: () => string): Mounts {
  const served = new Map<string, Mount>()
  /** Agents that are no longer served; their tasks still run, and one that comes back finds them. */
  const retired = new Map<string, Mount>()

  function baseOf(id: string, server = url()): string {
    const isFirst = served.keys().next().value === id
    return isFirst ? server : `${server}/agents/${encodeURIComponent(id)}`
  }

  function refresh(): void {
    for (const mount of served.values()) mount.identity.refresh()
  }

  return {
    served,
    refresh,
    async set(agents) {
      const { logger, clock } = parts
      const { prices } = parts.options
      const named = (await nameAgents(agents)).map((one) => ({
        ...one,
        agent: withTurnLog(prices ? withPrices(one.agent, prices) : one.agent, {
          id: one.id,
          logger,
          clock,
        }),
      }))
      for (const [id, mount] of served) retired.set(id, mount)
      served.clear()
      for (const one of named) {
        const { id } = one
        const known = retired.get(id)
        known?.setAgent(one)
        served.set(id, known ?? createMount(parts, one, (server) => baseOf(id, server)))
        retired.delete(id)
      }
      // The first agent's address is the root, so a change of order changes cards.
      refresh()
    },
    engines: () => [...toEngines(served, true), ...toEngines(retired, false)],
    get(id) {
      const mount = id === undefined ? served.values().next().value : served.get(id)
      if (!mount) throw new Error(`There is no agent ${id}`)
      return mount
    },
    async close(deadlineMs) {
      const all = [...served.values(), ...retired.values()]
      await Promise.all(all.map((mount) => mount.close(deadlineMs)))
    },
  }
}

function toEngines(mounts: ReadonlyMap<string, Mount>, served: boolean): readonly ReplicaEngine[] {
  return [...mounts.values()].map(({ id: agent, engine, build }) => ({
    agent,
    engine,
    build: build(),
    served,
  }))
}

async function nameAgents(
  agents: readonly (Agent | AgentFunction)[],
): Promise<readonly NamedAgent[]> {
  if (agents.length === 0) throw new Error('A server needs at least one agent')
  const named = await Promise.all(
    agents.map(async (given, index) => {
      const agent = toAgent(given, { at: `agents[${index}]` })
      const info = await agent.info()
      const build = await digestOf(agent.definition ?? JSON.stringify(info))
      return { id: info.id, agent, info, build }
    }),
  )
  const twice = named.find(({ id }, index) => named.findIndex((one) => one.id === id) !== index)
  if (twice) throw new Error(`Two agents have the id ${twice.id}: each needs its own`)
  return named
}
