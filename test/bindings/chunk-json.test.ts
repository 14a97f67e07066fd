import { expect, test } from 'vitest'
import { createChunkJson } from '../../src/bindings/sse.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { task } from './scripted.ts'

const ids = { taskId: 't-1', contextId: 'c-1' }

function chunk(text: string, more: object = {}): StreamResponse {
  return {
    artifactUpdate: {
      ...ids,
      artifact: { artifactId: 'a', parts: [{ text }] },
      append: true,
      ...more,
    },
  }
}

class Told {
  readonly text = 'one'
  toJSON(): object {
    return { text: 'another' }
  }
}

const texts = ['', 'hello', 'a "quote"\\', '\u0000\n\u2028', 'Grüße 世界 🐎', '\ud800 alone']

test.each([
  ...texts.map((text) => ['a chunk', chunk(text)] as const),
  ['a chunk of another task', chunk('x', { taskId: 't"2' })],
  ['a chunk of another context', chunk('x', { contextId: 'c\n2' })],
  [
    'a chunk of another artifact',
    chunk('x', { artifact: { artifactId: 'ä"', parts: [{ text: 'x' }] } }),
  ],
  ['the beginning of an artifact', chunk('x', { append: false })],
  ['the last chunk', chunk('x', { lastChunk: true })],
  ['a chunk with metadata', chunk('x', { metadata: { a: 1 } })],
  ['a chunk with a member that says nothing', chunk('x', { metadata: undefined })],
  [
    'an artifact with a name',
    chunk('x', { artifact: { artifactId: 'a', name: 'n', parts: [{ text: 'x' }] } }),
  ],
  [
    'a part with metadata',
    chunk('x', { artifact: { artifactId: 'a', parts: [{ text: 'x', metadata: {} }] } }),
  ],
  [
    'a part of unknown members',
    chunk('x', { artifact: { artifactId: 'a', parts: [{ text: 'x', more: 1 }] } }),
  ],
  ['a part of data', chunk('x', { artifact: { artifactId: 'a', parts: [{ data: [1] }] } })],
  [
    'a part that says itself what it is',
    chunk('x', { artifact: { artifactId: 'a', parts: [new Told()] } }),
  ],
  [
    'two parts',
    chunk('x', { artifact: { artifactId: 'a', parts: [{ text: 'x' }, { text: 'y' }] } }),
  ],
  ['no parts', chunk('x', { artifact: { artifactId: 'a', parts: [] } })],
  ['a task', { task }],
] as const)('%s is written as JSON.stringify writes it, also after another one', (_what, event) => {
  const write = createChunkJson()
  for (const one of [event, chunk('before'), event, event])
    expect(write(one)).toBe(JSON.stringify(one))
})
