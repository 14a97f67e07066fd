import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pagesOf } from '../../scripts/markdown/tree.ts'

const root = join(import.meta.dirname, '../..')

test('docs/README.md leads to every page of docs; those of the API by their own index', () => {
  const pages = pagesOf(root)
    .filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
    .map((page) => page.slice('docs/'.length))
    .filter((page) => !page.startsWith('api/') || page === 'api/README.md')
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8')
  const unlinked = pages.filter((page) => !index.includes(`](${page})`))
  expect(pages.length).toBeGreaterThan(20)
  expect(unlinked).toEqual([])
})
