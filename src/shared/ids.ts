const idBytes = 16

const digits = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))

/** Where the two digits of each byte stand. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/**
 * A random UUID (version 4), as one flat string.
 *
 * `crypto.randomUUID` joins twenty pieces, and V8 keeps such a string as a tree of them until somebody looks inside: an
 * id that only stands in a task was twenty objects to the collector, and more bytes than the message beside it. Random bytes
 * are drawn in advance, as `crypto.randomUUID` does it.
 */
export const newId: () => string =
  typeof Buffer === 'function' ? createFlatIds() : () => crypto.randomUUID()

/**
 * A UUID that begins with a moment, in milliseconds (version 7), as one flat string. Rows that are found by such ids come to stand
 * side by side in an index as they are written, instead of one on each page.
 */
export const newTimedId: (now: number) => string =
  typeof Buffer === 'function' ? createFlatIds() : () => crypto.randomUUID()

function createFlatIds(): (now?: number) => string {
  const random = new Uint8Array(256 * idBytes)
  const text = Buffer.from('00000000-0000-4000-8000-000000000000')
  let used = random.length

  return (now) => {
    if (used === random.length) {
      crypto.getRandomValues(random)
      used = 0
    }
    // The upper 32 bits and the lower 16: a shift has 32 at most.
    const upper = Math.floor((now ?? 0) / 0x10000)
    for (let i = 0; i < idBytes; i++) {
      let byte = random[used + i] ?? 0
      if (now !== undefined && i < 6)
        byte = (i < 4 ? upper >>> (24 - 8 * i) : now >>> (40 - 8 * i)) & 255
      const place = places[i] ?? 0
      text[place] = digits[byte >> 4] ?? 0
      text[place + 1] = digits[byte & 15] ?? 0
    }
    // RFC 9562: the version is a digit of its own, the variant the upper bits of another.
    text[14] = digits[now === undefined ? 4 : 7] ?? 0
    text[19] = digits[8 | ((random[used + 8] ?? 0) & 3)] ?? 0
    used += idBytes
    return text.toString('latin1')
  }
}

/** Compares digests, so that the time it takes says nothing of where two secrets differ. */
export async function isSameSecret(a: string, b: string): Promise<boolean> {
  const [x, y] = await Promise.all([sha256(a), sha256(b)])
  let difference = 0
  for (const [index, byte] of x.entries()) difference |= byte ^ (y[index] ?? 0)
  return difference === 0
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

/** A short name of a JSON value, the same in every process. */
export async function digestOf(value: unknown): Promise<string> {
  const hash = await sha256(JSON.stringify(value))
  return Array.from(hash.subarray(0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
