import { toSupersetCard } from '../bindings/dialects/v03/card.ts'
import type { HttpHandler } from '../bindings/http.ts'
import { type AgentRoute, agentRoutes } from '../bindings/routes.ts'
import type { AgentInfo } from '../protocol/profile.ts'
import type { AgentCard, AgentInterface } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'

/** The URI of RANCH's JSON-RPC as a custom binding; standard clients skip it (specification §5.8). */
const ranchBinding = 'urn:corral:bindings:ranch'
/** The URI of 1.0-rc's slash-named JSON-RPC as a custom binding. */
const rcBinding = 'urn:corral:bindings:jsonrpc-1.0-rc'

/**
 * Every way to reach an agent mounted at a base URL, the preferred first, 1.0 before 0.3.
 * The one of 1.0 over JSON-RPC has a URL of its own: a request without a version is 0.3 at the root, but a client of the
 * release candidate that follows the card names none.
 */
export function interfacesAt(base: string): readonly AgentInterface[] {
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

/** Whose card is shown, and how. */
interface CardPageOptions {
  readonly shape: 'superset' | 'strict'
  readonly identity: { card(): AgentCard | Promise<AgentCard>; known(): AgentInfo }
  readonly clock: Clock
}

interface Rendered {
  readonly card: AgentCard
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

const maxAgeSeconds = 300

/**
 * Makes the well-known page of a card, with an ETag, so that clients need not fetch what they have (specification §8.6).
 * Each shape is serialised once per card.
 */
export function createCardPage({ shape, identity, clock }: CardPageOptions): HttpHandler {
  const rendered = new Map<string, Rendered>()
  const since = new Date(clock.now()).toUTCString()

  async function render(wanted: CardPageOptions['shape']): Promise<Rendered> {
    const card = await identity.card()
    const known = rendered.get(wanted)
    if (known?.card === card) return known
    const stateManagement = identity.known().details?.stateManagement
    const shown =
      wanted === 'strict'
        ? card
        : toSupersetCard(card, stateManagement === undefined ? {} : { stateManagement })
    const body = JSON.stringify(shown)
    const fresh = { card, body, headers: headersOf(await tagOf(body), since) }
    rendered.set(wanted, fresh)
    return fresh
  }

  return async (request) => {
    const version = request.headers['a2a-version']?.trim()
    const strict = shape === 'strict' || version?.startsWith('1.')
    const { body, headers } = await render(strict ? 'strict' : 'superset')
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
    vary: 'A2A-Version',
  }
}

async function tagOf(body: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  const bytes = Array.from(new Uint8Array(digest).subarray(0, 16))
  return `"${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}"`
}
