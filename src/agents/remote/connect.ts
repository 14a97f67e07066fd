import { apiKeyAuth, bearerAuth, type ClientAuth } from '../../client/auth/auth.ts'
import { clientCredentials } from '../../client/auth/oauth-flows.ts'
import { A2AClient } from '../../client/client.ts'
import {
  type ClientOptions,
  JsonRpcTransport,
  type SendOptions,
  type Transport,
} from '../../client/config.ts'
import { maxSmallBytes } from '../../client/http.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import { declaresIdempotency } from '../../protocol/extensions.ts'
import type { FailureCause } from '../../protocol/failure.ts'
import type {
  AgentCard,
  AgentSkill,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
} from '../../protocol/types.ts'
import { withDeadline } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Fields, isFields } from '../../shared/json.ts'
import type { OptionTable } from '../../shared/options.ts'
import type { AgentDetails, AgentInfo, Health } from '../agent.ts'
import { type A2AAgentConfig, type AgentAuth, keyHeader } from '../config.ts'

/** The way to a remote agent, found when it is first needed. */
export interface RemoteConnection {
  /** A client that can be used; a peer without a card is spoken to at its endpoint. */
  client(signal?: AbortSignal): Promise<A2AClient>
  /** Whether a send can be repeated with its key, which gives the task that it began; a peer without a card knows none. */
  knowsKeys(signal?: AbortSignal): Promise<boolean>
  /** Whether the remote reports to webhooks; a peer without a card does not. */
  hasWebhooks(signal?: AbortSignal): Promise<boolean>
  /** Who the remote is: local names, then its card's, else its answer to RANCH's `agent/card`. */
  describe(local: LocalInfo, signal?: AbortSignal): Promise<AgentInfo>
  /**
   * The remote's first word on a message, whatever the wire: a message, or the task that it has begun. Where it has no
   * streams to tell, a task is asked for at once (`impatient`) or waited for.
   */
  firstWord(
    request: SendMessageRequest,
    options: SendOptions & { readonly impatient: boolean },
  ): Promise<SendMessageResponse>
  /** Forgets the card and how the peer is reached. */
  clear(): void
  close(): Promise<void>
}

/**
 * Connects lazily, so that a dead member does not stop the start of its team. The endpoint is a base URL with a card below it, or a
 * JSON-RPC URL (`…/rpc`): then the card is looked for beside it, and a peer that has none is a RANCH server and spoken
 * to as such.
 */
export function connectRemote(endpoint: string, options: ClientOptions): RemoteConnection {
  const base = new A2AClient({ serverUrl: toBase(endpoint), ...options })
  const direct = openDirect(endpoint, options)
  let found: A2AClient | undefined
  let closing: Promise<unknown> | undefined
  async function client(signal?: AbortSignal): Promise<A2AClient> {
    found ??= direct && !(await hasCard(base, signal)) ? direct.client : base
    return found
  }
  return {
    client,
    async knowsKeys(signal) {
      if ((await client(signal)) !== base) return false
      return declaresIdempotency(await base.fetchAgentCard({ ...(signal && { signal }) }))
    },
    async hasWebhooks(signal) {
      if ((await client(signal)) !== base) return false
      const { capabilities } = await base.fetchAgentCard({ ...(signal && { signal }) })
      return capabilities.pushNotifications === true
    },
    async describe(local, signal) {
      const known = await client(signal)
      if (known !== base) return direct?.describe(local, signal) ?? toRemoteInfo(local)
      return toRemoteInfo(local, await base.fetchAgentCard({ ...(signal && { signal }) }))
    },
    async firstWord(request, { impatient, ...call }) {
      const known = await client(call.signal)
      const streams =
        known === base && (await base.fetchAgentCard(call)).capabilities.streaming === true
      if (streams) return firstEvent(known.sendMessageStream(request, call))
      const returnImmediately = known === base && impatient
      return known.sendMessage({ ...request, configuration: { returnImmediately } }, call)
    },
    clear() {
      found = undefined
      base.invalidate()
      direct?.clear()
    },
    async close() {
      closing ??= Promise.all([base.close(), direct?.client.close()])
      await closing
    },
  }
}

