import { toSupersetCard } from '../bindings/dialects/v03/card.ts'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import type { AgentInfo } from '../protocol/profile.ts'
import type { AgentCard, AgentInterface } from '../protocol/types.ts'

/** The URI of RANCH's JSON-RPC as a custom binding; standard clients skip it (specification §5.8). */
export const ranchBinding = 'urn:corral:bindings:ranch'
/** The URI of 1.0-rc's slash-named JSON-RPC as a custom binding. */
export const rcBinding = 'urn:corral:bindings:jsonrpc-1.0-rc'

/**
 * Every way to reach an agent mounted at a base URL, the preferred first, 1.0 before 0.3.
 * The one of 1.0 over JSON-RPC has a URL of its own: a request without a version is 0.3 at the root, but a client of the
 * release candidate that follows the card names none.
 */
export function interfacesAt(base: string): readonly AgentInterface[] {
  return [
    { url: `${base}/v1/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: base, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: `${base}/`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: base, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    { url: `${base}/rpc`, protocolBinding: ranchBinding, protocolVersion: '0.3' },
    { url: `${base}/v1/rpc`, protocolBinding: rcBinding, protocolVersion: '1.0' },
  ]
}

/** Serves the public card with an ETag, so that clients need not fetch what they have (specification §8.6). */
export interface CardPage {
  reply(request: HttpRequest): Promise<HttpReply>
}

interface Rendered {
  readonly card: AgentCard
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

const maxAgeSeconds = 300

/** Makes the well-known page of a card; each shape is serialised once per card. */
export function createCardPage(options: {
  readonly shape: 'superset' | 'strict'
  card(): AgentCard | Promise<AgentCard>
  info(): AgentInfo
}): CardPage {
  const rendered = new Map<string, Rendered>()
  const since = new Date().toUTCString()

  async function render(shape: string): Promise<Rendered> {
    const card = await options.card()
    const known = rendered.get(shape)
    if (known?.card === card) return known
    const stateManagement = options.info().details?.stateManagement
    const shown =
      shape === 'strict'
        ? card
        : toSupersetCard(card, stateManagement === undefined ? {} : { stateManagement })
    const body = JSON.stringify(shown)
    const fresh = { card, body, headers: headersOf(await tagOf(body), since) }
    rendered.set(shape, fresh)
    return fresh
  }

  return {
    async reply(request) {
      const version = request.headers['a2a-version']?.trim()
      const strict = options.shape === 'strict' || version?.startsWith('1.')
      const { body, headers } = await render(strict ? 'strict' : 'superset')
      const known = request.headers['if-none-match']
      if (known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === headers.etag))
        return { status: 304, headers }
      return { status: 200, headers, body }
    },
  }
}

function headersOf(etag: string, since: string): Readonly<Record<string, string>> {
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
