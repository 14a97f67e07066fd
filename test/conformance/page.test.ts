import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findTests, renderPage } from '../../scripts/conformance.ts'
import { grpcOnly, statements } from './statements.ts'

const tests = findTests()

describe('docs/conformance.md', () => {
  test('is as the tests are', async () => {
    const page = join(import.meta.dirname, '..', '..', 'docs', 'conformance.md')
    expect(await readFile(page, 'utf8'), 'run: npm run conformance').toBe(renderPage(tests))
  })

  test('has a test for every statement but those about gRPC alone', () => {
    const missing = statements.filter(({ id }) => !tests.has(id)).map(({ id }) => id)
    expect(missing).toEqual([...grpcOnly])
  })

  test('knows every id that a test names', () => {
    const known = new Set(statements.map(({ id }) => id))
    expect([...tests.keys()].filter((id) => !known.has(id))).toEqual([])
  })
})
