import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'

/**
 * Whether a host may be reached at the addresses that its name has now. Asked for every connection, so that a name which
 * changes its address gains nothing.
 */
export type AddressGuard = (host: string, addresses: readonly string[]) => boolean

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
