import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DepthMeter } from '../../src/server/body.ts'

/** Whether JSON nests deeper than so much, looked at byte by byte. */
function isDeeper(json: Buffer, max: number): boolean {
  let [depth, quoted, escaped] = [0, false, false]
  for (const byte of json) {
    const letter = String.fromCharCode(byte)
    if (escaped) escaped = false
    else if (quoted && letter === '\\') escaped = true
    else if (letter === '"') quoted = !quoted
    else if (!quoted && '[{'.includes(letter) && ++depth > max) return true
    else if (!quoted && ']}'.includes(letter)) depth--
  }
  return false
}

const pieces = fc.oneof(
  fc.constantFrom('"', '\\', '[', ']', '{', '}', '"a"', '\\"', '\\\\'),
  fc.nat(200).map((length) => 'x'.repeat(length)),
  fc.nat(200).map((length) => '\\'.repeat(length)),
)

test('texts of any length do not count, wherever the chunks are cut', () => {
  const json = fc.array(pieces, { maxLength: 30 }).map((all) => Buffer.from(all.join('')))
  const cuts = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(json, cuts, (bytes, lengths) => {
      const meter = new DepthMeter(3)
      let exceeds = false
      for (let from = 0, i = 0; from < bytes.length && !exceeds; i++) {
        const length = lengths[i % lengths.length] ?? 1
        exceeds = meter.exceeds(bytes.subarray(from, from + length))
        from += length
      }
      expect(exceeds).toBe(isDeeper(bytes, 3))
    }),
    { numRuns: 2_000 },
  )
})
