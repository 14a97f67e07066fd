import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const docs = join(import.meta.dirname, '../../docs')

test('docs/README.md leads to every page of docs; those of the API by their own index', () => {
  const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .filter((file) => !file.startsWith('api/') || file === 'api/README.md')
  const index = readFileSync(join(docs, 'README.md'), 'utf8')
  const unlinked = pages.filter((file) => !index.includes(`](${file})`))
  expect(pages.length).toBeGreaterThan(20)
  expect(unlinked).toEqual([])
})
