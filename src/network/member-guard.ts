import { isPublicAddress } from './address.ts'
import type { AddressGuard } from './lookup.ts'
import { toHost } from './url.ts'

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
