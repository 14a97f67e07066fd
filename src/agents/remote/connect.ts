import {
  A2AClient,
  apiKey,
  bearer,
  type ClientAuth,
  type ClientOptions,
  clientCredentials,
  JsonRpcTransport,
} from '../../client/index.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { AgentAuth } from '../config.ts'

/** The way to a remote agent, found when it is first needed. */
export interface RemoteConnection {
  /** A client that can be used; a peer without a card is spoken to at its endpoint. */
  client(signal?: AbortSignal): Promise<A2AClient>
  /** Forgets the card and how the peer is reached. */
  clear(): void
  close(): Promise<void>
}

/**
 * Connects lazily, so that a dead member stops nobody's start. The endpoint is a base URL with a card below it, or the
 * JSON-RPC URL of the seeds (`…/rpc`): then the card is looked for beside it, and a peer that has none is a RANCH
 * server and spoken to as such.
 */
export function connectRemote(endpoint: string, options: ClientOptions): RemoteConnection {
  const base = new A2AClient({ serverUrl: toBase(endpoint), ...options })
  const dialect = rpcDialect(endpoint)
  const direct =
    dialect && new A2AClient({ transport: new JsonRpcTransport(endpoint, { dialect }), ...options })
  let found: A2AClient | undefined
  let closing: Promise<unknown> | undefined
  return {
    async client(signal) {
      found ??= direct && !(await hasCard(base, signal)) ? direct : base
      return found
    },
    clear() {
      found = undefined
      base.invalidate()
    },
    async close() {
      closing ??= Promise.all([base.close(), direct?.close()])
      await closing
    },
  }
}

/** How we prove ourselves, as the client's layer does it. */
export function toClientAuth(auth: AgentAuth): ClientAuth {
  if (auth.type === 'bearer') return bearer(auth.token)
  if (auth.type === 'api_key')
    return apiKey(auth.key, { location: 'header', name: auth.header ?? 'X-API-Key' })
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
export function isWithoutCard(error: unknown): boolean {
  return error instanceof A2AError && error.code === 'agentUnavailable'
}

/** The URL beside which a card is looked for: a trailing `/rpc` or `/v1/rpc` is the wire, not the agent. */
export function toBase(endpoint: string): string {
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
