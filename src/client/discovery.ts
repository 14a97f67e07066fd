import type { JSONWebKeySet } from 'jose'
import { receiveCard } from '../bindings/client-wire.ts'
import { readRanchCard } from '../bindings/dialects/ranch-card.ts'

export { ranchBinding, ranchInfoOf } from '../bindings/dialects/ranch-card.ts'

import type { ClientReply, HttpSend } from '../bindings/http.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { isKeySet, requireSignature } from '../protocol/signature.ts'
import type { AgentCard } from '../protocol/types.ts'
import { retryAfterMs, withSignal } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { readUrl } from '../shared/text.ts'
import { maxSmallBytes } from './http.ts'

/** Refuses a card by throwing. It gets the JSON as served, since a signature covers that. */
export interface CardVerifier {
  (served: unknown): Promise<void> | void
  /** True where passing proves that a key of the user's vouches for the card: see `signedBy`. */
  readonly vouches?: boolean
}

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

const cacheOptions: OptionTable<CardCacheOptions> = {
  ttlMs: 'number',
  limit: 'number',
  clock: 'object',
}

/** A card that was fetched, and what the next request may say of it. */
interface CachedCard {
  readonly card: AgentCard
  /** The URL that answered. */
  readonly source: string
  readonly etag?: string
  readonly lastModified?: string
  readonly freshUntil: number
  /** False where the server forbids to keep it (`no-store`). */
  readonly storable: boolean
  /** Who has seen it. */
  readonly verify: CardVerifier | undefined
  /** Whether it is the answer to RANCH's `agent/card`; `source` is then the endpoint. */
  readonly isRanch?: boolean
}

/**
 * Makes a cache of cards. A card stays fresh for the shorter of `ttlMs` and the server's `max-age`; after that it is
 * asked for with `If-None-Match`, and a 304 makes it fresh again (§8.6.2).
 */
