import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeFrames, encodeFrame, type SseFrame } from '../../src/bindings/sse.ts'

/** The largest event that is read, in characters. */
const maxEventLength = 4 * 1024 * 1024

async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(text: string, size = 7): Promise<SseFrame[]> {
  const frames: SseFrame[] = []
  for await (const batch of decodeFrames(chunksOf(text, size))) frames.push(...batch)
  return frames
}

describe('server-sent events', () => {
  test('come back as they were written, however the bytes are cut', async () => {
    const frame = fc.record(
      { data: fc.json(), event: fc.constantFrom('error', 'task'), id: fc.nat().map(String) },
      { requiredKeys: ['data'] },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(frame), fc.integer({ min: 1, max: 9 }), async (frames, size) => {
        expect(await read(frames.map(encodeFrame).join(''), size)).toEqual(frames)
      }),
    )
  })

  test.each(['\n', '\r', '\r\n'])('end their lines with %j', async (end) => {
    const text = ['id: 1', 'data: {"a":1}', '', ': a comment', 'data: x', 'data: y', '', ''].join(
      end,
    )
    const expected = [{ id: '1', data: '{"a":1}' }, { data: 'x\ny' }]
    for (let size = 1; size < 9; size++) expect(await read(text, size)).toEqual(expected)
  })

  test('may end each line in another way, however the bytes are cut', async () => {
    const ends = fc.array(fc.constantFrom('\n', '\r', '\r\n'), { minLength: 6, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(ends, fc.integer({ min: 1, max: 9 }), async (given, size) => {
        // An LF after a CR would be one end of a line with it.
        const [a, b, c, d, e, f] = given.map((end, i) =>
          end === '\n' && given[i - 1] === '\r' ? '\r\n' : end,
        )
        const text = `data: 1${a}${b}data: 2${c}data: 3${d}${e}${f}`
        expect(await read(text, size)).toEqual([{ data: '1' }, { data: '2\n3' }])
      }),
    )
  })

  test('keep characters whole that were cut between two chunks', async () => {
    expect(await read('data: "日本 🐎"\n\n', 1)).toEqual([{ data: '"日本 🐎"' }])
  })

  test('beyond the cap are refused', async () => {
    const huge = `data: ${'x'.repeat(maxEventLength + 10)}\n\n`
    const endless = `data: ${'x'.repeat(2 * maxEventLength)}`
    for (const text of [huge, endless]) {
      const outcome = await read(text, 65_536).then(
        () => 'read',
        (error) => error.code,
      )
      expect(outcome).toBe('invalidAgentResponse')
    }
  })
})
