/**
 * The ratchet: numbers of the tree that may only fall, in `ratchet.json` beside this file.
 *
 * - `shape`: what `shape.ts` measures; above the recorded number is an error.
 * - `size`: what `sizes.ts` counts, to see what a change adds. It has no limit.
 * - `walks`: files, hops and returns of each walk of `npm run walks`; above by more than 2 % (`forwarded`: 6 %) is an error.
 * - `reasons`: one text for each number that was raised. Raising a number is an edit of this file by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measure } from './shape.ts'
import type { Sizes } from './sizes.ts'

/** What `ratchet.json` holds. */
export interface Ratchet {
  readonly shape: Readonly<Record<string, number>>
  readonly size: Sizes
  readonly walks: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly reasons: readonly string[]
}

/** What became of the recorded numbers, one line each. */
export interface Comparison {
  /** Errors, followed by what makes up the number. */
  readonly risen: readonly string[]
  readonly fallen: readonly string[]
  /** Numbers of which the record knows nothing. */
  readonly unknown: readonly string[]
}

const empty: Ratchet = {
  shape: {},
  size: { folders: {} },
  walks: {},
  reasons: [],
}

/** Reads the record of a project; it is empty where there is no file yet. */
export function readRatchet(root: string): Ratchet {
  try {
    return { ...empty, ...JSON.parse(readFileSync(fileIn(root), 'utf8')) }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return empty
    throw error
  }
}

/** Writes the record as the formatter would. */
export function writeRatchet(root: string, ratchet: Ratchet): void {
  const { reasons, ...numbers } = ratchet
  const short = `  "reasons": [${reasons.map((one) => JSON.stringify(one)).join(', ')}]`
  const long = `  "reasons": ${JSON.stringify(reasons, null, 2).replaceAll('\n', '\n  ')}`
  const text = JSON.stringify(numbers, null, 2).slice(0, -2)
  writeFileSync(fileIn(root), `${text},\n${short.length <= 100 ? short : long}\n}\n`)
}

function fileIn(root: string): string {
  return join(root, 'scripts/check/ratchet.json')
}

/** Compares measures with the record. A number up to its goal never rises. */
export function compareShape(
  recorded: Ratchet['shape'],
  measures: Readonly<Record<string, Measure>>,
): Comparison {
  const risen: string[] = []
  const fallen: string[] = []
  const unknown: string[] = []
  for (const [name, { value, items, goal = 0 }] of Object.entries(measures)) {
    const before = recorded[name]
    if (before === undefined) unknown.push(`${name} is ${value} and not recorded`)
    else if (value > Math.max(before, goal))
      risen.push(`${name} rose from ${before} to ${value}:`, ...shown(items))
    else if (value < before) fallen.push(`${name} fell from ${before} to ${value}`)
  }
  return { risen, fallen, unknown }
}

/** More items than these are counted by folder: the new one is found by the folder whose count rose. */
const maxShown = 60

function shown(items: readonly string[]): readonly string[] {
  if (items.length <= maxShown) return items.map((item) => `  ${item}`)
  const folders = new Map<string, number>()
  for (const item of items) {
    const folder = item.startsWith('../') ? 'page' : (item.split('/')[0] ?? item)
    folders.set(folder, (folders.get(folder) ?? 0) + 1)
  }
  return [...folders].map(([folder, count]) => `  ${folder} ${count}`)
}

/** Which of a walk's numbers are held; calls are recorded to be read. */
const held = ['files', 'hops', 'returns']

/** How much more a number may be before it counts as risen: calls differ a little with the order of events. */
const tolerance = 0.02

/** Walks that differ by more: two replicas wake each other through a database, and what coincides is handled at once. */
const noise: Readonly<Record<string, number>> = { forwarded: 0.06 }

/** Compares walks with the record. */
export function compareWalks(recorded: Ratchet['walks'], measured: Ratchet['walks']): Comparison {
  const risen: string[] = []
  const fallen: string[] = []
  const unknown: string[] = []
  for (const [walk, numbers] of Object.entries(measured))
    for (const name of held) {
      const now = numbers[name] ?? 0
      const before = recorded[walk]?.[name]
      if (before === undefined) unknown.push(`${walk}: ${name} is ${now} and not recorded`)
      else if (now > before * (1 + Math.max(tolerance, noise[walk] ?? 0)))
        risen.push(`${walk}: ${name} rose from ${before} to ${now}`)
      else if (now < before * (1 - (noise[walk] ?? 0)))
        fallen.push(`${walk}: ${name} fell from ${before} to ${now}`)
    }
  return { risen, fallen, unknown }
}

/** The record with new numbers. The caller has made sure that none of them rose. */
export function recordShape(
  ratchet: Ratchet,
  measures: Readonly<Record<string, Measure>>,
  size: Sizes,
): Ratchet {
  const values = Object.entries(measures).map(([name, { value }]) => [name, value])
  return { ...ratchet, shape: Object.fromEntries(values), size }
}

/** The record with the lower one of each number; walks that were not measured stay. */
export function recordWalks(ratchet: Ratchet, measured: Ratchet['walks']): Ratchet {
  const walks = { ...ratchet.walks }
  for (const [walk, numbers] of Object.entries(measured))
    walks[walk] = Object.fromEntries(
      Object.entries(numbers).map(([name, now]) => [
        name,
        Math.min(now, walks[walk]?.[name] ?? now),
      ]),
    )
  return { ...ratchet, walks }
}

/** Files and lines beside the record, a row per folder. */
export function sizeTable(recorded: Sizes, now: Sizes): string {
  const folders = [...new Set([...Object.keys(now.folders), ...Object.keys(recorded.folders)])]
  const rows = folders.map((name) => {
    const { files, lines } = now.folders[name] ?? { files: 0, lines: 0 }
    const before = recorded.folders[name] ?? { files: 0, lines: 0 }
    return {
      name,
      files,
      lines,
      addedFiles: files - before.files,
      addedLines: lines - before.lines,
    }
  })
  const sum = (pick: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + pick(row), 0)
  rows.push({
    name: 'all',
    files: sum((row) => row.files),
    lines: sum((row) => row.lines),
    addedFiles: sum((row) => row.addedFiles),
    addedLines: sum((row) => row.addedLines),
  })
  const cell = (value: number, added: number, width: number): string =>
    `${String(value).padStart(width)} ${added === 0 ? ''.padEnd(7) : signed(added).padEnd(7)}`
  return [
    `${'size'.padEnd(12)}${'files'.padStart(6)}         ${'lines'.padStart(6)}`,
    ...rows.map((row) =>
      `${row.name.padEnd(12)}${cell(row.files, row.addedFiles, 6)} ${cell(row.lines, row.addedLines, 6)}`.trimEnd(),
    ),
  ].join('\n')
}

function signed(value: number): string {
  return value > 0 ? `+${value}` : String(value)
}
