import type { HttpReply, HttpRequest } from '../../bindings/http.ts'
import { isCardPath, isConsolePath, isRpcPath, methodsAt } from '../../bindings/routes.ts'
import { createRanges, ipVersion, toClient } from '../../network/guard.ts'
import { errorRow } from '../../protocol/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { parseAuthority, parseUrl, trimEnd } from '../../shared/text.ts'
import type { ServerOptions } from '../options.ts'

/** What decides about browsers where a server is reached. */
export interface BrowserRules {
  readonly policy: PagePolicy
  /** The refusal of a request that a foreign page makes, or that came under a foreign name; undefined lets it pass. */
  readonly refuse?: (request: HttpRequest) => HttpReply | undefined
}

/** The rules where others can reach the server: nothing is refused, and cards are for every page if nobody says more. */
export function openRules({ cors }: Pick<ServerOptions, 'cors'>): BrowserRules {
  if (!cors) return { policy: { open: 'cards' } }
  const { origins = '*' } = cors
  if (origins === '*') return { policy: { open: 'all' } }
  return { policy: { open: 'nothing', allows: (origin) => origins.includes(origin) } }
}

/**
 * The rules where only this machine can reach the server. A proxy on this machine would let others in: where nothing
 * says that there is one, and callers do not authenticate, what it passes on is rejected.
 */
export function localRules(options: LocalOptions, boundTo: string): BrowserRules {
  const rules = pageRules(options, boundTo)
  if (options.auth || options.publicUrl || options.trustedProxies?.length) return rules
  const { policy, refuse } = rules
  return { policy, refuse: (request) => refuseForwarded(request) ?? refuse?.(request) }
}

type LocalOptions = Pick<
  ServerOptions,
  'auth' | 'cors' | 'publicUrl' | 'allowedHosts' | 'trustedProxies'
>

function refuseForwarded(request: HttpRequest): HttpReply | undefined {
  for (const name in request.headers)
    if (name === 'via' || name === 'forwarded' || name.startsWith('x-forwarded-'))
      return refusal(request, 403, passedOn(name))
  return undefined
}

function passedOn(header: string): string {
  return `This server is for its own machine and asks for no credentials, and the header "${header.slice(0, maxShown)}" says that a proxy passed the request on; name the proxy in [server] trusted_proxies (trustedProxies in the library), or set public_url or authentication`
}

/**
 * The browser of this machine runs foreign pages: one that calls by its own origin, or by a name of its own that it made
 * to point here (DNS rebinding), is refused.
 */
function pageRules(options: LocalOptions, boundTo: string): BrowserRules {
  const { cors } = options
  if (cors && (cors.origins ?? '*') === '*') return openRules(options)
  const isNamed = createHostRule([...namedHosts(options), toAuthority(boundTo)])
  const isAccepted: HostRule = (host) => isLoopbackAuthority(host) || isNamed(host)
  const allows = cors ? openRules(options).policy.allows : createOwnRule(isAccepted)
  const isOwnPage = (origin: string, host: string | undefined): boolean => {
    const authority = originAuthority(origin)
    return authority !== undefined && (authority === host || isNamed(authority))
  }
  return {
    policy: { open: 'nothing', ...(allows && { allows }) },
    refuse: createRefuse(isAccepted, (origin, host) => allows?.(origin) || isOwnPage(origin, host)),
  }
}

/** The hosts that an operator has named, by the server's URL and beside it. */
export function namedHosts({
  publicUrl,
  allowedHosts = [],
}: Pick<ServerOptions, 'publicUrl' | 'allowedHosts'>): readonly string[] {
  const own = publicUrl === undefined ? undefined : originAuthority(publicUrl)
  // The port of the URL is that of a proxy in front: which one the Host names depends on it.
  return own === undefined ? allowedHosts : [own.replace(/:\d{1,5}$/, ''), ...allowedHosts]
}

/** Which origins are the server's own: those of the hosts it answers to. */
function createOwnRule(isAccepted: HostRule): (origin: string) => boolean {
  return (origin) => {
    const authority = originAuthority(origin)
    return authority !== undefined && isAccepted(authority)
  }
}

function createRefuse(
  isAccepted: HostRule,
  mayCall: (origin: string, host: string | undefined) => boolean | undefined,
): (request: HttpRequest) => HttpReply | undefined {
  // Most requests name the host that the last one did.
  let last: string | undefined
  return (request) => {
    const { host, origin } = request.headers
    if (host !== undefined && host !== last) {
      if (!isAccepted(host)) return refusal(request, 421, foreignHost(host))
      last = host
    }
    if (origin === undefined || mayCall(origin, host)) return undefined
    return refusal(request, 403, foreignOrigin(origin))
  }
}

