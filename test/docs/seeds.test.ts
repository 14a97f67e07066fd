import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** How many numbers each seed has. */
const seeds: readonly [name: string, count: number][] = [
  ['s000', 104],
  ['s001', 103],
  ['s002', 58],
  ['s003', 44],
  ['s004', 63],
]

/** A row of a seed's table. */
interface Row {
  readonly number: string
  readonly requirement: string
  readonly differs: string
  readonly where: string
  readonly test: string
}

/** The rows of a seed's own table, without those of what its origin has beyond it. */
function rowsOf(name: string): readonly Row[] {
  const text = readFileSync(join(root, 'docs/seeds', `${name}.md`), 'utf8')
  expect(text).toContain('| number | requirement | differs | where | test |')
  return text
    .split('\n')
    .filter((line) => line.startsWith(`| ${name.toUpperCase()}-`))
    .map((line) => {
      const [, number = '', requirement = '', differs = '', where = '', shown = '', ...rest] = line
        .split('|')
        .map((cell) => cell.trim())
      expect(rest, `${number} has another number of cells`).toEqual([''])
      return { number, requirement, differs, where, test: shown }
    })
}

/** The numbers that a cell stands for: `S000-7`, `S000-31 … 33`, `S000-98, 100`. */
function numbersIn(cell: string): readonly number[] {
  const [first = 0, last] = (cell.match(/\d+(?![\d-])/g) ?? []).map(Number)
  if (last === undefined) return [first]
  if (cell.includes(',')) return [first, last]
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}

/** The paths that a cell names: code spans with an extension or a trailing slash. */
function pathsIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, path]) => path ?? '')
}

describe.each(seeds)('%s', (name, count) => {
  const rows = rowsOf(name)

  test('has every number once', () => {
    const numbers = rows.flatMap(({ number }) => numbersIn(number))
    expect(numbers.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: count }, (_, i) => i + 1),
    )
  })

  test('says of each where it lives, what shows it, and whether it differs', () => {
    for (const row of rows)
      for (const cell of Object.values(row)) expect(cell, `${row.number}`).not.toBe('')
  })

  test('names tests and code that are there', () => {
    for (const { number, where, test: shown } of rows) {
      for (const path of pathsIn(shown).filter((one) => one.includes('/')))
        expect(existsSync(join(root, 'test', path)), `${number}: ${path}`).toBe(true)
      for (const path of pathsIn(where).filter((one) => one.includes('/')))
        expect(existsSync(join(root, 'src', path)), `${number}: ${path}`).toBe(true)
    }
  })
})

describe.each(seeds.slice(2))('%s', (name) => {
  test('names a test for each', () => {
    for (const { number, test: shown } of rowsOf(name))
      expect(pathsIn(shown).length, `${number} names no test`).toBeGreaterThan(0)
  })
})

test('the index leads to a table for each of the five', () => {
  const index = readFileSync(join(root, 'docs/seeds.md'), 'utf8')
  for (const [seed] of seeds) expect(index).toContain(`seeds/${seed}.md`)
})
