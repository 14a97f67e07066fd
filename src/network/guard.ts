import { lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { A2AError } from '../protocol/errors.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { parseAuthority, portOf, type Target, toHost, toTarget, urlFault } from '../shared/text.ts'

/** Keeps requests to URLs that peers name away from this machine and its network (specification §13.2, §14.1.1). */
export interface Guard {
  /**
   * Checks what a URL says: length, scheme, credentials, port, host. What its name resolves to is checked when it is
   * dialled.
   * @param field The request's field that holds the URL, for the error.
   * @throws A2AError `invalidParams` that names the field and not what lies behind the address.
   */
  check(url: string, field?: string): void
  /**
   * Checks a URL that another service will call for us, with the addresses that its name has now.
   * @throws A2AError as `check` does, and where the name has no address.
   */
  resolve(url: string, field?: string): Promise<void>
  /** What every connection is judged by, for a client that connects itself. */
  readonly rules: Rules
  /** Connects for undici, under the rules. */
  readonly dispatcher: Dispatcher
  /** Closes the connections; requests in flight fail. May be called twice. */
  close(): Promise<void>
}

/** Which addresses may be reached beyond https to public ones. */
export interface GuardOptions {
  /**
   * Hosts (`hooks.internal`, `10.0.0.7:8080`, `[::1]:80`), ranges (`10.0.0.0/8`), or `*` for everything.
   * A range opens addresses, not internal names.
   */
  readonly allow?: readonly string[]
  /** Whether this machine may be reached, by address and as `localhost`, at the ports that any host may have. */
  readonly allowLoopback?: boolean
  /** Whether `http:` URLs are allowed; they are not by default. */
  readonly allowHttp?: boolean
  /** How names are resolved; the system's way by default. */
  readonly lookup?: LookupFunction
}

const guardOptions: OptionTable<GuardOptions> = {
  allow: 'array',
  allowLoopback: 'boolean',
  allowHttp: 'boolean',
  lookup: 'function',
}

/** Makes a guard. */
export function createGuard(options: GuardOptions = {}): Guard {
  checkOptions('guard', options, guardOptions)
  const { allowHttp = false, allowLoopback = false, lookup } = options
  const allow = createAllowList([...(options.allow ?? []), ...(allowLoopback ? loopback : [])])
  const rules = createRules({ allow, allowHttp, allowLoopback, lookup })
  const refusal = (reason: string): A2AError => refused('url', reason)
  let connections: Agent | undefined

  function check(url: string, field = 'url'): Target {
    const fault = urlFault(url)
    const target = fault === undefined ? toTarget(url) : undefined
    const reason = target ? rules.refuse(target) : fault
    if (!target || reason !== undefined) throw refused(field, reason ?? 'must be a URL')
    return target
  }

  return {
    check: (url, field) => void check(url, field),
    async resolve(url, field = 'url') {
      const target = check(url, field)
      const named = rules.isNamed(target)
      if (named || isIP(target.host) !== 0) return
      const addresses = await addressesOf(target.host, lookup).catch(() => [])
      if (addresses.length === 0) throw refused(field, 'must name a host that has an address')
      const reason = rules.refuseAddresses({ host: target.host, addresses, named })
      if (reason !== undefined) throw refused(field, reason)
    },
    rules,
    get dispatcher() {
      connections ??= new Agent({ connect: checkedConnector({ rules, refusal }) })
      return connections
    },
    async close() {
      if (connections && !connections.destroyed) await connections.destroy()
    },
  }
}

function addressesOf(
  host: string,
  lookup: LookupFunction = systemLookup,
): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, answer) => {
      if (error) reject(error)
      else resolve(typeof answer === 'string' ? [answer] : answer.map(({ address }) => address))
    })
  })
}

function refused(field: string, description: string): A2AError {
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}

/**
 * Where connections may lead. A host that the operator has written (in a file, a flag or code) is reached wherever it
 * lies; what a peer names is not. Reasons are words that a peer may read: they name no address.
 */
export interface Rules {
  /** Why a target must not be dialled, whatever its name resolves to. */
  refuse(target: Target): string | undefined
  /** Whether the operator has written this host. */
  isNamed(target: Target): boolean
  /** Why the addresses that a host has at this moment must not be reached. Asked for every connection. */
  refuseAddresses(found: ResolvedHost): string | undefined
  /** How names are resolved; the system's way if absent. */
  readonly lookup?: LookupFunction | undefined
}

/** What a lookup gave; a literal address gives itself. */
interface ResolvedHost {
  readonly host: string
  readonly addresses: readonly string[]
  /** What `isNamed` said. */
  readonly named: boolean
}

