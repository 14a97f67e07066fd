import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pagesOf } from '../../scripts/markdown/tree.ts'
import { digestOf, isDocumented, readSurface } from '../../scripts/reference/surface.ts'

const root = join(import.meta.dirname, '../..')
const names = readSurface(root, JSON.parse(read('package.json')))
const spelled = ({ entrance, name }: (typeof names)[number]): string => `${name} of ${entrance}`

test('every public name has a sentence for its user', () => {
  expect(names.filter((one) => !isDocumented(one)).map(spelled)).toEqual([])
})

test('every public name stands in the reference, on the page of its entrance', () => {
  const entries = new Map<string, ReadonlySet<string>>()
  for (const { entrance } of names)
    if (!entries.has(entrance)) entries.set(entrance, entriesOf(entrance))
  const unmentioned = names.filter(({ entrance, name }) => !entries.get(entrance)?.has(name))
  expect(unmentioned.map(spelled)).toEqual([])
})

const pages = pagesOf(root).filter((page) => page === 'README.md' || page.startsWith('docs/'))
const all = [...new Set(names.map(({ name }) => name))]
const guides = mentionedIn(pages.filter((page) => !page.startsWith('docs/api/')))
const inGuides = all.filter((name) => guides.has(name)).length

test(`guides mention ${inGuides} of ${all.length} public names, the reference the others`, () => {
  const reference = mentionedIn(pages.filter((page) => page.startsWith('docs/api/')))
  expect(all.filter((name) => !guides.has(name) && !reference.has(name))).toEqual([])
})

test('the reference is of these declarations; if not, run npm run reference', () => {
  expect(read('docs/api/README.md')).toContain(`<!-- declarations: ${digestOf(names)} -->`)
})

/** The names that the page of an entrance has: by a heading, or in its table of names that lead elsewhere. */
function entriesOf(entrance: string): ReadonlySet<string> {
  const page = read(`docs/api/${entrance.replace('corral/', '').replaceAll('/', '-')}.md`)
  return new Set(
    [...page.matchAll(/^(?:### |\| `)(\w+)(?:$|` \| \[[^`])/gm)].map(([, name = '']) => name),
  )
}

/** The words of all pages: a name is mentioned where it stands by itself. */
function mentionedIn(files: readonly string[]): ReadonlySet<string> {
  return new Set(files.flatMap((file) => read(file).match(/\w+/g) ?? []))
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