const maxShown = 100

function foreignHost(host: string): string {
  return `This server is for its own machine and does not answer to the host "${host.slice(0, maxShown)}"; add it to [server] allowed_hosts (allowedHosts in the library)`
}

function foreignOrigin(origin: string): string {
  return `Pages of the origin "${origin.slice(0, maxShown)}" may not call this server; add it to [server.cors] origins (cors in the library)`
}

const json = { 'content-type': 'application/json' }

function refusal({ method, path }: HttpRequest, status: number, message: string): HttpReply {
  const { jsonrpc, grpc } = errorRow('forbidden')
  const body =
    method === 'POST' && isRpcPath(path)
      ? { jsonrpc: '2.0', error: { code: jsonrpc, message }, id: null }
      : { error: { code: status, status: grpc, message } }
  return { status, headers: json, body: JSON.stringify(body) }
}

function toAuthority(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** Whether an authority, as a `Host` header or an origin writes it (`name`, `name:port`), is one of the accepted. */
type HostRule = (authority: string) => boolean

/**
 * Accepts these hosts: `agents.example` at any port, `agents.example:8443` at that one.
 * @throws Error for an entry that is no host.
 */
export function createHostRule(entries: readonly string[]): HostRule {
  const accepted = new Set(entries.map(toEntry))
  return (authority) => {
    const host = parseAuthority(authority)
    if (!host) return false
    return accepted.has(host.name) || accepted.has(`${host.name} ${host.port}`)
  }
}

/** Whether an entry of such a list is a host. */
export function isHostEntry(entry: string): boolean {
  return parseAuthority(entry) !== undefined
}

/** Whether an authority is this machine's own by name: nobody else's DNS can make it so. */
export function isLoopbackAuthority(authority: string): boolean {
  if (usualLoopback.test(authority)) return true
  const host = parseAuthority(authority)
  return host !== undefined && isLoopback(host.name)
}

/** The two names that nearly every request has; they need no parser. */
const usualLoopback = /^(?:localhost|127\.0\.0\.1)(?::\d{1,5})?$/

/** Whether only this machine can reach a host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** The authority of a page's origin; undefined for one that no web server has: `null`, a file, an extension. */
export function originAuthority(origin: string): string | undefined {
  const url = parseUrl(origin)
  return url && (url.protocol === 'http:' || url.protocol === 'https:') ? url.host : undefined
}

function toEntry(entry: string): string {
  const host = parseAuthority(entry)
  if (!host) throw new Error(`Not a host: "${entry}"; write it as agents.example or host:8443`)
  return host.port === '' ? host.name : `${host.name} ${host.port}`
}

/** Which pages may read a server's answers. What the console says is for its own page alone. */
interface PagePolicy {
  /** What every page may read: all answers, the cards, or nothing. */
  readonly open: 'all' | 'cards' | 'nothing'
  /** Whether pages of this origin may read everything. */
  allows?(origin: string): boolean
}

/** Marks what a browser gets to see: who may read it, and what a page made of it may do. */
interface Marks {
  preflight(request: HttpRequest): HttpReply
  mark(request: HttpRequest, reply: HttpReply): HttpReply
  /** Marks a reply of the user's own routes: what its page may do is the user's matter. */
  markForeign(request: HttpRequest, reply: HttpReply): HttpReply
}

type Headers = HttpReply['headers']

const allowHeaders =
  'Content-Type, Authorization, A2A-Version, A2A-Extensions, X-A2A-Extensions, Last-Event-ID, Idempotency-Key, X-API-Key, A2A-Tenant, traceparent'

const exposeHeaders =
  'A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, WWW-Authenticate'

/** For whatever a browser may show. */
const shown = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

/** For data: shown as a page it runs nothing, and stands in no frame. A reply that is a page names its own policy. */
const data = {
  ...shown,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
}

const forAll = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposeHeaders,
}

