import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'STYLE.md',
  'REVIEW.md',
  ...docs.filter((file) => file.endsWith('.md')).map((file) => join('docs', file)),
]

describe.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8')

  test('closes every fence of code it opens', () => {
    const fences = text.split('\n').filter((line) => line.startsWith('```'))
    const inner = fences.filter((line, at) => at % 2 === 1 && line !== '```')
    expect(inner).toEqual([])
    expect(fences.length % 2).toBe(0)
  })

  test('links only to files that are there', () => {
    const links = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map(([, to]) => to)
    const dead = links.filter((to) => !existsSync(join(root, dirname(page), String(to))))
    expect(dead).toEqual([])
  })
})
