import { expect, test } from 'vitest'
import { JsonRpcTransport } from '../../src/client/config.ts'
import { readUrl } from '../../src/shared/text.ts'

test('reads absolute URLs, and nothing of what is none', () => {
  expect(readUrl('http://bücher.example/a')?.hostname).toBe('xn--bcher-kva.example')
  for (const text of ['', '/a', 'example.com', 'http://', 'http://[::1/'])
    expect(readUrl(text)).toBeUndefined()
})

test('a host with letters beyond ASCII is one however often it is named', () => {
  // As often as Node needs to compile what looks at it.
  for (let i = 0; i < 50_000; i++) new JsonRpcTransport('http://bücher.example/a')
})
