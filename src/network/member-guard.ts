import { isPublicAddress } from './address.ts'
import { toHost } from './url.ts'

/**
 * Whether a host may be reached at the addresses that its name has now. Asked for every connection, so that a name which
 * changes its address gains nothing.
 */
export type Reach = (host: string, addresses: readonly string[]) => boolean

/**
 * Where requests to a member may go. The operator has chosen its host, wherever that lies. What its card names beside
 * it is only the member's word, so a member on the public internet cannot send us inside: neither by an address in
 * its card nor by a name, its own included, that resolves to one later. A member inside may name others inside.
 */
export function createReach(endpoint: string): Reach {
  const own = toHost(new URL(endpoint).hostname)
  let isInside: boolean | undefined
  return (host, addresses) => {
    const isPublic = addresses.every(isPublicAddress)
    if (toHost(host) === own) isInside ??= !isPublic
    return isPublic || isInside === true
  }
}
