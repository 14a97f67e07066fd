import type { Agent } from '../agents/agent.ts'
import { encodeWebhook } from '../bindings/dialects/webhook.ts'
import type { HttpHandler } from '../bindings/http.ts'
import { createCommitter } from '../engine/commit.ts'
import { createTurnQueue } from '../engine/queue.ts'
import type { Recovery } from '../engine/recover.ts'
import { createSuspects } from '../engine/suspects.ts'
import { createGuard, type Guard } from '../network/guard.ts'
import type { AuthContext, Dispatch } from '../protocol/call.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import { systemClock } from '../shared/clock.ts'
import { digestOf } from '../shared/ids.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { trimEnd } from '../shared/text.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import type { Store } from '../store/store.ts'
import { createHub } from '../streams/hub.ts'
import { createWebhooks, type Webhooks } from '../webhooks/webhooks.ts'
import { createAuth, openAuth } from './auth.ts'
import { createEndpoints } from './endpoints.ts'
import { createHandler } from './http.ts'
import { createRateLimit } from './limits.ts'
import { createMetrics } from './metrics.ts'
import { createMount, type Mount, type NamedAgent, type Shared } from './mount.ts'
import type { ServerOptions } from './options.ts'

/** A server of agents, not yet bound to a network: `listen` and `toFetch` do that. */
export interface Server {
  /** Answers HTTP requests as plain objects. */
  readonly handle: HttpHandler
  /** The operations of the first agent, or of the one with this id. */
  dispatch(id?: string): Dispatch
  readonly store: Store
  /** The tasks that a caller has with the first agent; an update is an event, told to streams and webhooks. */
  taskStore(auth?: AuthContext): FullTaskStore
  /** Webhooks, where they are on: dead letters can be read and driven again. */
  readonly webhooks: Webhooks | undefined
  /** Whether anyone may call. */
  readonly open: boolean
  /** Tells the server under which URL it is reached, unless the options said so. */
  setUrl(url: string): void
  /** The URL that cards point to. */
  url(): string
  /** Takes up what an earlier process left: interrupted tasks and undelivered webhooks. */
  recover(): Promise<Recovery>
  /** Serves these agents from now on; tasks that run keep the agent they began with. */
  setAgents(agents: readonly Agent[]): Promise<void>
  /** Takes no more messages, lets turns end, ends streams, flushes. Idempotent. */
  close(): Promise<void>
}

/**
 * Makes a server. It is the composition root: everything it consists of is made and connected here.
 * @throws Error if there are no agents, or two with one id.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const shared = createShared(options)
  const { store, committer, hub, push } = shared
  let url = options.publicUrl && trimEnd(options.publicUrl, '/')
  const mounts = new Map<string, Mount>()
  /** Agents that are no longer served; their tasks still run, and one that comes back finds them. */
  const retired = new Map<string, Mount>()
  const endpoints = createEndpoints(shared, mounts)
  let closing: Promise<void> | undefined

  async function setAgents(agents: readonly Agent[]): Promise<void> {
    const named = await nameAgents(agents)
    for (const one of named) {
      const { id } = one
      const known = mounts.get(id) ?? retired.get(id)
      known?.setAgent(one)
      retired.set(id, known ?? createMount(shared, one, () => baseOf(id)))
    }
    for (const [id, mount] of mounts) retired.set(id, mount)
    mounts.clear()
    for (const { id } of named) {
      const mount = retired.get(id)
      if (mount) mounts.set(id, mount)
      retired.delete(id)
    }
    // The first agent's address is the root, so a change of order changes cards.
    for (const mount of mounts.values()) mount.identity.refresh()
  }

  /** The first agent is at the root, the others below `/agents`. */
  function baseOf(id: string): string {
    const root = url ?? 'http://localhost'
    return mounts.keys().next().value === id ? root : `${root}/agents/${encodeURIComponent(id)}`
  }

  function mountOf(id: string | undefined): Mount {
    const mount = id === undefined ? mounts.values().next().value : mounts.get(id)
    if (!mount) throw new Error(`There is no agent ${id}`)
    return mount
  }

  async function shutDown(): Promise<void> {
    const deadline = options.timeouts?.shutdownMs ?? 10_000
    const all = [...mounts.values(), ...retired.values()]
    await Promise.all(all.map((mount) => mount.close(deadline)))
    await endpoints.close()
    hub.close()
    await push?.webhooks.close()
    await push?.guard.close()
    await committer.idle()
    if (!options.store) await store.close()
  }

  await setAgents(options.agents)
  return {
    handle: createHandler(shared, mounts, endpoints),
    dispatch: (id) => mountOf(id).dispatch,
    store,
    taskStore(auth) {
      const { engine } = mountOf(undefined)
      return engine.tasks(engine.scopeOf(undefined, auth))
    },
    webhooks: push?.webhooks,
    open: shared.auth.open,
    setUrl(next) {
      if (options.publicUrl) return
      url = next
      for (const mount of mounts.values()) mount.identity.refresh()
    },
    url: () => url ?? 'http://localhost',
    async recover() {
      // Who ran in the last death is known only when all agents' tasks are.
      shared.suspects.gather()
      const all = [...mounts.values()].map((mount) => mount.engine.recover())
      const counts = await Promise.all(all).finally(() => shared.suspects.ready())
      await push?.webhooks.start()
      return counts.reduce((sum, one) => ({
        resumed: sum.resumed + one.resumed,
        failed: sum.failed + one.failed,
      }))
    },
    setAgents,
    close() {
      closing ??= shutDown()
      return closing
    },
  }

  function createShared(from: ServerOptions): Shared {
    const logger = toLogger(from.logger)
    const clock = from.clock ?? systemClock
    const store = from.store ?? createMemoryStore(from.clock ? { clock: from.clock } : {})
    return {
      store,
      committer: createCommitter(store),
      hub: createHub(store),
      queue: createTurnQueue(from.concurrency === undefined ? {} : { slots: from.concurrency }),
      suspects: createSuspects(clock),
      clock,
      logger,
      auth: from.auth ? createAuth(from.auth) : openAuth,
      metrics: createMetrics(),
      limit: from.rateLimit && createRateLimit(from.rateLimit),
      push: createPush(from, { store, logger }),
      retryMs: () => (closing ? returnAfterMs : undefined),
      options: from,
    }
  }
}

/** About as long as a restart takes. */
const returnAfterMs = 2_000

function createPush(
  { pushNotifications, clock }: ServerOptions,
  { store, logger }: { readonly store: Store; readonly logger: Logger },
): { readonly webhooks: Webhooks; readonly guard: Guard } | undefined {
  if (!pushNotifications) return undefined
  const { guard: rules, ...rest } = pushNotifications === true ? {} : pushNotifications
  const guard = createGuard(rules)
  const webhooks = createWebhooks({
    ...rest,
    store,
    guard,
    encode: encodeWebhook,
    ...(clock && { clock }),
    log: logger,
  })
  return { webhooks, guard }
}

async function nameAgents(agents: readonly Agent[]): Promise<readonly NamedAgent[]> {
  if (agents.length === 0) throw new Error('A server needs at least one agent')
  const named = await Promise.all(
    agents.map(async (agent) => {
      const info = await agent.info()
      const build = await digestOf(agent.definition ?? JSON.stringify(info))
      return { id: info.id, agent, info, build }
    }),
  )
  const twice = named.find(({ id }, index) => named.findIndex((one) => one.id === id) !== index)
  if (twice) throw new Error(`Two agents have the id ${twice.id}`)
  return named
}
