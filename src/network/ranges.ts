import { BlockList, isIP } from 'node:net'
import { toClient } from './client.ts'

/** 4 or 6 for an IP address, 0 for any other text. */
export function ipVersion(text: string): number {
  return isIP(text)
}

/** Whether an entry names addresses: one (`192.0.2.1`), a range (`10.0.0.0/8`), or `loopback`. */
export function isRange(entry: string): boolean {
  return entry === loopbackWord || parseRange(entry) !== undefined
}

/**
 * Tells whether an address lies in one of the ranges.
 * @throws Error for an entry that is none.
 */
export function createRanges(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const entry of entries.flatMap((one) => (one === loopbackWord ? loopback : one))) {
    const range = parseRange(entry)
    if (!range) throw new Error(`Not an address or a range: "${entry}"`)
    list.addSubnet(range.network, range.bits, range.family)
  }
  return (address) => {
    // An IPv4 address may be written as an IPv6 one, and a zone names an interface of this machine.
    const [bare = ''] = address.split('%')
    const plain = bare.includes('.') ? toClient(bare) : bare
    const version = isIP(plain)
    return version > 0 && list.check(plain, version === 4 ? 'ipv4' : 'ipv6')
  }
}

const loopbackWord = 'loopback'
const loopback = ['127.0.0.0/8', '::1']

interface Range {
  readonly network: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

function parseRange(entry: string): Range | undefined {
  const [network = '', prefix, more] = entry.split('/')
  const version = isIP(network)
  const most = version === 4 ? 32 : 128
  const bits = prefix === undefined ? most : Number(/^\d{1,3}$/.exec(prefix)?.[0])
  if (version === 0 || more !== undefined || !(bits <= most)) return undefined
  return { network, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}
