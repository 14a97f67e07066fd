import { parseAuthority, parseUrl } from '../network/url.ts'

/** Whether an authority, as a `Host` header or an origin writes it (`name`, `name:port`), is one of the accepted. */
export type HostRule = (authority: string) => boolean

/**
 * Accepts these hosts: `agents.example` at any port, `agents.example:8443` at that one.
 * @throws Error for an entry that is no host.
 */
export function createHostRule(entries: readonly string[]): HostRule {
  const accepted = new Set(entries.map(toEntry))
  return (authority) => {
    const host = parseAuthority(authority)
    if (!host) return false
    return accepted.has(host.name) || accepted.has(`${host.name} ${host.port}`)
  }
}

/** Whether an entry of such a list is a host. */
export function isHostEntry(entry: string): boolean {
  return parseAuthority(entry) !== undefined
}

/** Whether an authority is this machine's own by name: nobody else's DNS can make it so. */
export function isLoopbackAuthority(authority: string): boolean {
  const host = parseAuthority(authority)
  return host !== undefined && isLoopback(host.name)
}

/** Whether only this machine can reach a host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** The authority of a page's origin; undefined for one that no web server has: `null`, a file, an extension. */
export function originAuthority(origin: string): string | undefined {
  const url = parseUrl(origin)
  return url && (url.protocol === 'http:' || url.protocol === 'https:') ? url.host : undefined
}

function toEntry(entry: string): string {
  const host = parseAuthority(entry)
  if (!host) throw new Error(`Not a host: "${entry}"; write it as agents.example or host:8443`)
  return host.port === '' ? host.name : `${host.name} ${host.port}`
}
