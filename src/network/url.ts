import { trimEnd } from '../shared/text.ts'
import { readUrl } from '../shared/url.ts'

/** Longer ones are no URLs to us: whoever names one wants our time, not our call. */
const maxUrlLength = 2_048

/** The longest name that DNS can hold (RFC 1035 §2.3.4). */
const maxHostLength = 253

/** What a connection is opened to. */
export interface Target {
  /** `https:` or `http:`, as the URL parser writes it. */
  readonly protocol: string
  /** Lower case, without brackets and trailing dots. */
  readonly host: string
  readonly port: number
}

/** Reads an absolute URL; undefined if it is none, or longer than any that is meant. */
export function parseUrl(text: string): URL | undefined {
  if (text.length > maxUrlLength) return undefined
  const url = readUrl(text)
  return url && url.hostname.length > maxHostLength ? undefined : url
}

/** Why a URL cannot be called whoever named it, in words that a peer may read; undefined where it can. */
export function urlFault(text: string): string | undefined {
  if (text.length > maxUrlLength) return `must have at most ${maxUrlLength} characters`
  const url = parseUrl(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return 'must be an absolute https URL'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  return undefined
}

/**
 * What a URL leads to; undefined where `parseUrl` finds none. The URL parser reads decimal, octal, hexadecimal, short,
 * full-width and percent-encoded addresses as one.
 */
export function toTarget(text: string): Target | undefined {
  const url = parseUrl(text)
  if (!url) return undefined
  const { protocol } = url
  return { protocol, host: toHost(url.hostname), port: portOf(url.port, protocol) }
}

/** The port of a URL as the URL parser writes it: empty where it is the scheme's own. */
export function portOf(written: string, protocol: string): number {
  if (written !== '') return Number(written)
  return protocol === 'http:' ? 80 : 443
}

/** A URL's host as rules compare it: lower case, no brackets, no trailing dots. */
export function toHost(hostname: string): string {
  const host = trimEnd(hostname.toLowerCase(), '.')
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

/** A host and its port, as a `Host` header or a list of hosts writes them. */
interface Authority {
  /** As `toHost` writes it. */
  readonly name: string
  /** Empty if absent. */
  readonly port: string
}

/** The longest that DNS and a port can make. */
const maxAuthorityLength = 260

/** Reads `name`, `name:port` or `[address]:port`; undefined for what is none. */
export function parseAuthority(text: string): Authority | undefined {
  if (text.length > maxAuthorityLength) return undefined
  const [, host, port = ''] =
    /^(\[[\da-fA-F:.]+\]|[^[\]:/?#@\\\s]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  const url = host === undefined ? undefined : parseUrl(`http://${host}/`)
  return url && { name: toHost(url.hostname), port }
}
