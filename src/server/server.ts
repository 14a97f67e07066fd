import type { Agent } from '../agents/agent.ts'
import type { HttpHandler } from '../bindings/http.ts'
import type { Recovery } from '../engine/recover.ts'
import type { AuthContext, Dispatch } from '../protocol/call.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import { trimEnd } from '../shared/text.ts'
import type { Store } from '../store/store.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { createEndpoints } from './endpoints.ts'
import { createHandler } from './http.ts'
import { createMounts } from './mounts.ts'
import type { ServerOptions } from './options.ts'
import { closeParts, createParts } from './parts.ts'

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

/** About as long as a restart takes. */
const returnAfterMs = 2_000

/**
 * Makes a server: the parts that its agents share, the agents, and what answers requests with them.
 * @throws Error if there are no agents, or two with one id.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  let url = trimEnd(options.publicUrl ?? '', '/') || 'http://localhost'
  let closing: Promise<void> | undefined
  const parts = createParts(options, () => (closing ? returnAfterMs : undefined))
  const mounts = createMounts(parts, () => url)
  const endpoints = createEndpoints(parts, mounts.served)
  const webhooks = parts.push?.webhooks

  async function recover(): Promise<Recovery> {
    // Who ran in the last death is known only when all agents' tasks are.
    parts.suspects.gather()
    const all = [...mounts.served.values()].map((mount) => mount.engine.recover())
    const counts = await Promise.all(all).finally(() => parts.suspects.ready())
    await webhooks?.start()
    return counts.reduce((sum, one) => ({
      resumed: sum.resumed + one.resumed,
      failed: sum.failed + one.failed,
    }))
  }

  async function close(): Promise<void> {
    await mounts.close(options.timeouts?.shutdownMs ?? 10_000)
    await endpoints.close()
    await closeParts(parts)
  }

  await mounts.set(options.agents)
  return {
    handle: createHandler(parts, mounts.served, endpoints),
    dispatch: (id) => mounts.get(id).dispatch,
    store: parts.store,
    taskStore(auth) {
      const { engine } = mounts.get()
      return engine.tasks(engine.scopeOf(undefined, auth))
    },
    webhooks,
    open: parts.auth.open,
    setUrl(next) {
      if (options.publicUrl) return
      url = next
      mounts.refresh()
    },
    url: () => url,
    recover,
    setAgents: mounts.set,
    close() {
      closing ??= close()
      return closing
    },
  }
}