/** What rules are made of. */
interface RuleOptions {
  /** What the operator has written. */
  readonly allow: AllowList
  /** Whether plain http may be spoken. */
  readonly allowHttp: boolean
  /** Whether the name `localhost` may be used. */
  readonly allowLoopback?: boolean
  /** Whether hosts that lie inside may name others inside: a card may where all its own addresses are internal. */
  readonly leadsInside?: boolean
  /** How names are resolved; the system's way if absent. */
  readonly lookup?: LookupFunction | undefined
  /** Whether cards come from this host, so that it decides whether they lead inside; every written one if absent. */
  readonly isSource?: (host: string) => boolean
}

/** Why a connection is refused, in words that a peer may read. */
const notAllowed = 'must not point to an internal address'

const fromOutside = `${notAllowed}, since what names it does not come from one`

const wrongPort = 'must use port 80, 443 or one above 1023'

const mixed = 'must not resolve to public and internal addresses at once'

const moved =
  'must not move from a public address to an internal one; start again if it is meant to'

/** Rules for what strangers name. */
function createRules(options: RuleOptions): Rules {
  const { allow, allowHttp, leadsInside = false, lookup, isSource = () => true } = options
  const origins = new Origins(isSource)
  const internal = leadsInside ? fromOutside : notAllowed
  const isInside = (): boolean => leadsInside && origins.areInside()
  return {
    lookup,
    refuse({ protocol, host, port }) {
      if (protocol === 'http:' && !allowHttp) return 'must be an https URL'
      if (allow.hasHost(host, port)) return undefined
      if (port < 1024 && port !== 80 && port !== 443) return wrongPort
      if (isInside()) return undefined
      if (host === 'localhost' && options.allowLoopback) return undefined
      if (isIP(host) === 0) return isInternalName(host) ? internal : undefined
      return isPublicAddress(host) || allow.hasAddress(host) ? undefined : internal
    },
    isNamed: ({ host, port }) => allow.hasHost(host, port),
    refuseAddresses({ host, addresses, named }) {
      if (allow.everything) return undefined
      const side = sideOf(addresses)
      if (named) return origins.judge(host, side)
      if (addresses.every((one) => isPublicAddress(one) || allow.hasAddress(one))) return undefined
      if (side === 'mixed') return mixed
      return isInside() && !addresses.some(isMetadataAddress) ? undefined : internal
    },
  }
}

/** What the hosts that the operator has written have resolved to. */
class Origins {
  readonly #isSource: (host: string) => boolean
  /** No more than the operator has written. */
  readonly #seenOutside = new Set<string>()
  #seenInside = false

  constructor(isSource: (host: string) => boolean) {
    this.#isSource = isSource
  }

