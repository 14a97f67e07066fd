/**
 * The text without these characters at its end. A loop, because a regular expression that ends in `+$` looks at every
 * run of them anew: on text that a stranger wrote its time grows with the square of the length.
 */
export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return end === text.length ? text : text.slice(0, end)
}

/**
 * Text that a stranger may have written, as a screen may show it: control characters, those that turn the direction of
 * writing, line and paragraph separators and halves of characters are written out as in JSON, so that JSON stays JSON.
 * Tabs and the ends of lines stay.
 */
export function toPrintable(text: string): string {
  return text.replace(unprintable, writtenOut)
}

/** The same for a place of one line, such as an id or a name: a text with further lines could pass for ours. */
export function toPrintableLine(text: string): string {
  return text.replace(unprintableInLine, writtenOut)
}

const unprintable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufffe\uffff]|\r(?!\n)/gu

const unprintableInLine = new RegExp(`${unprintable.source}|[\\t\\r\\n]`, 'gu')

const shortForms: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function writtenOut(one: string): string {
  return shortForms[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** A name of the code as files write it: `maxRetries` is `max_retries`. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

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

/** The known word that a misspelt one is nearest to, if it is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: distance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best && best.distance <= Math.max(2, word.length / 3) ? best.candidate : undefined
}

/** How many letters must be put in, taken out or changed to get from one word to the other. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      current.push(Math.min(swap, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}

/** Longer ones are rejected before they are parsed: they only cost time. */
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

/** Reads an absolute URL; undefined if it is not one, or too long. */
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

/** Reads `name`, `name:port` or `[address]:port`; undefined for anything else. */
export function parseAuthority(text: string): Authority | undefined {
  if (text.length > maxAuthorityLength) return undefined
  const [, host, port = ''] =
    /^(\[[\da-fA-F:.]+\]|[^[\]:/?#@\\\s]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  const url = host === undefined ? undefined : parseUrl(`http://${host}/`)
  return url && { name: toHost(url.hostname), port }
}

/**
 * The text of a stream of events, piece by piece, with LF at the end of each line. The parser searches the rest of a piece
 * for a CR and an LF at every line where there is a CR in it: 64 KB of line ends took 20 ms.
 */
export class EventDecoder {
  readonly #decoder = new TextDecoder()
  /** Whether the last piece ended with a CR, which an LF may belong to. */
  #isAfterCr = false

  decode(bytes: Uint8Array): string {
    const text = this.#decoder.decode(bytes, { stream: true })
    if (text === '') return text
    const from = this.#isAfterCr && text.startsWith('\n') ? 1 : 0
    this.#isAfterCr = text.endsWith('\r')
    if (from === 0 && !text.includes('\r')) return text
    return text.slice(from).replace(/\r\n?/g, '\n')
  }
}