export function createCardCache(options: CardCacheOptions = {}): CardCache {
  checkOptions('createCardCache', options, cacheOptions)
  const { ttlMs = 300_000, limit = 1000, clock = systemClock } = options
  const cards = new Map<string, CachedCard>()
  const fetching = new Map<
    string,
    { readonly result: Promise<CachedCard>; readonly verify: CardVerifier | undefined }
  >()

  async function refresh(url: string, { send, verify }: CardRequest): Promise<CachedCard> {
    const known = believed(cards.get(url), verify)
    const freshUntil = (reply: Pick<ClientReply, 'headers'>): number =>
      clock.elapsed() + lifetimeMs(reply, ttlMs)
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

/** What was fetched under the verifier that is asked for; without one, whatever is there. */
function believed<T extends { readonly verify: CardVerifier | undefined }>(
  known: T | undefined,
  verify: CardVerifier | undefined,
): T | undefined {
  return verify === undefined || known?.verify === verify ? known : undefined
}

/** How long a reply may be believed: `Cache-Control`, but no longer than `ttlMs`. */
function lifetimeMs(reply: Pick<ClientReply, 'headers'>, ttlMs: number): number {
  const control = reply.headers['cache-control']?.toLowerCase() ?? ''
  if (/\bno-(cache|store)\b/.test(control)) return 0
  const maxAge = /\bmax-age\s*=\s*"?(\d+)/.exec(control)?.[1]
  const age = Number(reply.headers.age ?? 0) || 0
  return maxAge === undefined ? ttlMs : Math.min(ttlMs, Math.max(0, Number(maxAge) - age) * 1000)
}

/** How a card is fetched. */
interface FetchCardOptions {
  readonly send: HttpSend
  readonly known: CachedCard | undefined
  readonly freshUntil: (reply: Pick<ClientReply, 'headers'>) => number
  readonly verify?: CardVerifier
  readonly clock: Clock
}

/**
 * Fetches the card of an agent from its base URL, from the URL of its endpoint (`…/rpc`), or from a URL that is the card's
 * own. Cards of 0.3 are translated. A server without a card is asked for RANCH's.
 *
 * @throws A2AError `agentUnavailable` where there is no card, `invalidAgentResponse` where it is not one.
 */
export async function fetchCard(url: string, options: FetchCardOptions): Promise<CachedCard> {
  const { send, known, clock } = options
  if (known?.isRanch) {
    const again = await askRanch(known.source, options)
    return again ?? fetchCard(url, { ...options, known: undefined })
  }
  let said = ''
  for (const source of known ? [known.source] : candidates(url)) {
    const reply = await ask(send, source, known)
    if (known && reply.status === 304) {
      await reply.text(maxSmallBytes)
      return { ...known, freshUntil: options.freshUntil(reply) }
    }
    if (reply.status === 200) return read(reply, source, options)
    said ||= messageIn(await reply.text(maxSmallBytes))
    if (!hasNone.has(reply.status)) throw refusal(reply, source, clock)
  }
  // The place that served the card before may have moved to the other name.
  if (known) return fetchCard(url, { ...options, known: undefined })
  const endpoint = ranchEndpoint(url)
  const spoken = endpoint === undefined ? undefined : await askRanch(endpoint, options)
  if (spoken) return spoken
  throw new A2AError('agentUnavailable', `No agent card at ${shown(url)}${said && `: ${said}`}`)
}

/** Where a card is looked for below a base URL: the name of 0.3 and 1.0, then the older one. */
const wellKnown = ['.well-known/agent-card.json', '.well-known/agent.json']

/** What servers answer that have nothing at a path, or nothing to be read by GET anywhere. */
const hasNone: ReadonlySet<number> = new Set([404, 405, 501])

/** The URLs at which a card may be, in order: below the URL, and beside it where it is an endpoint. */
function candidates(url: string): readonly string[] {
  const base = readUrl(url)
  if (!base) throw new A2AError('invalidParams', `Not a URL: ${url}`)
  if (base.pathname.endsWith('.json')) return [url]
  const bases = new Set([url, toBaseUrl(url)].map((at) => asFolder(at).href))
  return [...bases].flatMap((at) => wellKnown.map((path) => new URL(path, at).href))
}

function asFolder(url: string): URL {
  const base = new URL(url)
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return base
}

/** The URL beside which a card is looked for: a trailing `/rpc` or `/v1/rpc` is the wire, not the agent. */
export function toBaseUrl(url: string): string {
  const base = new URL(url)
  base.pathname = base.pathname.replace(/(\/v1)?\/rpc\/?$/, '/')
  return base.href
}

/** Where RANCH is spoken, if it is; undefined for a URL that names something else. */
function ranchEndpoint(url: string): string | undefined {
  const { pathname } = new URL(url)
  if (pathname.endsWith('.json') || /\/v1\/rpc\/?$/.test(pathname)) return undefined
  return /\/rpc\/?$/.test(pathname) ? url : new URL('rpc', asFolder(url)).href
}

/** Asks a RANCH server for its card; undefined where it has none, or none that can be read. */
async function askRanch(url: string, options: FetchCardOptions): Promise<CachedCard | undefined> {
  const { verify, freshUntil } = options
  const served = await askAgentCard(url, options)
  const card = readRanchCard(served, url)
  if (!card) return undefined
  await verify?.(served)
  return {
    card,
    source: url,
    freshUntil: freshUntil({ headers: {} }),
    storable: true,
    verify,
    isRanch: true,
  }
}

/** What a server answers to `agent/card`; undefined where that is no JSON, or nothing at all. */
async function askAgentCard(url: string, { send, clock }: FetchCardOptions): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const body = '{"jsonrpc":"2.0","method":"agent/card","params":{},"id":1}'
  try {
    const reply = await send({ method: 'POST', url, headers, body })
    const text = await reply.text(maxSmallBytes)
    if (reply.status === 401 || reply.status === 403) throw refusal(reply, url, clock)
    return reply.status === 200 ? JSON.parse(text) : undefined
  } catch (error) {
    if (error instanceof A2AError && refusalCodes.has(error.code)) throw error
    return undefined // the server has no card to give
  }
}

const refusalCodes: ReadonlySet<ErrorCode> = new Set(['unauthenticated', 'forbidden'])

/** The protocol version that a client speaks first. */
const version = '1.0'

async function ask(
  send: HttpSend,
  url: string,
  known: CachedCard | undefined,
): Promise<ClientReply> {
  const headers = {
    accept: 'application/json',
    ...(known?.etag && { 'if-none-match': known.etag }),
    ...(known?.lastModified && { 'if-modified-since': known.lastModified }),
  }
  const reply = await send({
    method: 'GET',
    url,
    headers: { ...headers, 'a2a-version': version },
  })
  if (reply.status !== 400) return reply
  // A server that knows only 0.3 may refuse the version; without one it answers as 0.3.
  await reply.text(maxSmallBytes)
  return send({ method: 'GET', url, headers })
}

async function read(
  reply: ClientReply,
  source: string,
  { verify, freshUntil }: FetchCardOptions,
): Promise<CachedCard> {
  const served = parseJson(await reply.text(maxSmallBytes), source)
  await verify?.(served)
  const { etag, 'last-modified': lastModified, 'cache-control': control = '' } = reply.headers
  return {
    card: withUsableInterfaces(receiveCard(served)),
    source,
    ...(etag && { etag }),
    ...(lastModified && { lastModified }),
    freshUntil: freshUntil(reply),
    storable: !/\bno-store\b/i.test(control),
    verify,
  }
}

/** Leaves out interfaces that lack what one needs to call them; the rest of the card may still be of use. */
function withUsableInterfaces(card: AgentCard): AgentCard {
  const supportedInterfaces = card.supportedInterfaces.filter(
    ({ url, protocolBinding }) => url !== '' && protocolBinding !== '',
  )
  return { ...card, supportedInterfaces }
}

function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new A2AError('invalidAgentResponse', `The card at ${shown(source)} is not JSON`, {
      cause,
    })
  }
}

/** What a server says besides 404, where it says so as A2A does. */
function messageIn(text: string): string {
  const maxWords = 500
  try {
    const { message } = JSON.parse(text).error
    return typeof message === 'string' ? message.slice(0, maxWords) : ''
  } catch {
    return ''
  }
}

const refusals: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  408: 'timeout',
  429: 'rateLimited',
  504: 'timeout',
}

function refusal(reply: ClientReply, source: string, clock: Clock): A2AError {
  const { status, headers } = reply
  const code = refusals[status] ?? (status >= 500 ? 'unavailable' : 'agentUnavailable')
  const laterMs = retryAfterMs(headers['retry-after'], clock.now())
  return new A2AError(code, `The card at ${shown(source)} answered ${status}`, {
    ...(laterMs !== undefined && { retryAfterSeconds: laterMs / 1_000 }),
    ...(headers['www-authenticate'] && { challenge: headers['www-authenticate'] }),
  })
}

/** A URL without what may be secret in it. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/**
 * Takes only cards that one of these keys has signed (§8.4.3): the `verifyCard` of a client. Such a card may name
 * other origins for the client's credentials.
 *
 * @throws A2AError `invalidParams` for what is no key set.
 */
export function signedBy(keys: JSONWebKeySet): CardVerifier {
  if (!isKeySet(keys)) throw new A2AError('invalidParams', 'The keys are no JSON Web Key Set')
  const verify = (served: unknown): Promise<void> => requireSignature(served, { keys })
  return Object.assign(verify, { vouches: true })
}
