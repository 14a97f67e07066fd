import type { HttpRequest } from '../bindings/http.ts'
import { toClient } from '../network/client.ts'
import { createRanges } from '../network/ranges.ts'
import { parseUrl } from '../network/url.ts'
import type { Logger } from '../shared/log.ts'
import { trimEnd } from '../shared/text.ts'
import { type Hop, parseForwarded, parseXForwarded } from './forwarded.ts'
import { createHostRule, type HostRule, isLoopbackAuthority } from './hosts.ts'
import type { ServerOptions } from './options.ts'
import { namedHosts } from './origins.ts'

/** The request with its client, as shares are counted, and the URL by which the client knows the server. */
type Locate = (request: HttpRequest) => HttpRequest

/**
 * Tells from where requests come: from their peer, or, where that is a trusted proxy, from whom the proxies say.
 * @throws Error for a trusted proxy that is neither an address nor a range.
 */
export function createProxyReader(options: ServerOptions, logger: Logger): Locate {
  const { trustedProxies = [] } = options
  if (trustedProxies.length === 0) return createPeerLocate()
  const isTrusted = createRanges(trustedProxies)
  const baseOf = options.publicUrl ? () => undefined : createBase(options, logger)
  return (request) => {
    const { client: peer } = request
    // What has a base has been located before.
    if (peer === undefined || request.base !== undefined) return request
    const hop = isTrusted(peer) ? hopOf(request, isTrusted) : undefined
    const base = hop && baseOf(hop, request)
    const client = toClient(hop?.client ?? peer)
    return base === undefined ? { ...request, client } : { ...request, client, base }
  }
}

/** Tells by a request's head alone whose share it is taken from; undefined where the adapter knows no peer. */
export function createClientReader({
  trustedProxies = [],
}: Pick<ServerOptions, 'trustedProxies'>): (head: Head) => string | undefined {
  const isTrusted = trustedProxies.length > 0 ? createRanges(trustedProxies) : undefined
  return (head) => {
    const { client: peer } = head
    if (peer === undefined) return undefined
    const hop = isTrusted?.(peer) ? hopOf(head, isTrusted) : undefined
    return toClient(hop?.client ?? peer)
  }
}

type Head = Pick<HttpRequest, 'headers' | 'client'>

/** Nobody is in front: the client is the peer. */
function createPeerLocate(): Locate {
  // Most requests are from where the last one was.
  let last = ''
  let lastClient = ''
  return (request) => {
    const { client = '' } = request
    if (!client.includes(':')) return request
    if (client !== last) {
      last = client
      lastClient = toClient(client)
    }
    return { ...request, client: lastClient }
  }
}

/**
 * What the outermost trusted proxy saw, the hops read from the nearest on past trusted addresses. Undefined where the
 * headers are malformed, or where two of them name two clients: one may be the caller's own invention.
 */
function hopOf({ headers }: Head, isTrusted: (address: string) => boolean): Hop | undefined {
  const { forwarded } = headers
  const isOlder = olderHeaders.some((name) => headers[name] !== undefined)
  const named = forwarded === undefined ? undefined : walk(parseForwarded(forwarded), isTrusted)
  if (!isOlder) return named
  const older = walk(parseXForwarded(headers), isTrusted)
  if (forwarded === undefined) return older
  return named && older && (named.client ?? '') === (older.client ?? '') ? named : undefined
}

const olderHeaders = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-prefix',
]

function walk(
  hops: readonly Hop[] | undefined,
  isTrusted: (address: string) => boolean,
): Hop | undefined {
  let found: Hop | undefined
  for (const hop of hops?.toReversed() ?? []) {
    found = hop
    if (hop.client === undefined || !isTrusted(hop.client)) break
  }
  return found
}

/** Makes the URL of a hop; undefined where it says nothing of that, or names what is not ours. */
function createBase(
  options: ServerOptions,
  logger: Logger,
): (hop: Hop, request: HttpRequest) => string | undefined {
  const isNamed = createHostRule(namedHosts(options))
  const isAccepted: HostRule = (host) => isLoopbackAuthority(host) || isNamed(host)
  let warned = false
  return ({ host, proto }, { headers }) => {
    const given = headers['x-forwarded-prefix']
    if (host === undefined && proto === undefined && given === undefined) return undefined
    const authority = host ?? headers.host ?? ''
    const scheme = proto?.toLowerCase() ?? 'http'
    const prefix = toPrefix(given ?? '')
    if ((scheme !== 'http' && scheme !== 'https') || prefix === undefined) return undefined
    if (isAccepted(authority)) return toBase(`${scheme}://${authority}`, prefix)
    if (!warned) logger.warn({ host: authority }, foreignHost)
    warned = true
    return undefined
  }
}

const foreignHost =
  'A proxy names a host that is not in [server] allowed_hosts (allowedHosts in the library); cards do not show it'

function toBase(origin: string, prefix: string): string | undefined {
  const url = parseUrl(origin)
  return url && url.origin + prefix
}

const maxPrefix = 256

/** A path that others can stand behind; undefined for what is none. */
function toPrefix(text: string): string | undefined {
  const path = trimEnd(text, '/')
  const isPath = path.length <= maxPrefix && /^(?:\/[\w~%-][\w.~%-]*)*$/.test(path)
  return isPath ? path : undefined
}