/** Makes the marks of a policy. */
export function createMarks({ open, allows }: PagePolicy): Marks {
  const closed = createMark((headers) => ({
    ...data,
    'cross-origin-resource-policy': 'same-origin',
    ...headers,
    // A cache must not give the answer without an origin to a page that may read it.
    ...(allows && headers['cache-control']?.startsWith('public') && { vary: varied(headers) }),
  }))
  const opened = createMark((headers) => ({
    ...data,
    'cross-origin-resource-policy': 'cross-origin',
    ...headers,
    ...forAll,
  }))
  const foreign = createMark((headers) => ({ ...shown, ...headers }))
  const foreignOpened = createMark((headers) => ({ ...shown, ...headers, ...forAll }))

  function isOpen({ method, path }: HttpRequest): boolean {
    if (open === 'nothing' || (open === 'cards' && method === 'POST')) return false
    return !isConsolePath(path) && (open === 'all' || isCardPath(path))
  }

  function allowedOrigin({ path, headers: { origin } }: HttpRequest): string | undefined {
    return origin !== undefined && allows?.(origin) && !isConsolePath(path) ? origin : undefined
  }

  function withOrigin(request: HttpRequest, headers: Headers): Headers {
    const origin = allowedOrigin(request)
    return origin === undefined ? headers : { ...headers, ...forOrigin(origin, headers) }
  }

  return {
    preflight(request) {
      const methods = [...methodsAt(request.path), 'OPTIONS'].join(', ')
      const origin = isOpen(request) ? '*' : allowedOrigin(request)
      if (origin === undefined) return { status: 204, headers: { allow: methods } }
      return { status: 204, headers: leaveFor(origin, methods) }
    },
    mark(request, reply) {
      const { headers } = reply
      return isOpen(request)
        ? withHeaders(reply, opened(headers))
        : withHeaders(reply, withOrigin(request, closed(headers)))
    },
    markForeign(request, reply) {
      const { headers } = reply
      return isOpen(request)
        ? withHeaders(reply, foreignOpened(headers))
        : withHeaders(reply, withOrigin(request, foreign(headers)))
    },
  }
}

/** Replies share a few constant header objects; each is marked once. */
function createMark(mark: (headers: Headers) => Headers): (headers: Headers) => Headers {
  const marked = new WeakMap<object, Headers>()
  return (headers) => {
    const known = marked.get(headers)
    if (known) return known
    const all = mark(headers)
    marked.set(headers, all)
    return all
  }
}

function withHeaders({ status, body }: HttpReply, headers: Headers): HttpReply {
  return body === undefined ? { status, headers } : { status, headers, body }
}

function forOrigin(origin: string, headers: Headers): Headers {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposeHeaders,
    vary: varied(headers),
  }
}

function varied({ vary }: Headers): string {
  if (!vary) return 'Origin'
  return vary.split(', ').includes('Origin') ? vary : `${vary}, Origin`
}

function leaveFor(origin: string, methods: string): Headers {
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': allowHeaders,
    'access-control-max-age': '86400',
    ...(origin !== '*' && { vary: 'Origin' }),
  }
}

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
  const peerAt = createPeers(isTrusted)
  const baseOf = options.publicUrl ? () => undefined : createBase(options, logger)
  return (request) => {
    // What has a base has been located before.
    if (request.client === undefined || request.base !== undefined) return request
    const peer = peerAt(request.client)
    const hop = peer.isTrusted ? hopOf(request, isTrusted) : undefined
    const base = hop && baseOf(hop, request)
    const client = hop?.client === undefined ? peer.client : toClient(hop.client)
    return base === undefined ? { ...request, client } : { ...request, client, base }
  }
}

/** Tells by a request's head alone whose share it is taken from; undefined where the adapter knows no peer. */
export function createClientReader({
  trustedProxies = [],
}: Pick<ServerOptions, 'trustedProxies'>): (head: Head) => string | undefined {
  const isTrusted = trustedProxies.length > 0 ? createRanges(trustedProxies) : undefined
  const peerAt = createPeers(isTrusted)
  return (head) => {
    if (head.client === undefined) return undefined
    const peer = peerAt(head.client)
    const hop = isTrusted && peer.isTrusted ? hopOf(head, isTrusted) : undefined
    return hop?.client === undefined ? peer.client : toClient(hop.client)
  }
}

type Head = Pick<HttpRequest, 'headers' | 'client'>

/** Nobody is in front: the client is the peer. */
function createPeerLocate(): Locate {
  const peerAt = createPeers()
  return (request) => {
    const { client: address = '' } = request
    return address.includes(':') ? { ...request, client: peerAt(address).client } : request
  }
}

/** What is true of all requests on a connection. */
interface Peer {
  readonly address: string
  readonly isTrusted: boolean
  /** In whose share its own requests count. */
  readonly client: string
}

