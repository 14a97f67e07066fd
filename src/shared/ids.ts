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
  typeof Buffer === 'function' ? createFlatIds(4) : () => crypto.randomUUID()

/**
 * A UUID that begins with a moment, in milliseconds (version 7), as one flat string; without a Buffer a random one. Each sorts
 * after the one before it, so rows that are written together are neighbours in an index instead of one on each page.
 */
export const newTimedId: (now: number) => string =
  typeof Buffer === 'function' ? createFlatIds(7) : () => crypto.randomUUID()

function createFlatIds(version: 4 | 7): (now?: number) => string {
  const random = new Uint8Array(256 * idBytes)
  const text = Buffer.from('00000000-0000-4000-8000-000000000000')
  const stamp = version === 7 ? createStamp() : undefined
  let used = random.length

  return (now) => {
    if (used === random.length) {
      crypto.getRandomValues(random)
      used = 0
    }
    stamp?.(random, used, now ?? 0)
    for (let i = 0; i < idBytes; i++) {
      const byte = random[used + i] ?? 0
      const place = places[i] ?? 0
      text[place] = digits[byte >> 4] ?? 0
      text[place + 1] = digits[byte & 15] ?? 0
    }
    // RFC 9562: the version is a digit of its own, the variant the upper bits of another.
    text[14] = digits[version] ?? 0
    text[19] = digits[8 | ((random[used + 8] ?? 0) & 3)] ?? 0
    used += idBytes
    return text.toString('latin1')
  }
}

/** The largest number within one millisecond. */
const maxSequence = 0xfff

/** Writes the moment and a number that rises within it over the first eight bytes of an id (RFC 9562 §6.2, method 1). */
function createStamp(): (bytes: Uint8Array, at: number, now: number) => void {
  let last = 0
  let sequence = 0
  return (bytes, at, now) => {
    if (now > last) {
      last = now
      // Begin in the lower quarter, which leaves room to rise.
      sequence = ((bytes[at + 6] ?? 0) << 2) & (maxSequence >> 2)
    } else if (++sequence > maxSequence) {
      last += 1
      sequence = 0
    }
    // A shift has 32 bits at most.
    const upper = Math.floor(last / 0x10000)
    for (let i = 0; i < 4; i++) bytes[at + i] = upper >>> (24 - 8 * i)
    bytes[at + 4] = last >>> 8
    bytes[at + 5] = last
    bytes[at + 6] = sequence >> 8
    bytes[at + 7] = sequence
  }
}

/** Compares digests, so that the time it takes does not reveal where two secrets differ. */
export async function isSameSecret(a: string, b: string): Promise<boolean> {
  const [x, y] = await Promise.all([sha256(a), sha256(b)])
  let difference = 0
  for (const [index, byte] of x.entries()) difference |= byte ^ (y[index] ?? 0)
  return difference === 0
}

/**
 * Uses Node's own hash where there is one, which is synchronous: `crypto.subtle` hashes in another thread, which costs many
 * times as much for a short text.
 */
async function sha256(text: string): Promise<Uint8Array> {
  const node = globalThis.process?.getBuiltinModule?.('node:crypto')
  if (node) return node.createHash('sha256').update(text).digest()
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

/** A short name of a JSON value, the same in every process. */
export async function digestOf(value: unknown): Promise<string> {
  const hash = await sha256(JSON.stringify(value))
  return Array.from(hash.subarray(0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
