import type { z } from 'zod'
import type { Agent, AgentInfo } from '../agents/agent.ts'
import { ranchBinding, toRanchCard } from '../bindings/dialects/ranch-card.ts'
import type { RpcDialectName } from '../bindings/dialects/rpc-dialects.ts'
import { toSupersetCard } from '../bindings/dialects/v03.ts'
import type { HttpHandler } from '../bindings/http.ts'
import { createJsonRpcBinding } from '../bindings/jsonrpc/server.ts'
import { createRestBinding } from '../bindings/rest/server.ts'
import {
  type AgentRoute,
  agentRoutes,
  callbackPath,
  createRouter,
  onFirstUse,
} from '../bindings/routes.ts'
import { Engine } from '../engine/engine.ts'
import {
  createGate,
  type OperationHandlers,
  type RequestLog,
  type ServedAgent,
  type Service,
} from '../operations/gate.ts'
import { handlers } from '../operations/handlers.ts'
import { createKeeper, type Keeper } from '../operations/keeper.ts'
import { renderCard, type SkillDetail } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import { idempotencyExtension, traceExtension } from '../protocol/extensions.ts'
import type { Dispatch } from '../protocol/operations.ts'
import type {
  AgentCard,
  AgentExtension,
  AgentInterface,
  DataPart,
  Part,
} from '../protocol/types.ts'
import type { Mutable } from '../shared/json.ts'
import { type Logger, tellsAll } from '../shared/log.ts'
import { forAnyone, openAuth } from './access/auth.ts'
import type { ServerOptions } from './options.ts'
import type { ServerContext } from './server.ts'

/** An agent with what it says of itself. */
export interface NamedAgent {
  readonly id: string
  readonly agent: Agent
  readonly info: AgentInfo
  /** The digest of the agent's definition. */
  readonly build: string
}

/** One served agent: its operations, and the paths below where it is mounted. */
export class Mount {
  readonly id: string
  readonly engine: Engine
  readonly identity: AgentIdentity
  readonly dispatch: Dispatch
  /** Answers below the path that the agent is mounted at. */
  readonly handle: HttpHandler
  readonly #server: ServerContext
  readonly #service: Mutable<Service>
  #agent: Agent
  #build: string
  /** Asks the agent, where it keeps its tasks itself. */
  #keeper: Keeper | undefined

