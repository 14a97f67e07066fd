import type { Agent, AgentInfo } from '../agents/agent.ts'
import { toRanchCard } from '../bindings/dialects/ranch/card.ts'
import type { HttpHandler } from '../bindings/http.ts'
import { createJsonRpcBinding } from '../bindings/jsonrpc/server.ts'
import { createRestBinding } from '../bindings/rest/server.ts'
import { agentRoutes, createRouteTable } from '../bindings/routes.ts'
import { createEngine } from '../engine/create.ts'
import type { Engine } from '../engine/engine.ts'
import { createKeeper, createOperations, createPassOn } from '../operations/handlers.ts'
import type { RequestLog, Service } from '../operations/service.ts'
import type { Dispatch } from '../protocol/call.ts'
import { tellsAll } from '../shared/log.ts'
import { createAgentIdentity, type Identity } from './card.ts'
import { createCardPage } from './card-page.ts'
import type { ServerParts } from './parts.ts'

/** One served agent: its operations, and the paths below where it is mounted. */
export interface Mount {
  readonly id: string
  readonly engine: Engine
  readonly identity: Identity
  readonly dispatch: Dispatch
  readonly handle: HttpHandler
  agent(): Agent
  /** The digest of the agent's definition. */
  build(): string
  /** Serves another agent under the same id; running turns keep the one they began with. */
  setAgent(agent: NamedAgent): void
  /** Takes no more messages and lets what runs end until the deadline. May be called twice. */
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

/** Mounts an agent; `base` is the URL that its card points to, on the server's URL or another by which it is known. */
export function createMount(
  parts: ServerParts,
  { id, info, agent: first, build }: NamedAgent,
  base: Identity['base'],
): Mount {
  let agent = first
  let current = build
  const { store, committer, hub, queue, suspects, clock, logger, limits, live, push } = parts
  const identity = createAgentIdentity(parts, { agent: () => agent, info, base })
  const engine = createEngine({
    agent,
    agentId: id,
    build,
    store,
    committer,
    hub,
    queue,
    suspects,
    clock,
    logger,
    limits,
    live,
    ...(push && { webhooks: push }),
  })
  const service = createService(parts, engine, identity)
  const byEngine = createOperations(service)
  const keeper = createKeeper({ dispatch: () => agent.dispatch ?? byEngine, clock, logger })
  // What such an agent throws is told by its keeper.
  const passOn = createPassOn({ ...service, failures: undefined }, keeper)
  const dispatch: Dispatch = (name, request, call) =>
    (agent.dispatch ? passOn : byEngine)(name, request, call)
  return {
    id,
    engine,
    identity,
    dispatch,
    handle: createRoutes(parts, dispatch, identity),
    agent: () => agent,
    build: () => current,
    setAgent(next) {
      agent = next.agent
      current = next.build
      engine.setAgent(next.agent, next.build)
      identity.refresh()
    },
    async close(deadlineMs) {
      await Promise.all([engine.close(deadlineMs), keeper.close(deadlineMs)])
    },
  }
}

/** Who plays which role for the operations of this agent. */
function createService(parts: ServerParts, engine: Engine, identity: Identity): Service {
  const { clock, auth, limit, limits, metrics, push, options, logger } = parts
  return {
    engine,
    requests: createRequestLog(parts, engine),
    failures: (operation, err) => logger.error({ operation, err }, 'An operation failed'),
    agent: identity,
    auth,
    limit,
    limits,
    metrics,
    webhooks: push?.configs,
    clock,
    blockingTimeoutMs: options.timeouts?.blockingMs ?? 300_000,
  }
}

/** One line for each request, where the logger wants that. */
function createRequestLog({ logger }: ServerParts, engine: Engine): RequestLog | undefined {
  if (!tellsAll(logger)) return undefined
  const { agent } = engine.scopeOf(undefined, undefined)
  return ({ operation, auth, outcome, ms }) => {
    const caller = auth?.userId || (auth ? 'anonymous' : 'unknown')
    logger.info({ agent, caller, outcome, ms: Math.round(ms) }, operation)
  }
}

/** What answers below the path that an agent is mounted at. */
function createRoutes(parts: ServerParts, dispatch: Dispatch, identity: Identity): HttpHandler {
  const { options, clock, retryMs } = parts
  const heartbeatMs = options.timeouts?.heartbeatMs ?? 15_000
  const agentCard = async (): Promise<unknown> => toRanchCard(await identity.info())
  const wire = { dispatch, heartbeatMs, clock, retryMs }
  const rpc = { ...wire, agentCard }
  const find = createRouteTable(agentRoutes, {
    rpc: createJsonRpcBinding({ ...rpc, defaultDialect: '0.3' }),
    ranch: createJsonRpcBinding({ ...rpc, defaultDialect: 'ranch' }),
    rc: createJsonRpcBinding({ ...rpc, defaultDialect: '1.0-rc' }),
    ranchStream: createJsonRpcBinding({ ...rpc, defaultDialect: 'ranch', namedEvents: true }),
    card: createCardPage({ options, identity, clock }),
  })
  const rest = createRestBinding({ ...wire, errorTable: options.errorTable ?? '1.0.1' })
  return (request) => (find(request.path) ?? rest)(request)
}
