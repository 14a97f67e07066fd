import { apiKeyAuth, bearerAuth, type ClientAuth } from '../../client/auth/auth.ts'
import { clientCredentials } from '../../client/auth/oauth-flows.ts'
import { A2AClient } from '../../client/client.ts'
import { type ClientOptions, JsonRpcTransport, type SendOptions } from '../../client/config.ts'
import { ranchBinding, ranchInfoOf, toBaseUrl } from '../../client/discovery.ts'
import { A2AError, type ErrorCode, hasCode } from '../../protocol/errors.ts'
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

/** How a remote agent is connected. */
interface RemoteWay extends ClientOptions {
  /**
   * Speak RANCH at an endpoint `…/rpc` where the card offers it: a task that is done in time is then a message, as RANCH has it,
   * and any other a task.
   */
  readonly preferRanch: boolean
}

/**
 * Connects lazily, so that a dead member does not stop the start of its team. The endpoint is a base URL with a card below it, or a
 * JSON-RPC URL (`…/rpc`): then the card is looked for beside it, and a peer that has none is spoken to as its path says.
 */
export function connectRemote(
  endpoint: string,
  { preferRanch, ...options }: RemoteWay,
): RemoteConnection {
  const { clock = systemClock } = options
  const base = new A2AClient({ serverUrl: toBaseUrl(endpoint), ...options })
  const direct = openDirect(endpoint, options)
  let found: A2AClient | undefined
  const known = new RemoteCard(base, { isOptional: direct !== undefined, clock })
  let closing: Promise<unknown> | undefined

  const cardOf = (signal?: AbortSignal): Promise<AgentCard | undefined> => known.get(signal)

  async function choose(signal?: AbortSignal): Promise<A2AClient> {
    const card = direct && (await cardOf(signal))
    if (!direct || (card && !(preferRanch && offersRanch(endpoint, card)))) return base
    return direct
  }

  async function client(signal?: AbortSignal): Promise<A2AClient> {
    found ??= await choose(signal)
    return found
  }

  return {
    client,
    async knowsKeys(signal) {
      if ((await client(signal)) !== base) return false
      return declaresIdempotency(await cardOf(signal))
    },
    async hasWebhooks(signal) {
      if ((await client(signal)) !== base) return false
      return (await cardOf(signal))?.capabilities.pushNotifications === true
    },
    async describe(local, signal) {
      const card = await cardOf(signal)
      const ranch = card && ranchInfoOf(card)
      return ranch ? fromRanchInfo(local, ranch) : toRemoteInfo(local, card)
    },
    async firstWord(request, { impatient, ...call }) {
      const chosen = await client(call.signal)
      const streams =
        chosen === base && (await cardOf(call.signal))?.capabilities.streaming === true
      if (streams) return firstEvent(chosen.sendMessageStream(request, call))
      const returnImmediately = chosen === base && impatient
      return chosen.sendMessage({ ...request, configuration: { returnImmediately } }, call)
    },
    clear() {
      found = undefined
      known.clear()
    },
    async close() {
      closing ??= Promise.all([base.close(), direct?.close()])
      await closing
    },
  }
}

/** The card of a remote agent. That it has no card is remembered for a while, too. */
class RemoteCard {
  readonly #client: A2AClient
  readonly #isOptional: boolean
  readonly #clock: Clock
  #noneUntil = 0

  /** @param options Whether the peer can be spoken to without a card. */
  constructor(client: A2AClient, { isOptional, clock }: { isOptional: boolean; clock: Clock }) {
    this.#client = client
    this.#isOptional = isOptional
    this.#clock = clock
  }

  /** The card; undefined where a peer that can be spoken to without one has none. */
  async get(signal?: AbortSignal): Promise<AgentCard | undefined> {
    if (this.#clock.now() < this.#noneUntil) return undefined
    try {
      return await this.#client.fetchAgentCard(signal ? { signal } : {})
    } catch (error) {
      if (!this.#isOptional || !isWithoutCard(error)) throw error
      this.#noneUntil = this.#clock.now() + withoutCardMs
      return undefined
    }
  }

  clear(): void {
    this.#noneUntil = 0
    this.#client.invalidate()
  }
}

/** Whether an error says that a peer answered, and has no card. */
function isWithoutCard(error: unknown): boolean {
  return hasCode(error, 'agentUnavailable')
}

/** What a stream begins with. Leaving it leaves the task to itself. */
async function firstEvent(events: AsyncIterable<StreamResponse>): Promise<SendMessageResponse> {
  for await (const event of events) if ('task' in event || 'message' in event) return event
  throw new A2AError('invalidAgentResponse', 'The agent sent no task and no message')
}

/** How long it is believed that a peer says nothing of itself. */
const withoutCardMs = 60_000

/** A client over the wire that an endpoint tells; undefined where it tells none. */
function openDirect(endpoint: string, options: ClientOptions): A2AClient | undefined {
  const dialect = rpcDialect(endpoint)
  if (!dialect) return undefined
  return new A2AClient({ transport: new JsonRpcTransport(endpoint, { dialect }), ...options })
}

/** Whether RANCH is spoken at the endpoint that was given, by a card. */
function offersRanch(endpoint: string, card: AgentCard): boolean {
  const offered = card.supportedInterfaces.some((one) => one.protocolBinding === ranchBinding)
  return offered && rpcDialect(endpoint) === 'ranch'
}

function rpcDialect(endpoint: string): 'ranch' | '1.0-rc' | undefined {
  const { pathname } = new URL(endpoint)
  if (/\/v1\/rpc\/?$/.test(pathname)) return '1.0-rc'
  return /\/rpc\/?$/.test(pathname) ? 'ranch' : undefined
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

/** A remote agent's info by what its RANCH server says: local names first. */
function fromRanchInfo(local: LocalInfo, info: AgentInfo): AgentInfo {
  const name = local.name ?? info.name
  return {
    ...info,
    id: local.id ?? local.agentId ?? info.id,
    name,
    description: local.description ?? info.description,
    capabilities: local.capabilities?.length ? [...new Set(local.capabilities)] : info.capabilities,
    metadata: { ...local.metadata, type: 'a2a' },
  }
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
  const serverUrl = toBaseUrl(endpoint)
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
