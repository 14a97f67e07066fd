import { apiKeyAuth, bearerAuth, type ClientAuth } from '../../client/auth/auth.ts'
import { clientCredentials } from '../../client/auth/oauth-flows.ts'
import { A2AClient } from '../../client/client.ts'
import {
  type ClientOptions,
  JsonRpcTransport,
  rpcDialectAt,
  type SendOptions,
} from '../../client/config.ts'
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
import type { A2AAgentConfig, AgentAuth } from '../config.ts'
import { keyHeader } from '../config-checks.ts'

/** How a remote agent is connected. */
interface RemoteWay extends ClientOptions {
  /**
   * Speak RANCH at an endpoint `…/rpc` where the card offers it: a task that is done in time is then a message, as RANCH has it,
   * and any other a task.
   */
  readonly preferRanch: boolean
}

/**
 * The way to a remote agent, found when it is first needed, so that a dead member does not stop the start of its team.
 * The endpoint is a base URL with a card below it, or a JSON-RPC URL (`…/rpc`): then the card is looked for beside it,
 * and a peer that has none is spoken to as its path says.
 */
export class RemoteConnection {
  readonly #endpoint: string
  readonly #prefersRanch: boolean
  readonly #clock: Clock
  readonly #base: A2AClient
  /** Speaks to the endpoint without a card; undefined where its path does not tell the wire. */
  readonly #direct: A2AClient | undefined
  #found: A2AClient | undefined
  /** Until when it is believed that the peer has no card. */
  #noCardUntil = 0
  #closing: Promise<unknown> | undefined

  constructor(endpoint: string, { preferRanch, ...options }: RemoteWay) {
    this.#endpoint = endpoint
    this.#prefersRanch = preferRanch
    this.#clock = options.clock ?? systemClock
    this.#base = new A2AClient({ serverUrl: toBaseUrl(endpoint), ...options })
    this.#direct = openDirect(endpoint, options)
  }

  /** A client that can be used; a peer without a card is spoken to at its endpoint. */
  async client(signal?: AbortSignal): Promise<A2AClient> {
    this.#found ??= await this.#choose(signal)
    return this.#found
  }

  /** Whether a send can be repeated with its key, which gives the task that it began; a peer without a card knows none. */
  async knowsKeys(signal?: AbortSignal): Promise<boolean> {
    if ((await this.client(signal)) !== this.#base) return false
    return declaresIdempotency(await this.#card(signal))
  }

  /** Whether the remote reports to webhooks; a peer without a card does not. */
  async hasWebhooks(signal?: AbortSignal): Promise<boolean> {
    if ((await this.client(signal)) !== this.#base) return false
    return (await this.#card(signal))?.capabilities.pushNotifications === true
  }

  /** Who the remote is: local names, then its card's, else its answer to RANCH's `agent/card`. */
  async describe(local: LocalInfo, signal?: AbortSignal): Promise<AgentInfo> {
    const card = await this.#card(signal)
    const ranch = card && ranchInfoOf(card)
    return ranch ? fromRanchInfo(local, ranch) : toRemoteInfo(local, card)
  }

  /**
   * The remote's first word on a message, whatever the wire: a message, or the task that it has begun. Where it has no
   * streams to tell, a task is asked for at once (`impatient`) or waited for.
   */
  async firstWord(
    request: SendMessageRequest,
    { impatient, ...call }: SendOptions & { readonly impatient: boolean },
  ): Promise<SendMessageResponse> {
    const chosen = await this.client(call.signal)
    const hasCard = chosen === this.#base
    const streams = hasCard && (await this.#card(call.signal))?.capabilities.streaming === true
    if (streams) return firstEvent(chosen.sendMessageStream(request, call))
    const returnImmediately = hasCard && impatient
    return chosen.sendMessage({ ...request, configuration: { returnImmediately } }, call)
  }

  /** Forgets the card and how the peer is reached. */
  clear(): void {
    this.#found = undefined
    this.#noCardUntil = 0
    this.#base.invalidate()
  }

  async close(): Promise<void> {
    this.#closing ??= Promise.all([this.#base.close(), this.#direct?.close()])
    await this.#closing
  }

  async #choose(signal?: AbortSignal): Promise<A2AClient> {
    const direct = this.#direct
    const card = direct && (await this.#card(signal))
    const speaksRanch = card && this.#prefersRanch && offersRanch(this.#endpoint, card)
    return direct && (!card || speaksRanch) ? direct : this.#base
  }

  /** The card; undefined where a peer that can be spoken to without one has none. */
  async #card(signal?: AbortSignal): Promise<AgentCard | undefined> {
    if (this.#clock.now() < this.#noCardUntil) return undefined
    try {
      return await this.#base.fetchAgentCard(signal ? { signal } : {})
    } catch (error) {
      if (!this.#direct || !isWithoutCard(error)) throw error
      this.#noCardUntil = this.#clock.now() + withoutCardMs
      return undefined
    }
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
  const dialect = rpcDialectAt(endpoint)
  if (!dialect) return undefined
  return new A2AClient({ transport: new JsonRpcTransport(endpoint, { dialect }), ...options })
}

/** Whether RANCH is spoken at the endpoint that was given, by a card. */
function offersRanch(endpoint: string, card: AgentCard): boolean {
  const offered = card.supportedInterfaces.some((one) => one.protocolBinding === ranchBinding)
  return offered && rpcDialectAt(endpoint) === 'ranch'
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
