import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from './address.ts'
import { toHost } from './url.ts'

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
