import { toSupersetCard } from '../bindings/dialects/v03/card.ts'
import type { HttpHandler } from '../bindings/http.ts'
import type { AgentCard } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import type { Identity } from './card.ts'
import type { ServerOptions } from './options.ts'

/** Whose card is shown, and how. */
interface CardPageOptions {
  readonly options: Pick<ServerOptions, 'card' | 'trustedProxies'>
  readonly identity: Pick<Identity, 'cardAt' | 'known'>
  readonly clock: Clock
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
export function createCardPage({ options, identity, clock }: CardPageOptions): HttpHandler {
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