  /** Takes down what a host resolves to, and says why it must not. */
  judge(host: string, side: ReturnType<typeof sideOf>): string | undefined {
    if (side === 'internal' && this.#seenOutside.has(host)) return moved
    if (side !== 'internal') this.#seenOutside.add(host)
    else if (this.#isSource(host)) this.#seenInside = true
    return side === 'mixed' ? mixed : undefined
  }

  /** Whether all that cards come from have been internal, and at least one was looked up. */
  areInside(): boolean {
    return this.#seenInside && ![...this.#seenOutside].some(this.#isSource)
  }
}

const internalSuffix =
  /(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa)$/

/** A name without a dot is found through the search path of this network, so it is internal too. */
function isInternalName(host: string): boolean {
  return !host.includes('.') || internalSuffix.test(host) || host === 'metadata.goog'
}

/**
 * Rules for a client: the URLs that its user named are reached as written. What the card behind them names may lie
 * inside only where every address that these had so far does. `others` are reached as written too, but no card comes
 * from them.
 */
export function createNamedRules(
  urls: readonly string[],
  {
    others = [],
    lookup,
  }: { readonly others?: readonly string[]; readonly lookup?: LookupFunction | undefined } = {},
): Rules {
  const named = new Set<string>()
  const sources = new Set<string>()
  for (const url of [...urls, ...others]) {
    const target = toTarget(url)
    if (!target) continue
    named.add(`${target.host} ${target.port}`)
    if (urls.includes(url)) sources.add(target.host)
  }
  const allow: AllowList = {
    everything: false,
    hasHost: (host, port) => named.has(`${host} ${port}`),
    hasAddress: () => false,
  }
  const isSource = (host: string): boolean => sources.has(host)
  return createRules({ allow, allowHttp: true, leadsInside: true, lookup, isSource })
}

/**
 * Tells whether a host may be reached at the addresses that its name has now. It is asked for every connection, so
 * that a name which changes its address gains nothing.
 */
export type AddressGuard = (host: string, addresses: readonly string[]) => boolean

/** The rules of a program that judges addresses by a function of its own. */
export function toRules(guard: AddressGuard): Rules {
  return {
    refuse: () => undefined,
    isNamed: () => false,
    refuseAddresses: ({ host, addresses }) => (guard(host, addresses) ? undefined : notAllowed),
  }
}

/** How connections under rules are opened. */
interface ConnectOptions {
  readonly rules: Rules
  /** What a connection fails with that the rules refuse. */
  readonly refusal: (reason: string) => Error
  readonly timeoutMs?: number
  readonly verifySsl?: boolean
}

/**
 * Opens connections for undici. Each is judged with every address that its name resolves to at that moment, so neither
 * a name that changes its address nor a redirect leads where it must not. It costs a request on an open connection
 * nothing.
 */
export function checkedConnector(options: ConnectOptions): buildConnector.connector {
  const { rules, refusal } = options
  const connectNamed = openConnector(options, true)
  const connectOther = openConnector(options, false)
  return (dialled, callback) => {
    const { protocol, hostname } = dialled
    const host = toHost(hostname)
    const target = { protocol, host, port: portOf(dialled.port, protocol) }
    const named = rules.isNamed(target)
    let reason = rules.refuse(target)
    // A literal address needs no lookup, so it is judged here.
    if (reason === undefined && isIP(host) !== 0)
      reason = rules.refuseAddresses({ host, addresses: [host], named })
    if (reason !== undefined) return callback(refusal(reason), null)
    const connect = named ? connectNamed : connectOther
    connect(dialled, callback)
  }
}

function openConnector(options: ConnectOptions, named: boolean): buildConnector.connector {
  const { timeoutMs, verifySsl } = options
  return buildConnector({
    lookup: checkedLookup(options, named),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
    ...(verifySsl !== undefined && { rejectUnauthorized: verifySsl }),
  })
}

/** Gives a name's addresses to a connection only if the rules let all of them pass. */
function checkedLookup({ rules, refusal }: ConnectOptions, named: boolean): LookupFunction {
  const { lookup = systemLookup } = rules
  return (hostname, wanted, callback) => {
    lookup(hostname, { ...wanted, all: true }, (error, answer, family) => {
      if (error) return callback(error, '', 0)
      const found =
        typeof answer === 'string' ? [{ address: answer, family: family ?? isIP(answer) }] : answer
      const [first] = found
      if (!first) return callback(refusal('must name a host that has an address'), '', 0)
      const addresses = found.map(({ address }) => address)
      const reason = rules.refuseAddresses({ host: toHost(hostname), addresses, named })
      if (reason !== undefined) return callback(refusal(reason), '', 0)
      if (wanted.all) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
}

/**
 * Which addresses belong to the public internet (IANA's special-purpose registries, RFC 6890 and its heirs).
 *
 * IPv4 is public unless a range below holds it. IPv6 is public only inside 2000::/3 and outside the ranges below:
 * what is not given out cannot be a receiver. An IPv4 address inside an IPv6 one (mapped `::ffff:a.b.c.d`, NAT64
 * `64:ff9b::a.b.c.d`) is judged as the IPv4 address that it reaches. The retired embeddings (compatible `::a.b.c.d`,
 * 6to4, Teredo) are never public, whatever they hold.
 */
const special4 = toBlockList([
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT, with one cloud's metadata service
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // a cloud's host agent behind a public-looking address
  '169.254.0.0/16', // link-local, with most clouds' metadata services
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, with the broadcast address
])

const global6 = toBlockList(['2000::/3'])

const special6 = toBlockList([
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
])

const metadata4 = toBlockList([
  '100.100.100.200/32',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '192.0.0.192/32',
])

const metadata6 = toBlockList(['fd00:ec2::/32', 'fd20:ce::/32'])

const embedding = toBlockList(['::ffff:0:0/96', '64:ff9b::/96'])

/** Whether an IP address, as a resolver or a URL writes it, is on the public internet. Anything else is not. */
function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special4.check(address, 'ipv4')
  // A zone id names an interface of this machine: no public address has one.
  if (family !== 6 || address.includes('%')) return false
  // `check` judges a mapped address by IPv4 rules too, so the embeddings are taken apart before the ranges.
  if (embedding.check(address, 'ipv6')) return isPublicAddress(toDotted(toGroups(address)))
  return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6')
}

/** Where the addresses of one name lie. An honest name's are all on one side. */
function sideOf(addresses: readonly string[]): 'public' | 'internal' | 'mixed' {
  let outside = 0
  for (const address of addresses) if (isPublicAddress(address)) outside++
  if (outside === 0) return 'internal'
  return outside === addresses.length ? 'public' : 'mixed'
}

/** Whether a cloud gives the machine's own credentials to any caller of this address: no agent answers there. */
function isMetadataAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return metadata4.check(address, 'ipv4')
  if (family !== 6 || address.includes('%')) return false
  if (embedding.check(address, 'ipv6')) return isMetadataAddress(toDotted(toGroups(address)))
  return metadata6.check(address, 'ipv6')
}

/** The hosts and ranges that an operator has written down. */
interface AllowList {
  /** Whether nothing is left to be judged. */
  readonly everything: boolean
  /** Whether a host is allowed by name, on this port. */
  hasHost(host: string, port: number): boolean
  /** Whether an address lies in an allowed range. */
  hasAddress(address: string): boolean
}

/**
 * Reads entries such as `hooks.internal`, `10.0.0.7:8080`, `[::1]:80`, `10.0.0.0/8` and `*`.
 * @throws A2AError `invalidParams` for any other entry.
 */
export function createAllowList(entries: readonly string[]): AllowList {
  const everything = entries.includes('*')
  const named = entries.filter((entry) => entry !== '*')
  const isInRange = createRanges(named.filter((entry) => entry.includes('/')).map(toRange))
  const hosts = new Set(named.filter((entry) => !entry.includes('/')).map(toHostEntry))
  return {
    everything,
    hasHost: (host, port) => everything || hosts.has(host) || hosts.has(`${host} ${port}`),
    hasAddress: (address) => everything || isInRange(address),
  }
}

function toRange(entry: string): string {
  if (!isRange(entry)) throw wrongEntry(entry)
  return entry
}

/** `host` for any port, `host port` for one; the URL parser gives every spelling of a host the same form. */
function toHostEntry(entry: string): string {
  const host = parseAuthority(isIP(entry) === 6 ? `[${entry}]` : entry)
  if (!host) throw wrongEntry(entry)
  return host.port === '' ? host.name : `${host.name} ${Number(host.port)}`
}

function wrongEntry(entry: string): A2AError {
  return new A2AError('invalidParams', `Not a host, host:port or range: ${entry}`)
}

/** 4 or 6 for an IP address, 0 for any other text. */
export function ipVersion(text: string): number {
  return isIP(text)
}

const loopbackWord = 'loopback'

const loopback = ['127.0.0.0/8', '::1/128']

/** Whether an entry names addresses: one (`192.0.2.1`), a range (`10.0.0.0/8`), or `loopback`. */
export function isRange(entry: string): boolean {
  return entry === loopbackWord || parseRange(entry) !== undefined
}

/**
 * Tells whether an address lies in one of the ranges.
 * @throws Error for an entry that is not a range.
 */
export function createRanges(entries: readonly string[]): (address: string) => boolean {
  const list = toBlockList(entries.flatMap((one) => (one === loopbackWord ? loopback : one)))
  return (address) => {
    // An IPv4 address may be written as an IPv6 one, and a zone names an interface of this machine.
    const [bare = ''] = address.split('%')
    const plain = bare.includes('.') ? toClient(bare) : bare
    const version = isIP(plain)
    return version > 0 && list.check(plain, version === 4 ? 'ipv4' : 'ipv6')
  }
}

function toBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const range = parseRange(entry)
    if (!range) throw new Error(`Not an address or a range: "${entry}"`)
    list.addSubnet(range.network, range.bits, range.family)
  }
  return list
}

interface AddressRange {
  readonly network: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

function parseRange(entry: string): AddressRange | undefined {
  const [network = '', prefix, more] = entry.split('/')
  const version = isIP(network)
  const most = version === 4 ? 32 : 128
  const bits = prefix === undefined ? most : Number(/^\d{1,3}$/.exec(prefix)?.[0])
  if (version === 0 || more !== undefined || !(bits <= most)) return undefined
  return { network, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** How operating systems write IPv4 on a socket that takes both. */
const mapped = /^::ffff:\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/i

/**
 * The client that an address stands for where shares are counted. An IPv4 address written as an IPv6 one is the IPv4 address; of
 * IPv6 it is the /64, since one machine has all of that to choose from. What is no address stays as it is.
 */
export function toClient(address: string): string {
  if (!address.includes(':') || address.includes('/')) return address
  if (mapped.test(address)) return address.slice(7)
  const [plain = ''] = address.split('%')
  if (isIP(plain) !== 6) return address
  const groups = toGroups(plain)
  const isMapped = groups.slice(0, 5).every((group) => group === '0') && groups[5] === 'ffff'
  return isMapped ? toDotted(groups) : `${groups.slice(0, 4).join(':')}::/64`
}

/** The eight groups of an IPv6 address, in lower case and without leading zeros. */
function toGroups(address: string): readonly string[] {
  // The URL parser writes every spelling in one: hexadecimal groups, one `::` at most.
  const [head = '', tail = ''] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const between = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...between, ...right]
}

/** The IPv4 address in the last two groups of an IPv6 one. */
function toDotted(groups: readonly string[]): string {
  const numbers = groups.slice(-2).map((group) => Number.parseInt(group, 16))
  return numbers.flatMap((number) => [number >> 8, number & 0xff]).join('.')
}
