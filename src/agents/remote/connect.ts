import { apiKeyAuth, bearerAuth, type ClientAuth } from '../../client/auth.ts'
import { A2AClient } from '../../client/client.ts'
import type { ClientOptions, SendOptions } from '../../client/config.ts'
import { clientCredentials } from '../../client/oauth/oauth.ts'
import { JsonRpcTransport, type Transport } from '../../client/transport.ts'
import { A2AError } from '../../protocol/errors.ts'
import { declaresIdempotency } from '../../protocol/extensions.ts'
import type {
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
} from '../../protocol/types.ts'
import { withDeadline } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import type { AgentInfo, Health } from '../agent.ts'
import { type AgentAuth, keyHeader } from '../auth.ts'
import type { A2AAgentConfig } from '../config.ts'
import { toMemberFault } from './faults.ts'
import { type LocalInfo, toRemoteInfo } from './info.ts'
import { askRanchCard, fromRanchCard, type RanchAgentCard } from './ranch-card.ts'

/** How a first word is asked for. */
interface FirstWordOptions extends SendOptions {
  readonly impatient: boolean
}

/** The way to a remote agent, found when it is first needed. */
export interface RemoteConnection {
  /** A client that can be used; a peer without a card is spoken to at its endpoint. */
  client(signal?: AbortSignal): Promise<A2AClient>
  /** Whether a send can be repeated with its key, which gives the task that it began; a peer without a card knows none. */
  knowsKeys(signal?: AbortSignal): Promise<boolean>
  /** Who the remote is: local names, then its card's, else its answer to RANCH's `agent/card`. */
  describe(local: LocalInfo, signal?: AbortSignal): Promise<AgentInfo>
  /**
   * The remote's first word on a message, whatever the wire: a message, or the task that it has begun. Where it has no
   * streams to tell, a task is asked for at once (`impatient`) or waited for.
   */
  firstWord(request: SendMessageRequest, options: FirstWordOptions): Promise<SendMessageResponse>
  /** Forgets the card and how the peer is reached. */
  clear(): void
  close(): Promise<void>
}

/**
 * Connects lazily, so that a dead member stops nobody's start. The endpoint is a base URL with a card below it, or a
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

/** How long a remote may take to show that it is there. */
const probeMs = 5_000

/** How long what a RANCH server says of itself is taken as it was, and how long that it says nothing. */
const rememberMs = { card: 300_000, none: 60_000 } as const

/** The way to a peer without a card of A2A, at an endpoint that tells its wire. */
interface Direct {
  readonly client: A2AClient
  describe(local: LocalInfo, signal?: AbortSignal): Promise<AgentInfo>
  clear(): void
}

function openDirect(endpoint: string, options: ClientOptions): Direct | undefined {
  const dialect = rpcDialect(endpoint)
  if (!dialect) return undefined
  const { clock = systemClock } = options
  const wire = new JsonRpcTransport(endpoint, { dialect })
  let send: Parameters<Transport['connect']>[0] | undefined
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
    async describe(local, signal) {
      if (!known || clock.now() >= known.until) {
        const card =
          dialect === 'ranch' && send ? await askRanchCard(send, endpoint, signal) : undefined
        known = { card, until: clock.now() + rememberMs[card ? 'card' : 'none'] }
      }
      return known.card ? fromRanchCard(local, known.card) : toRemoteInfo(local)
    },
    clear() {
      known = undefined
    },
  }
}

/** What a stream begins with. Leaving it leaves the task to itself. */
async function firstEvent(events: AsyncIterable<StreamResponse>): Promise<SendMessageResponse> {
  for await (const event of events) if ('task' in event || 'message' in event) return event
  throw new A2AError('invalidAgentResponse', 'The agent sent no task and no message')
}

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
    // Whoever configures a token endpoint without TLS means it: a service on the same machine.
    allowInsecure: tokenUrl.startsWith('http:'),
  })
}

/** Whether an error says that a peer answered, and has no card. */
function isWithoutCard(error: unknown): boolean {
  return error instanceof A2AError && error.code === 'agentUnavailable'
}

/** The URL beside which a card is looked for: a trailing `/rpc` or `/v1/rpc` is the wire, not the agent. */
function toBase(endpoint: string): string {
  const url = new URL(endpoint)
  url.pathname = url.pathname.replace(/(\/v1)?\/rpc\/?$/, '/')
  return url.href
}

function rpcDialect(endpoint: string): 'ranch' | '1.0-rc' | undefined {
  const { pathname } = new URL(endpoint)
  if (/\/v1\/rpc\/?$/.test(pathname)) return '1.0-rc'
  return /\/rpc\/?$/.test(pathname) ? 'ranch' : undefined
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