/** The URL beside which a card is looked for: a trailing `/rpc` or `/v1/rpc` is the wire, not the agent. */
function toBase(endpoint: string): string {
  const url = new URL(endpoint)
  url.pathname = url.pathname.replace(/(\/v1)?\/rpc\/?$/, '/')
  return url.href
}

async function hasCard(client: A2AClient, signal?: AbortSignal): Promise<boolean> {
  try {
    await client.fetchAgentCard(signal ? { signal } : {})
    return true
  } catch (error) {
    if (isWithoutCard(error)) return false
    throw error
  }
}

/** Whether an error says that a peer answered, and has no card. */
function isWithoutCard(error: unknown): boolean {
  return error instanceof A2AError && error.code === 'agentUnavailable'
}

/** What a stream begins with. Leaving it leaves the task to itself. */
async function firstEvent(events: AsyncIterable<StreamResponse>): Promise<SendMessageResponse> {
  for await (const event of events) if ('task' in event || 'message' in event) return event
  throw new A2AError('invalidAgentResponse', 'The agent sent no task and no message')
}

/** How long what a RANCH server says of itself is taken as it was, and how long that it says nothing. */
const rememberMs = { card: 300_000, none: 60_000 } as const

/** The way to a peer without a card of A2A, at an endpoint that tells its wire; undefined where it tells none. */
function openDirect(endpoint: string, options: ClientOptions) {
  const dialect = rpcDialect(endpoint)
  if (!dialect) return undefined
  const { clock = systemClock } = options
  const wire = new JsonRpcTransport(endpoint, { dialect })
  let send: TransportSend | undefined
  // Listens in for how the client sends, with its credentials and limits: the card is no operation of the wire.
  const transport: Transport = {
    url: wire.url,
    connect(given) {
      send = given
      return wire.connect(given)
    },
  }
  let known: { readonly card: RanchAgentCard | undefined; readonly until: number } | undefined
  return {
    client: new A2AClient({ transport, ...options }),
    async describe(local: LocalInfo, signal?: AbortSignal): Promise<AgentInfo> {
      if (!known || clock.now() >= known.until) {
        const card =
          dialect === 'ranch' && send ? await askRanchCard(send, endpoint, signal) : undefined
        known = { card, until: clock.now() + rememberMs[card ? 'card' : 'none'] }
      }
      return known.card ? fromRanchCard(local, known.card) : toRemoteInfo(local)
    },
    clear(): void {
      known = undefined
    },
  }
}

function rpcDialect(endpoint: string): 'ranch' | '1.0-rc' | undefined {
  const { pathname } = new URL(endpoint)
  if (/\/v1\/rpc\/?$/.test(pathname)) return '1.0-rc'
  return /\/rpc\/?$/.test(pathname) ? 'ranch' : undefined
}

/** How a transport is given to send requests. */
type TransportSend = Parameters<Transport['connect']>[0]

/** What a RANCH server says of itself when it is asked for `agent/card`, as far as it does. */
interface RanchAgentCard {
  readonly agent_id?: string
  readonly name: string
  readonly description?: string
  readonly capabilities: readonly {
    readonly name: string
    readonly description?: string
    readonly version?: string
  }[]
  readonly skills: readonly { readonly name: string; readonly proficiency: string }[]
  readonly version?: string
  readonly provider?: { readonly name: string; readonly url?: string }
}

/** Asks a RANCH server for its card; undefined where it has none, or none that can be read. */
async function askRanchCard(
  send: TransportSend,
  url: string,
  signal?: AbortSignal,
): Promise<RanchAgentCard | undefined> {
  const reply = await send({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{"jsonrpc":"2.0","method":"agent/card","params":{},"id":1}',
    ...(signal && { signal }),
  })
  const text = await reply.text(maxSmallBytes)
  return reply.status === 200 ? parseCard(text) : undefined
}

