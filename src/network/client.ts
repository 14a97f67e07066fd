import { isIP } from 'node:net'

/**
 * Whom an address stands for where shares are counted. An IPv4 address written as an IPv6 one is the IPv4 address; of
 * IPv6 it is the /64, since one machine has all of that to choose from. What is no address stays as it is.
 */
export function toClient(address: string): string {
  if (!address.includes(':') || address.includes('/')) return address
  if (mapped.test(address)) return address.slice(7)
  const [plain = ''] = address.split('%')
  if (isIP(plain) !== 6) return address
  const groups = toGroups(plain)
  const isMapped = groups.slice(0, 5).every((group) => group === '0') && groups[5] === 'ffff'
  return isMapped ? toDotted(groups.slice(6)) : `${groups.slice(0, 4).join(':')}::/64`
}

/** How operating systems write IPv4 on a socket that takes both. */
const mapped = /^::ffff:\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/i

/** The eight groups of an IPv6 address, in lower case and without leading zeros. */
function toGroups(address: string): readonly string[] {
  // The URL parser writes every spelling in one: hexadecimal groups, one `::` at most.
  const [head = '', tail = ''] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const between = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...between, ...right]
}

function toDotted(groups: readonly string[]): string {
  const numbers = groups.map((group) => Number.parseInt(group, 16))
  return numbers.flatMap((number) => [number >> 8, number & 0xff]).join('.')
}
