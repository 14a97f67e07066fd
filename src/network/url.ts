import { trimEnd } from '../shared/text.ts'

/** Longer ones are no URLs to us: whoever names one wants our time, not our call. */
export const maxUrlLength = 2_048

/** The longest name that DNS can hold (RFC 1035 §2.3.4). */
const maxHostLength = 253

/**
 * Reads an absolute URL; undefined if it is none, or longer than any that is meant.
 * Not `URL.canParse`: once Node 20 has compiled it, it takes hosts with letters such as ü for malformed.
 */
export function parseUrl(text: string): URL | undefined {
  if (text.length > maxUrlLength) return undefined
  try {
    const url = new URL(text)
    return url.hostname.length > maxHostLength ? undefined : url
  } catch {
    return undefined
  }
}

/** A URL's host as rules compare it: lower case, no brackets, no trailing dots. */
export function toHost(hostname: string): string {
  const host = trimEnd(hostname.toLowerCase(), '.')
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}
