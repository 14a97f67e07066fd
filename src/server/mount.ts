import type { Agent, AgentInfo } from '../agents/agent.ts'
import { toRanchCard } from '../bindings/dialects/ranch/card.ts'
import type { HttpHandler } from '../bindings/http.ts'
import { createJsonRpcBinding } from '../bindings/jsonrpc/server.ts'
import { createRestBinding } from '../bindings/rest/server.ts'
import { agentRoutes, createRouteTable } from '../bindings/routes.ts'
import type { Committer } from '../engine/commit.ts'
import { createEngine } from '../engine/create.ts'
import type { Engine } from '../engine/engine.ts'
import type { TurnQueue } from '../engine/queue.ts'
import type { Suspects } from '../engine/suspects.ts'
import type { Guard } from '../network/guard.ts'
import { createOperations } from '../operations/handlers.ts'
import { createKeeper } from '../operations/keeper.ts'
import { createPassOn } from '../operations/pass-on.ts'
import type { Service } from '../operations/service.ts'
import type { Dispatch } from '../protocol/call.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { Store } from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import { checkPushConfig } from '../webhooks/config.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Auth } from './auth.ts'
import { createCardPage } from './card.ts'
import { createIdentity, type Identity } from './identity.ts'
import { createInputCheck } from './input-schemas.ts'
import type { RateLimit } from './limits.ts'
import type { Metrics } from './metrics.ts'
import type { ServerOptions } from './options.ts'

/** What all agents of a server share. */
export interface Shared {
  readonly store: Store
  readonly committer: Committer
  readonly hub: Hub
  readonly queue: TurnQueue
  readonly suspects: Suspects
  readonly clock: Clock
  readonly logger: Logger
  readonly auth: Auth
  readonly metrics: Metrics
  readonly limit: RateLimit | undefined
  readonly push: { readonly webhooks: Webhooks; readonly guard: Guard } | undefined
  /** How soon the readers of streams should come back, once the server is closing. */
  retryMs(): number | undefined
  readonly options: ServerOptions
}

/** One served agent: its operations, and the paths below where it is mounted. */
export interface Mount {
  readonly id: string
  readonly engine: Engine
  readonly identity: Identity
  readonly dispatch: Dispatch
  readonly handle: HttpHandler
  agent(): Agent
  /** Serves another agent under the same id; running turns keep the one they began with. */
  setAgent(agent: NamedAgent): void
  /** Takes no more messages and lets what runs end until the deadline. Idempotent. */
  close(deadlineMs: number): Promise<void>
}

/** An agent with what it says of itself. */
export interface NamedAgent {
  readonly id: string
  readonly agent: Agent
  readonly info: AgentInfo
  /** The digest of the agent's definition. */
  readonly build: string
}

/** Mounts an agent; `base` is the URL that its card points to. */
export function createMount(
  shared: Shared,
  { id, info, agent: first, build }: NamedAgent,
  base: () => string,
): Mount {
  let agent = first
  const { auth, clock, logger, options } = shared
  const identity = createIdentity({ agent: () => agent, info, base, auth, clock, server: options })
  const engine = createMountedEngine(shared, { id, agent, build })
  const service = createService(shared, engine, identity)
  const byEngine = createOperations(service)
  const keeper = createKeeper({ dispatch: () => agent.dispatch ?? byEngine, clock, logger })
  const passOn = createPassOn(service, keeper)
  const dispatch: Dispatch = (name, request, call) =>
    (agent.dispatch ? passOn : byEngine)(name, request, call)
  return {
    id,
    engine,
    identity,
    dispatch,
    handle: createRoutes(shared, dispatch, identity),
    agent: () => agent,
    setAgent(next) {
      agent = next.agent
      engine.setAgent(next.agent, next.build)
      identity.refresh()
    },
    async close(deadlineMs) {
      await Promise.all([engine.close(deadlineMs), keeper.close(deadlineMs)])
    },
  }
}

function createMountedEngine(
  { store, committer, hub, queue, suspects, clock, logger, push }: Shared,
  { id, agent, build }: Omit<NamedAgent, 'info'>,
): Engine {
  return createEngine({
    agent,
    agentId: id,
    build,
    suspects,
    store,
    committer,
    hub,
    queue,
    clock,
    logger,
    ...(push && {
      stored(taskId, records, webhook) {
        if (webhook) push.webhooks.watch(taskId)
        else if (records[0]?.seq === 1) push.webhooks.ignore(taskId)
        else push.webhooks.notify(taskId)
      },
    }),
  })
}

function createService(shared: Shared, engine: Engine, identity: Identity): Service {
  const { store, clock, auth, options, push, committer, limit } = shared
  const { extendedCard, openExtendedCard = false } = options
  return {
    engine,
    store,
    clock,
    card: identity.card,
    authenticate: auth.authenticate,
    observe: shared.metrics.observe,
    blockingTimeoutMs: options.timeouts?.blockingMs ?? 300_000,
    inputModes: () => enforcedModes(identity, options),
    checkInput: createInputCheck(() => identity.known().details?.skills),
    write: committer.write,
    openExtendedCard,
    ...(limit && { limit }),
    ...(extendedCard && {
      extendedCard: async (caller) => extendedCard(await identity.card(), caller),
    }),
    webhooks: {
      check: (config, path) => push && checkPushConfig(push.guard, { config, path }),
      watch: (taskId) => push?.webhooks.watch(taskId),
      forget: (taskId, configId) => push?.webhooks.forget(taskId, configId),
    },
  }
}

/** The media types that parts must have: the agent's own where it names them, unless the server says otherwise. */
function enforcedModes(
  identity: Identity,
  { enforceInputModes }: ServerOptions,
): readonly string[] | undefined {
  const named = identity.known().details?.inputModes
  if (enforceInputModes === false || (enforceInputModes === undefined && !named)) return undefined
  return named ?? ['text/plain', 'application/json']
}

/** What answers below the path that an agent is mounted at. */
function createRoutes(shared: Shared, dispatch: Dispatch, identity: Identity): HttpHandler {
  const { options, clock, retryMs } = shared
  const heartbeatMs = options.timeouts?.heartbeatMs ?? 15_000
  const agentCard = async (): Promise<unknown> => toRanchCard(await identity.info())
  const wire = { dispatch, heartbeatMs, clock, retryMs }
  const rpc = { ...wire, agentCard }
  const find = createRouteTable(agentRoutes, {
    rpc: createJsonRpcBinding({ ...rpc, defaultDialect: '0.3' }),
    ranch: createJsonRpcBinding({ ...rpc, defaultDialect: 'ranch' }),
    rc: createJsonRpcBinding({ ...rpc, defaultDialect: '1.0-rc' }),
    ranchStream: createJsonRpcBinding({ ...rpc, defaultDialect: 'ranch', namedEvents: true }),
    card: createCardPage({ shape: options.card ?? 'superset', identity, clock }),
  })
  const rest = createRestBinding({ ...wire, errorTable: options.errorTable ?? '1.0.1' })
  return (request) => (find(request.path) ?? rest)(request)
}