/** Finds out about peers. Most requests are from where the last one was. */
function createPeers(isTrusted?: (address: string) => boolean): (address: string) => Peer {
  let last: Peer | undefined
  return (address) => {
    if (last?.address !== address)
      last = { address, isTrusted: isTrusted?.(address) ?? false, client: toClient(address) }
    return last
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
    if (!warned) logger.warn({ host: authority }, foreignProxyHost)
    warned = true
    return undefined
  }
}

const foreignProxyHost =
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

/**
 * What proxies say of the requests that they pass on: `Forwarded` (RFC 7239) and the older `X-Forwarded-For`, `-Proto`
 * and `-Host`. Each proxy adds what it saw at the end, so only what trusted proxies have added, read from there, is known.
 */
interface Hop {
  /** Who called this proxy: an address, or a name that it made up (`_gazonk`); undefined where that cannot be known. */
  readonly client: string | undefined
  /** The host that the proxy was asked for. */
  readonly host: string | undefined
  /** `http` or `https`, if the proxy speaks the truth. */
  readonly proto: string | undefined
}

type RequestHeaders = HttpRequest['headers']

/** Longer ones are no lists of proxies. */
const maxLength = 4_096

/** The hops that `Forwarded` tells of, the nearest proxy's last; undefined if the header is malformed. */
function parseForwarded(header: string): readonly Hop[] | undefined {
  const elements = header.length > maxLength ? undefined : splitUnquoted(header, ',')
  const hops = elements?.filter((element) => element.trim() !== '').map(toHop)
  return hops?.every((hop) => hop !== undefined) ? hops : undefined
}

/** The hops that the older headers tell of; undefined if one is longer than any list of proxies. */
function parseXForwarded(headers: RequestHeaders): readonly Hop[] | undefined {
  const clients = toList(headers['x-forwarded-for'])
  const hosts = toList(headers['x-forwarded-host'])
  const protos = toList(headers['x-forwarded-proto'])
  if (!clients || !hosts || !protos) return undefined
  // Some proxies add to a list, others write one value for all of them.
  const length = Math.max(clients.length, 1)
  return Array.from({ length }, (_, i) => {
    const fromEnd = length - 1 - i
    const client = clients[i]
    return {
      client: client === undefined ? undefined : toNode(client, ipVersion(client) === 6),
      host: nthFromEnd(hosts, fromEnd),
      proto: nthFromEnd(protos, fromEnd),
    }
  })
}

function toList(header: string | undefined): readonly string[] | undefined {
  if (header === undefined) return []
  return header.length > maxLength ? undefined : header.split(',').map((item) => item.trim())
}

function nthFromEnd(items: readonly string[], index: number): string | undefined {
  return items[Math.max(0, items.length - 1 - index)]
}

/** The pieces between separators that stand outside of quotes; undefined if a quote stays open. */
function splitUnquoted(text: string, separator: string): readonly string[] | undefined {
  const pieces: string[] = []
  let start = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === '"') quoted = !quoted
    else if (character === '\\' && quoted) i++
    else if (character === separator && !quoted) {
      pieces.push(text.slice(start, i))
      start = i + 1
    }
  }
  pieces.push(text.slice(start))
  return quoted ? undefined : pieces
}

/** `for=…;host=…;proto=…`; undefined if it is not of that form. */
function toHop(element: string): Hop | undefined {
  const pairs = new Map<string, string>()
  for (const piece of splitUnquoted(element, ';') ?? []) {
    const [, name, token, quoted] = pair.exec(piece.trim()) ?? []
    const key = name?.toLowerCase()
    if (key === undefined || pairs.has(key)) return undefined
    pairs.set(key, token ?? quoted?.replace(/\\(.)/g, '$1') ?? '')
  }
  const client = pairs.get('for')
  return {
    client: client === undefined ? undefined : toNode(client, false),
    host: pairs.get('host'),
    proto: pairs.get('proto'),
  }
}

const pair = /^([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~:-]+)|"((?:[^"\\]|\\.)*)")$/

/** An address or made-up name without its port; undefined for `unknown` and for what is neither. */
function toNode(text: string, isBare: boolean): string | undefined {
  if (isBare) return text
  const [, bracketed, plain = ''] = node.exec(text) ?? []
  if (bracketed !== undefined) return ipVersion(bracketed) === 6 ? bracketed : undefined
  return ipVersion(plain) === 4 || plain.startsWith('_') ? plain : undefined
}

const node = /^(?:\[([\da-fA-F:.]{2,45})\]|([\w.-]{1,64}))(?::[\w.-]{1,64})?$/
