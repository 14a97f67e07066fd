import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { judge, type Ran } from '../../scripts/seeds/results.ts'
import { pageOf, readStatements, toRow } from '../../scripts/seeds/table.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const statements = readStatements(read('scripts/seeds/statements.md'))

/** How many statements each document has. */
const counts: readonly [document: string, count: number][] = [
  ['S000', 104],
  ['S001', 103],
  ['S002', 58],
  ['S003', 44],
  ['S004', 63],
]

test.each(counts)('%s has every number once, in the table and on its page', (document, count) => {
  const own = statements.filter(({ number }) => number.startsWith(document))
  expect(own.map(({ number }) => number)).toEqual(
    Array.from({ length: count }, (_, i) => `${document}-${i + 1}`),
  )
  const rows = read(pageOf(document))
    .split('\n')
    .filter((line) => line.startsWith(`| ${document}-`))
  expect(rows.toSorted()).toEqual(own.map(toRow).toSorted())
})

test('what shows a statement is there, by its path and its words', () => {
  for (const { number, differs, shown } of statements) {
    if (differs === undefined) expect(shown, `${number} is shown by nothing`).not.toEqual([])
    for (const { path, words = '' } of shown) {
      expect(existsSync(join(root, path)), `${number}: ${path}`).toBe(true)
      if (words !== '') expect(read(path), `${number}: ${path}`).toContain(words)
    }
  }
})

test('the index leads to the page of each document', () => {
  for (const [document] of counts)
    expect(read('docs/seeds.md')).toContain(pageOf(document).replace('docs/', ''))
})

describe('the result of a statement', () => {
  const [path, words] = ['test/a.test.ts', 'S000-1']
  const statement = { number: 'S000-1', words: 'one', differs: undefined, shown: [{ path, words }] }
  const ran = (state: Ran['state'], name = `${words}: a test`): Ran => ({ path, name, state })

  test.each<readonly [string, readonly Ran[], boolean]>([
    ['kept', [ran('passed'), ran('failed', 'another'), ran('skipped')], true],
    ['not kept', [ran('passed'), ran('failed')], true],
    ['not kept', [ran('passed', 'another')], true],
    ['not kept', [ran('skipped')], true],
    ['not kept', [ran('passed')], false],
  ])('is %s where %j ran, and its page says so: %s', (result, tests, isSaid) => {
    expect(judge(statement, tests, isSaid)).toMatchObject({ result })
  })

  test('is that it differs where its tests pass and its page says how', () => {
    const differs = 'in camelCase'
    const other = { ...statement, differs }
    expect(judge(other, [ran('passed')], true)).toMatchObject({ result: 'differs', why: differs })
    expect(judge(other, [ran('failed')], true)).toMatchObject({ result: 'not kept' })
    expect(judge(other, [ran('passed')], false)).toMatchObject({ result: 'not kept' })
  })

  test('is not kept where nothing shows it', () => {
    expect(judge({ ...statement, shown: [] }, [], true)).toMatchObject({ result: 'not kept' })
  })
})
