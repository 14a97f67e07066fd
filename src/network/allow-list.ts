import { isIP } from 'node:net'
import { A2AError } from '../protocol/errors.ts'
import { createRanges, isRange } from './ranges.ts'
import { parseAuthority } from './url.ts'

/** The hosts and ranges that an operator has written down. */
export interface AllowList {
  /** Whether nothing is left to be judged. */
  readonly everything: boolean
  /** Whether a host is allowed by name, on this port. */
  hasHost(host: string, port: number): boolean
  /** Whether an address lies in an allowed range. */
  hasAddress(address: string): boolean
}

/**
 * Reads entries such as `hooks.internal`, `10.0.0.7:8080`, `[::1]:80`, `10.0.0.0/8` and `*`.
 * @throws A2AError `invalidParams` for an entry that is none of these.
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
