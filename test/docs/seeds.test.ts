import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** How many numbers each seed has. */
const seeds: readonly [name: string, count: number][] = [
  ['s002', 58],
  ['s003', 44],
  ['s004', 63],
]

/** The rows of a table, cell by cell. */
function rowsOf(name: string): readonly (readonly string[])[] {
  const text = readFileSync(join(root, 'docs/seeds', `${name}.md`), 'utf8')
  return text
    .split('\n')
    .filter((line) => /^\| [A-Z]/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
}

/** The paths that a cell names: code spans with an extension or a trailing slash. */
function pathsIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([\w./*-]+(?:\.ts|\/))`/g)].map(([, path]) => path ?? '')
}

describe.each(seeds)('%s', (name, count) => {
  const rows = rowsOf(name)

  test('has a row for every number, once and in order', () => {
    const seed = name.toUpperCase()
    const numbers = rows.map((row) => row[1]).filter((number) => number?.startsWith(`${seed}-`))
    expect(numbers).toEqual(Array.from({ length: count }, (_, i) => `${seed}-${i + 1}`))
  })

  test('says where each lives, and names tests that are there', () => {
    for (const row of rows) {
      const [, number] = row
      expect(row.slice(1, -1), `${number} has an empty cell`).not.toContain('')
      const tests = pathsIn(row.at(-2) ?? '')
      expect(tests.length, `${number} names no test`).toBeGreaterThan(0)
      for (const path of tests) expect(existsSync(join(root, 'test', path)), path).toBe(true)
    }
  })

  test('names code that is there', () => {
    for (const row of rows.filter(({ length }) => length > 5))
      for (const path of pathsIn(row[3] ?? ''))
        expect(existsSync(join(root, 'src', path)), `${row[1]}: ${path}`).toBe(true)
  })
})

test('the index leads to a table for each of the five', () => {
  const index = readFileSync(join(root, 'docs/seeds.md'), 'utf8')
  for (const seed of ['s000', 's001', 's002', 's003', 's004']) {
    expect(index).toContain(`seeds/${seed}.md`)
    expect(existsSync(join(root, 'docs/seeds', `${seed}.md`))).toBe(true)
  }
})
