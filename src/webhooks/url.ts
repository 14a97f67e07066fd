/**
 * Reads an absolute URL; undefined if it is none.
 * Not `URL.canParse`: once Node 20 has compiled it, it takes hosts with letters such as ü for malformed.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** A URL's host as rules compare it: lower case, no brackets, no trailing dots. */
export function toHost(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[|\]$|\.+$/g, '')
}
