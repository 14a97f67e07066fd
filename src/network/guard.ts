import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { A2AError } from '../protocol/errors.ts'
import { isPublicAddress } from './address.ts'
import { type AllowList, createAllowList } from './allow.ts'
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
  const { allowHttp = false, lookup = systemLookup } = options
  const allow = createAllowList(options.allow ?? [])
  const dispatcher = new Agent({ connect: checkedConnector({ allow, allowHttp, lookup }) })
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

function checkedConnector(
  rules: Rules & { readonly lookup: LookupFunction },
): buildConnector.connector {
  const open = buildConnector({ lookup: rules.lookup })
  const guarded = buildConnector({ lookup: checkedLookup(rules) })
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

/** One forbidden address among the answers is enough: an honest name has none. */
function checkedLookup({
  allow,
  lookup,
}: {
  readonly allow: AllowList
  readonly lookup: LookupFunction
}): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, answer, family) => {
      if (error) return callback(error, '', 0)
      const addresses =
        typeof answer === 'string' ? [{ address: answer, family: family ?? isIP(answer) }] : answer
      const [first] = addresses
      const isFine = addresses.every(
        ({ address }) => isPublicAddress(address) || allow.hasAddress(address),
      )
      if (!first || !isFine) return callback(refused('url', notAllowed), '', 0)
      if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

function refused(field: string, description: string): A2AError {
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}
