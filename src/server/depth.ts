/**
 * Counts how deep JSON nests while its bytes arrive, so that nobody parses what nests too deep. What is between quotes
 * does not count, wherever the chunks are cut.
 */
export class DepthMeter {
  readonly #max: number
  #depth = 0
  #quoted = false
  #escaped = false

  constructor(max: number) {
    this.#max = max
  }

  /** Whether the JSON so far, with this chunk, nests deeper than it may. */
  exceeds(chunk: Uint8Array): boolean {
    const { length } = chunk
    let depth = this.#depth
    for (let i = this.#quoted ? this.#passText(chunk, 0) : 0; i < length; i++) {
      const byte = chunk[i]
      if (byte === quote) i = this.#passText(chunk, i + 1) - 1
      else if (byte === openBrace || byte === openBracket) {
        if (++depth > this.#max) return true
      } else if (byte === closeBrace || byte === closeBracket) depth--
    }
    this.#depth = depth
    return false
  }

  /** Where the text that goes on here has ended; the end of the chunk, if it goes on in the next one. */
  #passText(chunk: Uint8Array, from: number): number {
    let escaped = this.#escaped
    this.#quoted = false
    this.#escaped = false
    for (let i = from, since = from; i < chunk.length; i++) {
      const byte = chunk[i]
      if (escaped) escaped = false
      else if (byte === quote) return i + 1
      else if (byte === backslash) escaped = true
      else if (i - since >= shortText) {
        since = nextQuote(chunk, i)
        escaped = backslashesBefore(chunk, since) % 2 === 1
        i = since - 1
      }
    }
    this.#quoted = true
    this.#escaped = escaped
    return chunk.length
  }
}

/** After so many bytes of a text its end is searched for, which takes far less than looking at each byte. */
const shortText = 64

function nextQuote(chunk: Uint8Array, from: number): number {
  const found = chunk.indexOf(quote, from)
  return found < 0 ? chunk.length : found
}

function backslashesBefore(chunk: Uint8Array, end: number): number {
  let first = end
  while (chunk[first - 1] === backslash) first--
  return end - first
}

const quote = 0x22
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
