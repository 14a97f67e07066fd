import type { ClientReply, HttpSend } from '../bindings/http.ts'
import type { AgentCard } from '../protocol/types.ts'
import { withSignal } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { type CachedCard, type CardVerifier, fetchCard } from './discovery.ts'

/**
 * Keeps cards for clients that share it and its credentials. A card is fetched once, however many ask for it at the
 * same time; a client with a verifier gets only what that verifier has seen.
 */
export interface CardCache {
  /** The card of an agent, by its base URL or the card's own URL. */
  get(url: string, options: CardRequest): Promise<AgentCard>
  /** The same without a wait, where the card is there and fresh; a cache that cannot tell at once goes without. */
  fresh?(url: string, verify?: CardVerifier): AgentCard | undefined
  /** Forgets one card, or all. */
  invalidate(url?: string): void
}

/** How a card is asked for. */
export interface CardRequest {
  /** Sends the request, with credentials if it takes some. */
  readonly send: HttpSend
  /** Refuses a card by throwing. */
  readonly verify?: CardVerifier
  readonly signal?: AbortSignal | undefined
}

/** How a cache behaves. */
export interface CardCacheOptions {
  /** The longest time, in milliseconds, that a card is believed without asking again; 300,000 if absent. */
  readonly ttlMs?: number
  /** How many cards are kept, the oldest leaving first; 1,000 if absent. */
  readonly limit?: number
  readonly clock?: Clock
}

/**
 * Makes a cache of cards. A card stays fresh for the shorter of `ttlMs` and the server's `max-age`; after that it is
 * asked for with `If-None-Match`, and a 304 makes it fresh again (§8.6.2).
 */
export function createCardCache(options: CardCacheOptions = {}): CardCache {
  const { ttlMs = 300_000, limit = 1000, clock = systemClock } = options
  const cards = new Map<string, CachedCard>()
  const fetching = new Map<string, Fetching>()

  async function refresh(url: string, { send, verify }: CardRequest): Promise<CachedCard> {
    const known = believed(cards.get(url), verify)
    const freshUntil = (reply: ClientReply): number => clock.elapsed() + lifetimeMs(reply, ttlMs)
    const options = { send, known, freshUntil, clock, ...(verify && { verify }) }
    const fetched = await fetchCard(url, options)
    cards.delete(url)
    if (fetched.storable) cards.set(url, fetched)
    for (const oldest of cards.keys()) if (cards.size > limit) cards.delete(oldest)
    return fetched
  }

  function shared(url: string, request: CardRequest): Promise<CachedCard> {
    const { verify } = request
    const running = believed(fetching.get(url), verify)
    if (running) return running.result
    const result = refresh(url, request).finally(() => fetching.delete(url))
    fetching.set(url, { result, verify })
    return result
  }

  function fresh(url: string, verify?: CardVerifier): AgentCard | undefined {
    const known = believed(cards.get(url), verify)
    return known && clock.elapsed() < known.freshUntil ? known.card : undefined
  }

  return {
    fresh,
    async get(url, request) {
      const known = fresh(url, request.verify)
      return known ?? (await withSignal(shared(url, request), request.signal)).card
    },
    invalidate(url) {
      if (url === undefined) cards.clear()
      else cards.delete(url)
    },
  }
}

interface Fetching {
  readonly result: Promise<CachedCard>
  readonly verify: CardVerifier | undefined
}

/** What was fetched under the verifier that is asked for; without one, whatever is there. */
function believed<T extends { readonly verify: CardVerifier | undefined }>(
  known: T | undefined,
  verify: CardVerifier | undefined,
): T | undefined {
  return verify === undefined || known?.verify === verify ? known : undefined
}

/** How long a reply may be believed: `Cache-Control`, but no longer than `ttlMs`. */
function lifetimeMs(reply: ClientReply, ttlMs: number): number {
  const control = reply.headers['cache-control']?.toLowerCase() ?? ''
  if (/\bno-(cache|store)\b/.test(control)) return 0
  const maxAge = /\bmax-age\s*=\s*"?(\d+)/.exec(control)?.[1]
  const age = Number(reply.headers.age ?? 0) || 0
  return maxAge === undefined ? ttlMs : Math.min(ttlMs, Math.max(0, Number(maxAge) - age) * 1000)
}
