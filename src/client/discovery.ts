import { receiveCard } from '../bindings/border.ts'
import type { ClientReply, HttpSend } from '../bindings/http.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import type { AgentCard } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { retryAfterMs } from '../shared/retry.ts'
import { readUrl } from '../shared/url.ts'
import { maxSmallBytes } from './bounds.ts'

/** Where a card is looked for below a base URL: the name of 0.3 and 1.0, then the older one. */
const wellKnown = ['.well-known/agent-card.json', '.well-known/agent.json']

/** The protocol version that a client speaks first. */
const version = '1.0'

/** Refuses a card by throwing. It gets the JSON as served, since a signature covers that. */
export interface CardVerifier {
  (served: unknown): Promise<void> | void
  /** True where passing proves that a key of the user's vouches for the card: see `signedBy`. */
  readonly vouches?: boolean
}

/** A card that was fetched, and what the next request may say of it. */
export interface CachedCard {
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
}

/** How a card is fetched. */
interface FetchCardOptions {
  readonly send: HttpSend
  readonly known: CachedCard | undefined
  readonly freshUntil: (reply: ClientReply) => number
  readonly verify?: CardVerifier
  readonly clock: Clock
}

/**
 * Fetches the card of an agent from its base URL, or from a URL that is the card's own. Cards of 0.3 are translated.
 *
 * @throws A2AError `agentUnavailable` where there is no card, `invalidAgentResponse` where it is not one.
 */
export async function fetchCard(url: string, options: FetchCardOptions): Promise<CachedCard> {
  const { send, known, clock } = options
  let said = ''
  for (const source of known ? [known.source] : candidates(url)) {
    const reply = await ask(send, source, known)
    if (known && reply.status === 304) {
      await reply.text(maxSmallBytes)
      return { ...known, freshUntil: options.freshUntil(reply) }
    }
    if (reply.status === 200) return read(reply, source, options)
    said ||= messageIn(await reply.text(maxSmallBytes))
    if (reply.status !== 404) throw refusal(reply, source, clock)
  }
  // The place that served the card before may have moved to the other name.
  if (known) return fetchCard(url, { ...options, known: undefined })
  throw new A2AError('agentUnavailable', `No agent card at ${shown(url)}${said && `: ${said}`}`)
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

/** The URLs at which a card may be, in order. */
function candidates(url: string): readonly string[] {
  const base = readUrl(url)
  if (!base) throw new A2AError('invalidParams', `Not a URL: ${url}`)
  const { pathname } = base
  if (pathname.endsWith('.json')) return [url]
  base.pathname = pathname.endsWith('/') ? pathname : `${pathname}/`
  return wellKnown.map((path) => new URL(path, base).href)
}

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
