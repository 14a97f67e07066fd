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
    let depth = this.#depth
    let quoted = this.#quoted
    let escaped = this.#escaped
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]
      if (quoted) {
        if (escaped) escaped = false
        else if (byte === backslash) escaped = true
        else if (byte === quote) quoted = false
      } else if (byte === quote) quoted = true
      else if (byte === openBrace || byte === openBracket) {
        if (++depth > this.#max) return true
      } else if (byte === closeBrace || byte === closeBracket) depth--
    }
    this.#depth = depth
    this.#quoted = quoted
    this.#escaped = escaped
    return false
  }
}

const [quote, backslash] = [0x22, 0x5c]
const [openBracket, closeBracket] = [0x5b, 0x5d]
const [openBrace, closeBrace] = [0x7b, 0x7d]