function parseCard(text: string): RanchAgentCard | undefined {
  const reply = tryParse(text)
  const card = isFields(reply) ? reply.result : undefined
  const name = isFields(card) ? textOf(card.name) : undefined
  if (!isFields(card) || name === undefined) return undefined
  const { provider } = card
  return {
    ...optional('agent_id', textOf(card.agent_id)),
    name,
    ...optional('description', textOf(card.description)),
    capabilities: named(card.capabilities).map((one) => ({
      name: one.name,
      ...optional('description', textOf(one.description)),
      ...optional('version', textOf(one.version)),
    })),
    skills: named(card.skills).map((one) => ({
      name: one.name,
      proficiency: textOf(one.proficiency) ?? '',
    })),
    ...optional('version', textOf(card.version)),
    ...optional(
      'provider',
      named([provider]).map((one) => ({ name: one.name, ...optional('url', textOf(one.url)) }))[0],
    ),
  }
}

/** The entries of a list that have a name; the rest of a stranger's card may still be of use. */
function named(list: unknown): readonly (Fields & { readonly name: string })[] {
  const entries: readonly unknown[] = Array.isArray(list) ? list : []
  return entries.flatMap((entry) => {
    const raw = isFields(entry) ? entry : undefined
    const name = textOf(raw?.name)
    return raw && name !== undefined ? [{ ...raw, name }] : []
  })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V }) // one key, one value
}

/** A remote agent's info by its RANCH card: local names first, then the card's. */
function fromRanchCard(local: LocalInfo, card: RanchAgentCard): AgentInfo {
  const name = local.name ?? card.name
  const abilities = local.capabilities?.length
    ? local.capabilities
    : card.capabilities.map((capability) => capability.name)
  return {
    id: local.id ?? local.agentId ?? card.agent_id ?? card.name,
    name,
    description: local.description ?? card.description ?? name,
    capabilities: [...new Set(abilities)],
    metadata: { ...local.metadata, type: 'a2a' },
    details: ranchDetails(card),
  }
}

function ranchDetails({ version, provider, capabilities, skills }: RanchAgentCard): AgentDetails {
  return {
    ...(version !== undefined && { version }),
    ...(provider && { provider: { organization: provider.name, url: provider.url ?? '' } }),
    capabilities: capabilities.map((one) => ({
      name: one.name,
      description: one.description ?? one.name,
      version: one.version ?? '1.0.0',
    })),
    ...(skills.length > 0 && { proficiencies: skills }),
  }
}

/** What a remote agent is called here; the card's own words if absent. */
export interface LocalInfo {
  /** The URL of the remote agent or of its card. */
  readonly endpoint: string
  /** The remote agent's own id; discovered if absent. */
  readonly agentId?: string
  /** The agent's id here, unique in its team and server. */
  readonly id?: string
  readonly name?: string
  readonly description?: string
  readonly capabilities?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>>
}

/** What the options of a remote agent may be. */
export const remoteOptions: OptionTable<A2AAgentConfig & LocalInfo> = {
  endpoint: 'string!',
  agentId: 'string',
  timeoutSeconds: 'number',
  maxRetries: 'number',
  auth: 'object',
  credentialOrigins: 'array',
  tenant: 'string',
  taskHandling: 'string',
  maxTaskSeconds: 'number',
  wait: 'any',
  id: 'string',
  name: 'string',
  description: 'string',
  capabilities: 'array',
  metadata: 'object',
}

/** A remote agent's info: local names first, then what its card says, then what its URL tells. */
export function toRemoteInfo(local: LocalInfo, card?: AgentCard): AgentInfo {
  const name = local.name ?? card?.name ?? new URL(local.endpoint).host
  return {
    id: local.id ?? local.agentId ?? card?.name ?? new URL(local.endpoint).host,
    name,
    description: local.description ?? card?.description ?? name,
    capabilities: abilitiesOf(local, card),
    metadata: { ...local.metadata, type: 'a2a' },
    ...(card && { details: detailsOf(card) }),
  }
}

/** Abilities are the configured ones, else the names of the card's skills. */
function abilitiesOf(local: LocalInfo, card?: AgentCard): readonly string[] {
  if (local.capabilities?.length) return [...new Set(local.capabilities)]
  return [...new Set((card?.skills ?? []).map((skill: AgentSkill) => skill.name))]
}

