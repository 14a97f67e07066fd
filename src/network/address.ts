import { BlockList, isIP } from 'node:net'

/**
 * Which addresses belong to the public internet (IANA's special-purpose registries, RFC 6890 and its heirs).
 *
 * IPv4 is public unless a range below holds it. IPv6 is public only inside 2000::/3 and outside the ranges below:
 * what is not given out cannot be a receiver. An IPv4 address inside an IPv6 one (mapped `::ffff:a.b.c.d`, NAT64
 * `64:ff9b::a.b.c.d`) is judged as the IPv4 address that it reaches. The retired embeddings (compatible `::a.b.c.d`,
 * 6to4, Teredo) are never public, whatever they hold.
 */
const special4 = blockList('ipv4', [
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

const global6 = blockList('ipv6', ['2000::/3'])

const special6 = blockList('ipv6', [
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
])

const metadata4 = blockList('ipv4', [
  '100.100.100.200/32',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '192.0.0.192/32',
])

const metadata6 = blockList('ipv6', ['fd00:ec2::/32', 'fd20:ce::/32'])

const embedding = blockList('ipv6', ['::ffff:0:0/96', '64:ff9b::/96'])

/** Whether an IP address, as a resolver or a URL writes it, is on the public internet. Anything else is not. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special4.check(address, 'ipv4')
  // A zone id names an interface of this machine: no public address has one.
  if (family !== 6 || address.includes('%')) return false
  // `check` judges a mapped address by IPv4 rules too, so the embeddings are taken apart before the ranges.
  if (embedding.check(address, 'ipv6')) return isPublicAddress(embeddedAddress(address))
  return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6')
}

/** Where the addresses of one name lie. An honest name's are all on one side. */
export function sideOf(addresses: readonly string[]): 'public' | 'internal' | 'mixed' {
  let outside = 0
  for (const address of addresses) if (isPublicAddress(address)) outside++
  if (outside === 0) return 'internal'
  return outside === addresses.length ? 'public' : 'mixed'
}

/** Whether a cloud gives the machine's own credentials to whoever calls this address: no agent answers there. */
export function isMetadataAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return metadata4.check(address, 'ipv4')
  if (family !== 6 || address.includes('%')) return false
  if (embedding.check(address, 'ipv6')) return isMetadataAddress(embeddedAddress(address))
  return metadata6.check(address, 'ipv6')
}

/** A list of ranges in CIDR notation, of one family. */
function blockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}

/** The IPv4 address in the last 32 bits of an IPv6 one. */
function embeddedAddress(address: string): string {
  // The URL parser writes every spelling in one: hexadecimal groups, one `::` at most.
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(':')
  const [high, low] = groups.slice(-2).map((group) => Number.parseInt(group || '0', 16))
  return [high, low].flatMap((group = 0) => [group >> 8, group & 0xff]).join('.')
}