  constructor(server: ServerContext, { id, info, agent, build }: NamedAgent) {
    this.id = id
    this.#server = server
    this.#agent = agent
    this.#build = build
    this.identity = new AgentIdentity(server, agent, info)
    this.engine = createAgentEngine(server, { id, info, agent, build })
    this.#service = this.#createService()
    this.dispatch = createGate(this.#service)
    this.handle = createRoutes(server, this.dispatch, this.identity)
  }

  agent(): Agent {
    return this.#agent
  }

  /** The digest of the agent's definition. */
  get build(): string {
    return this.#build
  }

  /** Serves another agent under the same id; running turns keep the one they began with. */
  setAgent({ agent, build }: NamedAgent): void {
    this.#agent = agent
    this.#build = build
    this.#service.handlers = this.#handlers()
    this.#service.retired = false
    this.engine.setAgent(agent, build)
    this.identity.setAgent(agent)
  }

  /** Takes no more messages: the agent is no longer served. Its tasks can be read until it is back. */
  retire(): void {
    this.#service.retired = true
  }

  /** Takes no more messages and lets what runs end until the deadline. May be called twice. */
  async close(deadlineMs: number): Promise<void> {
    await Promise.all([this.engine.close(deadlineMs), this.#keeper?.close(deadlineMs)])
  }

  /** Who plays which role for the operations of this agent. */
  #createService(): Service {
    const { clock, auth, limit, limits, metrics, push, options, logger } = this.#server
    return {
      engine: this.engine,
      agent: this.identity,
      handlers: this.#handlers(),
      retired: false,
      former: () => this.#server.formerFirsts(this).map((mount) => mount.#service),
      auth: auth === openAuth ? undefined : auth,
      limit,
      limits,
      metrics,
      requests: createRequestLog(logger, this.id),
      failures: (operation, err) => {
        // What an agent that keeps its tasks itself throws is told by its keeper.
        if (!this.#agent.dispatch) logger.error({ operation, err }, 'An operation failed')
      },
      webhooks: push?.configs,
      clock,
      blockingTimeoutMs: options.timeouts?.blockingMs ?? 300_000,
    }
  }

  #handlers(): OperationHandlers {
    if (!this.#agent.dispatch) return handlers
    const { clock, logger } = this.#server
    const dispatch = (): Dispatch => this.#agent.dispatch ?? this.dispatch
    this.#keeper ??= createKeeper(dispatch, clock, logger)
    return this.#keeper.handlers
  }
}

function createAgentEngine(server: ServerContext, { id, agent, build }: NamedAgent): Engine {
  const { store, committer, hub, queue, suspects, clock, logger, limits, live } = server
  const { metrics, listeners, push, options, overload } = server
  return new Engine({
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
    callbackUrl: options.publicUrl && `${server.url}${callbackPath}`,
    overload,
    webhooks: {
      published(taskId, records, registered) {
        metrics.stored(records)
        if (listeners.size > 0) for (const listener of listeners) listener(taskId, records)
        push?.published(taskId, records, registered)
      },
    },
  })
}

/** One line for each request, where the logger wants that. */
function createRequestLog(logger: Logger, agent: string): RequestLog | undefined {
  if (!tellsAll(logger)) return undefined
  return ({ operation, auth, outcome, ms }) => {
    const caller = auth?.userId || (auth ? 'anonymous' : 'unknown')
    logger.info({ agent, caller, outcome, ms: Math.round(ms) }, operation)
  }
}

/** What answers below the path that an agent is mounted at. Each binding is made with its first request. */
function createRoutes(
  server: ServerContext,
  dispatch: Dispatch,
  identity: AgentIdentity,
): HttpHandler {
  const { options, clock, retryMs } = server
  const heartbeatMs = options.timeouts?.heartbeatMs ?? 15_000
  const agentCard = async (): Promise<unknown> => toRanchCard(await identity.info())
  const wire = { dispatch, heartbeatMs, clock, retryMs }
  const rpc = (defaultDialect: RpcDialectName, namedEvents = false): HttpHandler =>
    onFirstUse(() => createJsonRpcBinding({ ...wire, agentCard, defaultDialect, namedEvents }))
  return createRouter(
    agentRoutes,
    {
      rpc: rpc('0.3'),
      ranch: rpc('ranch'),
      rc: rpc('1.0-rc'),
      ranchStream: rpc('ranch', true),
      card: forAnyone(server.visitors, createCardPage(server, identity)),
    },
    onFirstUse(() => createRestBinding({ ...wire, errorTable: options.errorTable ?? '1.0.1' })),
  )
}

/** How long an agent's info is taken as it was: a team's members may come and go. */
const freshMs = 10_000

/** Who a served agent is: its info and its card, each asked for rarely and remembered. */
class AgentIdentity implements ServedAgent {
  readonly openExtendedCard: boolean
  readonly extendedCard?: NonNullable<ServedAgent['extendedCard']>
  inputModes: readonly string[] | undefined
  checksInput = false
  readonly #server: ServerContext
  #agent: Agent
  /** What the agent said of itself when it was last asked. */
  #info: AgentInfo
  /** Its own path on the server; the first agent has none. */
  #path = ''
  #card: AgentCard | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined
  /** Grows when agent or address change: what was read before is then another's. */
  #generation = 0
  /** The card at other bases. */
  readonly #elsewhere: FewCards
  /** The schemas of skills, compiled once for each list of them. */
  readonly #schemas = new WeakMap<readonly SkillDetail[], Promise<readonly z.ZodType[]>>()

  constructor(server: ServerContext, agent: Agent, info: AgentInfo) {
    const { extendedCard, openExtendedCard = false } = server.options
    this.#server = server
    this.#agent = agent
    this.#info = info
    this.#setInfo(info)
    this.openExtendedCard = openExtendedCard
    if (extendedCard)
      this.extendedCard = async (caller, at) => extendedCard(await this.cardAt(at), caller)
    this.#elsewhere = createFewCards((base) => this.#makeCard(this.#info, base))
  }

  /** The URL below which it answers, on the server's own URL or on this one. */
  base(server: string = this.#server.url): string {
    return server + this.#path
  }

  /** The info, not older than it may be. */
  async info(): Promise<AgentInfo> {
    await this.#look()
    return this.#info
  }

  /** The info as it was last read. */
  known(): AgentInfo {
    return this.#info
  }

  /** The public card. What is known answers at once, even when it is due for another look. */
  card(now?: number): AgentCard | Promise<AgentCard> {
    const waiting = this.#look(now)
    if (this.#card && !waiting) return this.#card
    return (waiting ?? this.#read()).then(() => {
      if (!this.#card) throw new Error('The agent did not say who it is')
      return this.#card
    })
  }

  /** The public card as seen from the server's own URL or from this one. */
  async cardAt(server?: string): Promise<AgentCard> {
    const own = await this.card()
    const base = this.base(server)
    return base === this.base() ? own : this.#elsewhere.get(base)
  }

  /**
   * Checks structured input against the skills' schemas. A message of nothing but data is the input of a skill and
   * must fit one of them; where words stand beside the data, or a skill has no schema, anything goes.
   * The skills may change while the server runs. Their schemas are compiled by a library that is loaded when the first
   * such message comes.
   */
  checkInput(parts: readonly Part[]): Promise<void> | undefined {
    const { skills = [] } = this.#info.details ?? {}
    if (!this.checksInput || !parts.every(isData)) return undefined
    const schemas = this.#schemas.get(skills) ?? compileAll(skills)
    this.#schemas.set(skills, schemas)
    return mustFit(parts, schemas)
  }

  setAgent(agent: Agent): void {
    this.#agent = agent
    this.refresh()
  }

  /** Answers at this path of the server from now on. */
  moveTo(path: string): void {
    this.#path = path
    this.refresh()
  }

  /** The agent or the base URL has changed. */
  refresh(): void {
    this.#generation++
    this.#readAt = Number.NEGATIVE_INFINITY
    this.#card = undefined
    this.#elsewhere.clear()
  }

  /** Reads the info again where it is due; the promise is there only if nothing is known until then. */
  #look(now: number = this.#server.clock.elapsed()): Promise<void> | undefined {
    if (now - this.#readAt < freshMs) return undefined
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    if (!this.#card) return this.#reading
    this.#reading.catch(() => {})
    return undefined
  }

  async #read(): Promise<void> {
    const { clock } = this.#server
    const begun = this.#generation
    const next = await this.#agent.info()
    const isKnown = this.#card && begun === this.#generation
    if (isKnown && JSON.stringify(next) === JSON.stringify(this.#info)) {
      this.#readAt = clock.elapsed()
      return
    }
    const fresh = await this.#makeCard(next, this.base())
    if (begun !== this.#generation) return this.#read()
    this.#readAt = clock.elapsed()
    this.#setInfo(next)
    this.#card = fresh
    this.#elsewhere.clear()
  }

  #setInfo(info: AgentInfo): void {
    const { skills = [] } = info.details ?? {}
    this.#info = info
    this.inputModes = enforcedModes(info, this.#server.options)
    this.checksInput = skills.length > 0 && skills.every(({ inputSchema }) => inputSchema)
  }

  async #makeCard(info: AgentInfo, base: string): Promise<AgentCard> {
    const { auth, options } = this.#server
    const all = interfacesAt(base)
    const { securitySchemes, securityRequirements } = auth
    const card = renderCard(info, {
      interfaces: options.interfaces?.(all) ?? all,
      streaming: options.streaming ?? true,
      pushNotifications: Boolean(options.pushNotifications) && !this.#agent.dispatch,
      extendedAgentCard: options.extendedCard !== undefined,
      securitySchemes,
      ...(securityRequirements.length > 0 && { securityRequirements }),
      extensions: [...offered(options, this.#agent), ...(options.extensions ?? [])],
    })
    const signatures = await options.signCard?.(card)
    return signatures?.length ? { ...card, signatures } : card
  }
}

/** The URI of 1.0-rc's slash-named JSON-RPC as a custom binding. */
const rcBinding = 'urn:corral:bindings:jsonrpc-1.0-rc'

/**
 * Every way to reach an agent mounted at a base URL, the preferred first, 1.0 before 0.3.
 * The one of 1.0 over JSON-RPC has a URL of its own: a request without a version is 0.3 at the root, but a client of the
 * release candidate that follows the card names none.
 */
function interfacesAt(base: string): readonly AgentInterface[] {
  const at = (route: AgentRoute): string => base + agentRoutes[route].paths[0]
  return [
    { url: at('rc'), protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: base, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: at('rpc'), protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: base, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    { url: at('ranch'), protocolBinding: ranchBinding, protocolVersion: '0.3' },
    { url: at('rc'), protocolBinding: rcBinding, protocolVersion: '1.0' },
  ]
}

/** Extensions that every card of ours declares. */
const ours: readonly AgentExtension[] = [
  {
    uri: idempotencyExtension,
    description: 'A send with the same Idempotency-Key gives the same task',
  },
  { uri: traceExtension, description: 'Shows what happens inside a task to callers that ask' },
]

/** A call can only activate what the card declares. An agent that keeps its tasks itself has no log of ours. */
function offered({ trace = true }: ServerOptions, { dispatch }: Agent): readonly AgentExtension[] {
  if (dispatch) return []
  return trace ? ours : ours.filter(({ uri }) => uri !== traceExtension)
}

/** Bases at which a card is remembered; a server has few, and more are somebody's invention. */
const maxBases = 16

interface FewCards {
  get(base: string): Promise<AgentCard>
  clear(): void
}

/** Remembers the latest few of the cards that it makes. */
function createFewCards(make: (base: string) => Promise<AgentCard>): FewCards {
  const cards = new Map<string, Promise<AgentCard>>()
  return {
    get(base) {
      const known = cards.get(base)
      if (known) return known
      const made = make(base)
      const [oldest] = cards.keys()
      if (cards.size >= maxBases && oldest !== undefined) cards.delete(oldest)
      cards.set(base, made)
      // What could not be signed may be later.
      made.catch(() => cards.delete(base))
      return made
    },
    clear: () => cards.clear(),
  }
}

/**
 * The media types that parts must have: the agent's own where it names them, unless the server says otherwise. A remote
 * agent refuses by itself what it does not take.
 */
function enforcedModes(
  { details, metadata }: AgentInfo,
  { enforceInputModes }: ServerOptions,
): readonly string[] | undefined {
  const named = details?.inputModes?.length ? details.inputModes : undefined
  if (!(enforceInputModes ?? (named && metadata.type !== 'a2a'))) return undefined
  return named ?? ['text/plain', 'application/json']
}

async function mustFit(
  parts: readonly DataPart[],
  compiled: Promise<readonly z.ZodType[]>,
): Promise<void> {
  const schemas = await compiled
  for (const [index, { data }] of parts.entries()) {
    const failures = schemas.flatMap((schema) => schema.safeParse(data).error ?? [])
    if (schemas.length > 0 && failures.length === schemas.length) throw refusal(index, failures[0])
  }
}

/** The schemas of all skills; none where one cannot be understood, since it may take anything. */
async function compileAll(skills: readonly SkillDetail[]): Promise<readonly z.ZodType[]> {
  const zod = await import('zod')
  try {
    return skills.map(({ inputSchema = {} }) =>
      // A skill's schema is JSON Schema by contract; zod's own type of it is only narrower in words.
      zod.z.fromJSONSchema(inputSchema as Parameters<typeof zod.z.fromJSONSchema>[0]),
    )
  } catch {
    return []
  }
}

function isData(part: Part): part is DataPart {
  return 'data' in part
}

function refusal(index: number, error: z.ZodError | undefined): A2AError {
  const issue = error?.issues[0]
  const field = [
    'message.parts',
    `[${index}].data`,
    ...(issue?.path ?? []).map((key) => `.${String(key)}`),
  ].join('')
  const description = issue?.message ?? 'does not fit'
  return new A2AError('invalidParams', `${field}: ${description}`, {
    violations: [{ field, description }],
  })
}

type Shape = NonNullable<ServerOptions['card']>

interface Rendered {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

const maxAgeSeconds = 300

/** What decides about the address in a card, where proxies are trusted. */
const proxyHeaders = 'Forwarded, X-Forwarded-Host, X-Forwarded-Proto, X-Forwarded-Prefix'

/**
 * Makes the well-known page of a card, with an ETag, so that clients need not fetch what they have (specification §8.6).
 * Each shape is serialised once per card.
 */
function createCardPage({ options, clock }: ServerContext, identity: AgentIdentity): HttpHandler {
  const rendered = { superset: new WeakMap<AgentCard, Rendered>(), strict: new WeakMap() }
  const since = new Date(clock.now()).toUTCString()
  const vary = options.trustedProxies?.length ? `A2A-Version, ${proxyHeaders}` : 'A2A-Version'

  async function render(wanted: Shape, server: string | undefined): Promise<Rendered> {
    const card = await identity.cardAt(server)
    const known = rendered[wanted].get(card)
    if (known) return known
    const stateManagement = identity.known().details?.stateManagement
    const shown =
      wanted === 'strict'
        ? card
        : toSupersetCard(card, stateManagement === undefined ? {} : { stateManagement })
    const body = JSON.stringify(shown)
    const fresh = { body, headers: { ...headersOf(await tagOf(body), since), vary } }
    rendered[wanted].set(card, fresh)
    return fresh
  }

  return async (request) => {
    const version = request.headers['a2a-version']?.trim()
    const strict = options.card === 'strict' || version?.startsWith('1.')
    const { body, headers } = await render(strict ? 'strict' : 'superset', request.base)
    const known = request.headers['if-none-match']
    if (known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === headers.etag))
      return { status: 304, headers }
    return { status: 200, headers, body }
  }
}

function headersOf(etag: string, since: string): Rendered['headers'] {
  return {
    'content-type': 'application/json',
    'cache-control': `public, max-age=${maxAgeSeconds}`,
    etag,
    'last-modified': since,
  }
}

async function tagOf(body: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  const bytes = Array.from(new Uint8Array(digest).subarray(0, 16))
  return `"${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}"`
}