/** URLs, schemes and signatures are the remote's own and do not become ours. */
function detailsOf(card: AgentCard): AgentDetails {
  const { version, provider, skills, documentationUrl, iconUrl, capabilities } = card
  return {
    version,
    ...(provider && { provider }),
    skills,
    inputModes: card.defaultInputModes,
    outputModes: card.defaultOutputModes,
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    ...(capabilities.extensions && { extensions: capabilities.extensions }),
  }
}

/** How long a remote may take to show that it is there. */
const probeMs = 5_000

/** Asks a remote for its card, past every cache and once: a health answer from memory would be worthless. */
export async function probe(
  { endpoint, auth }: A2AAgentConfig,
  name: string,
  clock: Clock,
): Promise<Health> {
  const serverUrl = toBase(endpoint)
  const retry = { maxRetries: 0 }
  const client = new A2AClient({
    serverUrl,
    clock,
    retry,
    ...(auth && { auth: toClientAuth(auth) }),
  })
  try {
    return await withDeadline(clock, probeMs, async (signal) => {
      try {
        await client.fetchAgentCard({ signal })
        return { healthy: true }
      } catch (error) {
        if (isWithoutCard(error) && serverUrl !== new URL(endpoint).href) return { healthy: true }
        const fault = signal.aborted
          ? new Error(`${name} did not answer in time`)
          : toMemberFault(name, error, signal)
        return { healthy: false, reason: fault instanceof Error ? fault.message : 'unknown' }
      }
    })
  } finally {
    await client.close()
  }
}

/** How we prove ourselves, as the client's layer does it. */
export function toClientAuth(auth: AgentAuth): ClientAuth {
  if (auth.type === 'bearer') return bearerAuth(auth.token)
  if (auth.type === 'api_key')
    return apiKeyAuth(auth.key, { location: 'header', name: auth.header ?? keyHeader })
  const { clientId, clientSecret, tokenUrl, scopes } = auth
  return clientCredentials({
    clientId,
    clientSecret,
    tokenUrl,
    ...(scopes && { scopes }),
    // A token endpoint that is configured without TLS is meant to be: a service on the same machine.
    allowInsecure: tokenUrl.startsWith('http:'),
  })
}

/** Holds errors only as long as other code does. */
const own = new WeakSet<A2AError>()

const meaning: Partial<Record<ErrorCode, [ErrorCode, string]>> = {
  unavailable: ['agentUnavailable', 'cannot be reached'],
  agentUnavailable: ['agentUnavailable', 'is not available'],
  rateLimited: ['agentUnavailable', 'is asked too often'],
  timeout: ['timeout', 'did not answer in time'],
  unauthenticated: ['processingError', 'refused our credentials'],
  forbidden: ['processingError', 'refused our credentials'],
  invalidAgentResponse: ['invalidAgentResponse', 'sent an answer that cannot be understood'],
  contentTypeNotSupported: ['contentTypeNotSupported', 'does not take this kind of content'],
  taskNotFound: ['processingError', 'no longer knows the task'],
}

const reasons: Partial<Record<ErrorCode, FailureCause>> = {
  unavailable: 'remoteDown',
  agentUnavailable: 'remoteDown',
  unauthenticated: 'remoteKey',
  forbidden: 'remoteKey',
}

/**
 * What a remote agent's failure means to our agent's caller. Hosts, and what the remote refused us for, stay in the
 * cause: our caller is not to blame for our credentials. The end of our own turn is passed on as it is.
 */
export function toMemberFault(name: string, thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (!(thrown instanceof A2AError) || own.has(thrown)) return thrown
  const [code, what] = meaning[thrown.code] ?? ['processingError', 'could not process the message']
  const { retryAfterSeconds } = thrown.details
  const why = reasons[thrown.code]
  return new A2AError(code, `${name} ${what}`, {
    cause: thrown,
    ...(why && { why }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** A failure that we found ourselves; its words are meant for our caller. */
export function ownFault(code: ErrorCode, message: string): A2AError {
  const error = new A2AError(code, message)
  own.add(error)
  return error
}
