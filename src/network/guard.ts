import { lookup as systemLookup } from 'node:dns'
import { type BlockList, isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { A2AError } from '../protocol/errors.ts'
import { blockList, isPublicAddress } from './address.ts'
import { maxUrlLength, parseUrl, toHost } from './url.ts'

/** Keeps requests to URLs that peers name away from this machine and its network (specification §13.2, §14.1.1). */
export interface Guard {
  /**
   * Checks what a URL says: scheme, credentials, host. What its name resolves to is checked when it is dialled.
   * @param field The request's field that holds the URL, for the error.
   * @throws A2AError `invalidParams` that names the field and not what lies behind the address.
   */
  check(url: string, field?: string): void
  /**
   * Connects for undici. Every connection it opens is checked, with every address that the name resolves to at that
   * moment, so neither a name that changes its address nor a redirect leads inside.
   */
  readonly dispatcher: Dispatcher
  /** Closes the connections; requests in flight fail. Idempotent. */
  close(): Promise<void>
}

/** What a guard lets through beyond https to public addresses. */
export interface GuardOptions {
  /**
   * Hosts (`hooks.internal`, `10.0.0.7:8080`, `[::1]:80`), ranges (`10.0.0.0/8`), or `*` for everything.
   * A range opens addresses, not internal names.
   */
  readonly allow?: readonly string[]
  /** Whether `http:` URLs are allowed; they are not by default. */
  readonly allowHttp?: boolean
  /** How names are resolved; the system's way by default. */
  readonly lookup?: LookupFunction
}

/** Makes a guard. */
export function createGuard(options: GuardOptions = {}): Guard {
  const { allowHttp = false, lookup } = options
  const allow = createAllowList(options.allow ?? [])
  const dispatcher = new Agent({ connect: checkedConnector({ allow, allowHttp }, lookup) })
  return {
    check(url, field = 'url') {
      const reason =
        url.length > maxUrlLength ? tooLong : refusal(toTarget(url), { allow, allowHttp })
      if (reason !== undefined) throw refused(field, reason)
    },
    dispatcher,
    close: () => (dispatcher.destroyed ? Promise.resolve() : dispatcher.destroy()),
  }
}

interface Rules {
  readonly allow: AllowList
  readonly allowHttp: boolean
}

interface Target {
  readonly protocol: string
  /** Lower case, without brackets and trailing dots. */
  readonly host: string
  readonly port: number
  readonly credentials: boolean
}

const notAllowed = 'must not point to an internal address'
const tooLong = `must have at most ${maxUrlLength} characters`

/** Why a target is refused, in words that a peer may read. */
function refusal(target: Target | undefined, { allow, allowHttp }: Rules): string | undefined {
  if (!target || !/^https?:$/.test(target.protocol)) return 'must be an absolute https URL'
  if (target.protocol === 'http:' && !allowHttp) return 'must be an https URL'
  if (target.credentials) return 'must not contain a user name or password'
  if (allow.hasHost(target.host, target.port)) return undefined
  if (isIP(target.host) === 0) return isInternalName(target.host) ? notAllowed : undefined
  return isPublicAddress(target.host) || allow.hasAddress(target.host) ? undefined : notAllowed
}

/** The URL parser reads decimal, octal, hexadecimal, short, full-width and percent-encoded addresses as one. */
function toTarget(text: string): Target | undefined {
  const url = parseUrl(text)
  if (!url) return undefined
  return {
    protocol: url.protocol,
    host: toHost(url.hostname),
    port: Number(url.port) || portOf(url.protocol),
    credentials: url.username !== '' || url.password !== '',
  }
}

function portOf(protocol: string): number {
  return protocol === 'http:' ? 80 : 443
}

const internalSuffix =
  /(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa)$/

/** A name without a dot is found through the search path of this network, so it is internal too. */
function isInternalName(host: string): boolean {
  return !host.includes('.') || internalSuffix.test(host) || host === 'metadata.goog'
}

/** One forbidden address among the answers is enough: an honest name has none. */
function checkedConnector(rules: Rules, lookup?: LookupFunction): buildConnector.connector {
  const isFine = (address: string): boolean =>
    isPublicAddress(address) || rules.allow.hasAddress(address)
  const guarded = buildConnector({
    lookup: guardedLookup({
      guard: (_host, addresses) => addresses.every(isFine),
      refusal: () => refused('url', notAllowed),
      ...(lookup && { lookup }),
    }),
  })
  const open = buildConnector(lookup ? { lookup } : {})
  return (options, callback) => {
    const { protocol, hostname } = options
    const port = Number(options.port) || portOf(protocol)
    const target = { protocol, host: toHost(hostname), port, credentials: false }
    const reason = refusal(target, rules)
    if (reason !== undefined) return callback(refused('url', reason), null)
    const connect = rules.allow.hasHost(target.host, port) ? open : guarded
    connect(options, callback)
  }
}

function refused(field: string, description: string): A2AError {
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}

/** The exceptions that an operator makes from the guard. */
interface AllowList {
  /** Whether a host is allowed by name, on this port. */
  hasHost(host: string, port: number): boolean
  /** Whether an address lies in an allowed range. */
  hasAddress(address: string): boolean
}

/**
 * Reads entries such as `hooks.internal`, `10.0.0.7:8080`, `[::1]:80`, `10.0.0.0/8` and `*`.
 * @throws A2AError `invalidParams` for an entry that is none of these.
 */
function createAllowList(entries: readonly string[]): AllowList {
  const everything = entries.includes('*')
  const named = entries.filter((entry) => entry !== '*')
  const ranges = named.filter((entry) => entry.includes('/')).map(toRange)
  const hosts = new Set(named.filter((entry) => !entry.includes('/')).map(toHostEntry))
  return {
    hasHost: (host, port) => everything || hosts.has(host) || hosts.has(`${host} ${port}`),
    hasAddress(address) {
      const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
      return everything || (isIP(address) > 0 && ranges.some((list) => list.check(address, family)))
    },
  }
}

function toRange(entry: string): BlockList {
  const [network = '', prefix = ''] = entry.split('/')
  const bits = isIP(network) === 4 ? 32 : 128
  if (isIP(network) === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > bits)
    throw wrongEntry(entry)
  return blockList(bits === 32 ? 'ipv4' : 'ipv6', [entry])
}

/** `host` for any port, `host port` for one; the URL parser gives every spelling of a host the same form. */
function toHostEntry(entry: string): string {
  const [, host, port] =
    /^(\[[^\]]+\]|[^:/?#@\\]+)(?::(\d{1,5}))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? []
  const url = host && parseUrl(`https://${host}/`)
  if (!url) throw wrongEntry(entry)
  const name = toHost(url.hostname)
  return port ? `${name} ${Number(port)}` : name
}

function wrongEntry(entry: string): A2AError {
  return new A2AError('invalidParams', `Not a host, host:port or range: ${entry}`)
}

/**
 * Whether a host may be reached at the addresses that its name has now. Asked for every connection, so that a name which
 * changes its address gains nothing.
 */
export type AddressGuard = (host: string, addresses: readonly string[]) => boolean

/**
 * Where requests to a member may go. The operator has chosen its host, wherever that lies. What its card names beside
 * it is only the member's word, so a member on the public internet cannot send us inside: neither by an address in
 * its card nor by a name, its own included, that resolves to one later. A member inside may name others inside.
 */
export function createMemberGuard(endpoint: string): AddressGuard {
  const own = toHost(new URL(endpoint).hostname)
  let isInside: boolean | undefined
  return (host, addresses) => {
    const isPublic = addresses.every(isPublicAddress)
    if (toHost(host) === own) isInside ??= !isPublic
    return isPublic || isInside === true
  }
}

/** How names are looked up under a guard. */
interface GuardedLookupOptions {
  readonly guard: AddressGuard
  /** What the connection fails with. */
  readonly refusal: () => Error
  /** The system's way if absent. */
  readonly lookup?: LookupFunction
}

/** Gives a name's addresses to a connection only if the guard lets all of them pass. */
export function guardedLookup(options: GuardedLookupOptions): LookupFunction {
  const { guard, refusal, lookup = systemLookup } = options
  return (hostname, wanted, callback) => {
    lookup(hostname, { ...wanted, all: true }, (error, answer, family) => {
      if (error) return callback(error, '', 0)
      const found =
        typeof answer === 'string' ? [{ address: answer, family: family ?? isIP(answer) }] : answer
      const [first] = found
      const addresses = found.map(({ address }) => address)
      if (!first || !guard(hostname, addresses)) return callback(refusal(), '', 0)
      if (wanted.all) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
}
