import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anchorsOf, linksOf, placeOf } from '../../scripts/markdown/links.ts'
import { fencesOf, parsePage, valuesOf } from '../../scripts/markdown/page.ts'
import { followedPages, pagesOf } from '../../scripts/markdown/tree.ts'

const root = join(import.meta.dirname, '../..')
const pages = pagesOf(root)
const read = (page: string): string => readFileSync(join(root, page), 'utf8')
/** Thousands of links lead to the pages of the reference. */
const anchors = new Map<string, ReadonlySet<string>>()

/** What is wrong with a link, if anything. */
function faultOf(page: string, target: string): string | undefined {
  const place = placeOf(page, target)
  if (!place) return undefined
  const { file, anchor } = place
  if (file.startsWith('..')) return 'leads out of the repository'
  if (!existsSync(join(root, file))) return 'leads to nothing'
  if (anchor === undefined || !file.endsWith('.md')) return undefined
  const known = anchors.get(file) ?? anchorsOf(read(file))
  anchors.set(file, known)
  return known.has(anchor) ? undefined : `${file} has no such heading`
}

test('all pages are there', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/cli.md']))
  expect(pages.length).toBeGreaterThan(20)
})

describe.each(pages)('%s', (page) => {
  const text = read(page)

  test('closes every fence of code it opens', () => {
    const fences = text.split('\n').filter((line) => /^\s*```/.test(line))
    const inner = fences.filter((line, at) => at % 2 === 1 && line.trim() !== '```')
    expect(inner).toEqual([])
    expect(fences.length % 2).toBe(0)
  })

  test('links only to files, pictures and headings that are there', () => {
    const faults = linksOf(text).flatMap(({ line, target }) => {
      const fault = faultOf(page, target)
      return fault === undefined ? [] : [`${page}:${line} ${target}: ${fault}`]
    })
    expect(faults).toEqual([])
  })

  test('has marks only above code, or where they stand alone', () => {
    const loose = parsePage(text).filter(
      (item) => item.kind === 'mark' && !/^(in \w+|stop)$/.test(item.value),
    )
    expect(loose).toEqual([])
  })
})

describe.each(followedPages(root))('%s', (page) => {
  test('shows only code that is a region of a tested example, or says why not', () => {
    const bare = fencesOf(read(page)).filter(
      (fence) =>
        ['ts', 'js', 'mjs', 'typescript', 'javascript', 'toml'].includes(fence.language) &&
        valuesOf(fence, 'snippet').length === 0 &&
        !valuesOf(fence, 'no snippet').some((reason) => reason !== ''),
    )
    expect(bare.map(({ line }) => `${page}:${line}`)).toEqual([])
  })
})

test('examples are named by paths that are there', () => {
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/`(examples\/(?:(?!\.test\.)[\w./-])+)`/g)].map(([, path = '']) => [
      page,
      path,
    ]),
  )
  const dead = named.filter(
    ([, path = '']) => !statSync(join(root, path), { throwIfNoEntry: false }),
  )
  expect(dead).toEqual([])
})
