/**
 * Reads an absolute URL; undefined if it is none. Not `URL.canParse`: once Node 20 or 22 has compiled it, it takes hosts
 * with letters such as ü for malformed.
 */
export function readUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
