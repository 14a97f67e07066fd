import { type BlockList, isIP } from 'node:net'
import { A2AError } from '../protocol/errors.ts'
import { blockList } from './address.ts'
import { parseUrl, toHost } from './url.ts'

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
  const ranges = named.filter((entry) => entry.includes('/')).map(toRange)
  const hosts = new Set(named.filter((entry) => !entry.includes('/')).map(toHostEntry))
  return {
    everything,
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
