import { isIP, type LookupFunction } from 'node:net'
import { isMetadataAddress, isPublicAddress, sideOf } from './address.ts'
import type { AllowList } from './allow-list.ts'
import { type Target, toTarget } from './url.ts'

/**
 * Where connections may lead. A host that the operator has written (in a file, a flag or code) is reached wherever it
 * lies; what somebody else names is not. Reasons are words that a peer may read: they name no address.
 */
export interface Rules {
  /** Why a target must not be dialled, whatever its name resolves to. */
  refuse(target: Target): string | undefined
  /** Whether the operator has written this host. */
  isNamed(target: Target): boolean
  /** Why the addresses that a host has at this moment must not be reached. Asked for every connection. */
  refuseAddresses(found: Found): string | undefined
  /** How names are resolved; the system's way if absent. */
  readonly lookup?: LookupFunction | undefined
}

/** What a lookup gave; a literal address gives itself. */
interface Found {
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
  /** Whether hosts that lie inside may name others inside: a card may where all its own addresses are internal. */
  readonly leadsInside?: boolean
  /** How names are resolved; the system's way if absent. */
  readonly lookup?: LookupFunction | undefined
  /** Whether cards come from this host, so that it decides whether they lead inside; every written one if absent. */
  readonly isSource?: (host: string) => boolean
}

/** Rules for what strangers name. */
export function createRules(options: RuleOptions): Rules {
  const { allow, allowHttp, leadsInside = false, lookup, isSource = () => true } = options
  const origins = createOrigins(isSource)
  const internal = leadsInside ? fromOutside : notAllowed
  const isInside = (): boolean => leadsInside && origins.areInside()
  return {
    lookup,
    refuse({ protocol, host, port }) {
      if (protocol === 'http:' && !allowHttp) return 'must be an https URL'
      if (allow.hasHost(host, port)) return undefined
      if (port < 1024 && port !== 80 && port !== 443) return wrongPort
      if (isInside()) return undefined
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

/** What else a client's rules know. */
interface NamedOptions {
  readonly others?: readonly string[]
  readonly lookup?: LookupFunction | undefined
}

/**
 * Rules for a client: the URLs that its user named are reached as written. What the card behind them names may lie
 * inside only where every address that these had so far does. `others` are reached as written too, but no card comes
 * from them.
 */
export function createNamedRules(
  urls: readonly string[],
  { others = [], lookup }: NamedOptions = {},
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

const notAllowed = 'must not point to an internal address'
const fromOutside = `${notAllowed}, since what names it does not come from one`
const wrongPort = 'must use port 80, 443 or one above 1023'
const mixed = 'must not resolve to public and internal addresses at once'
const moved =
  'must not move from a public address to an internal one; start again if it is meant to'

/** What the hosts that the operator has written have resolved to. */
interface Origins {
  /** Takes down what a host resolves to, and says why it must not. */
  judge(host: string, side: ReturnType<typeof sideOf>): string | undefined
  /** Whether all that cards come from have been internal, and at least one was looked up. */
  areInside(): boolean
}

function createOrigins(isSource: (host: string) => boolean): Origins {
  /** No more than the operator has written. */
  const seenOutside = new Set<string>()
  let seenInside = false
  return {
    judge(host, side) {
      if (side === 'mixed') {
        seenOutside.add(host)
        return mixed
      }
      if (side === 'internal' && seenOutside.has(host)) return moved
      if (side !== 'internal') seenOutside.add(host)
      else if (isSource(host)) seenInside = true
      return undefined
    },
    areInside: () => seenInside && ![...seenOutside].some(isSource),
  }
}

const internalSuffix =
  /(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa)$/

/** A name without a dot is found through the search path of this network, so it is internal too. */
function isInternalName(host: string): boolean {
  return !host.includes('.') || internalSuffix.test(host) || host === 'metadata.goog'
}
