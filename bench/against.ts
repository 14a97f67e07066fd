import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bench, type Case, median } from './case.ts'
import { effortFor } from './compare.ts'
import { measureInTurn, type Target } from './measure.ts'
import { here } from './processes.ts'
import { isWorkload } from './profile.ts'
import type { WorkloadName } from './workloads.ts'

/** How a case stands in this tree beside another one. */
export interface Change {
  readonly name: string
  readonly unit: string
  readonly before: number
  readonly after: number
  /** How much more it is now, as a share: the middle of all rounds, the least and the most. */
  readonly change: number
  readonly least: number
  readonly most: number
  /** Answers that were not right, of either tree. */
  readonly failed: number
  /** Whether it is no worse than is allowed; undefined for figures that scatter too much, or stand too near to 0, to say. */
  readonly met: boolean | undefined
}

/** More than this is worse. */
const allowed = 0.03

/** Makes a tree of another revision in an empty folder, installed and built. */
export function checkOut(revision: string, folder: string): void {
  const commit = run('git', ['rev-parse', '--verify', `${revision}^{commit}`], here).trim()
  run('git', ['clone', '--quiet', '--shared', here, folder], here)
  run('git', ['checkout', '--quiet', commit], folder)
  run('npm', ['ci', '--silent', '--no-audit', '--no-fund'], folder)
  run('npm', ['run', '--silent', 'build'], folder)
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
  return stdout
}

/**
 * Compares a case with the same one of another tree; undefined where that has none of this name. A load is put on both
 * in turn, slice by slice, and the probes of both take turns too; any other case each tree measures by itself, as quickly
 * as it can, one after the other.
 */
export async function compareWith(
  root: string,
  one: Case,
  bench: Bench,
): Promise<Change | undefined> {
  const { name, unit } = one
  // A tree may know a load by this name and have no case of it: that it is named among the cases is all that is asked.
  if (!readFileSync(join(root, 'bench/cases.ts'), 'utf8').includes(`'${name}'`)) return undefined
  const rounds = bench.quick ? 2 : 5
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) {
    // Whoever comes first in each turn finds the caches as the other has left them.
    const swapped = round % 2 === 1
    const trees = swapped ? [here, root] : [root, here]
    const sides = await measureSides(trees, one, bench)
    pairs.push(toPair(swapped ? sides.toReversed() : sides))
  }
  const changes = pairs.map(({ before, after }) => after.figure / before.figure - 1)
  const change = median(changes)
  const isInTurn = isWorkload(name) || one.compare !== undefined
  const failed = pairs.reduce((sum, { before, after }) => sum + before.failed + after.failed, 0)
  return {
    name,
    unit: isWorkload(name) ? 'µs CPU per request' : unit,
    before: median(pairs.map(({ before }) => before.figure)),
    after: median(pairs.map(({ after }) => after.figure)),
    change,
    least: Math.min(...changes),
    most: Math.max(...changes),
    failed,
    met: isInTurn || failed > 0 ? failed === 0 && change <= allowed : undefined,
  }
}

/** What one round showed of one tree. */
interface Side {
  readonly figure: number
  readonly failed: number
}

interface Pair {
  readonly before: Side
  readonly after: Side
}

function toPair([before, after]: readonly Side[]): Pair {
  if (!before || !after) throw new Error('Nothing was measured')
  return { before, after }
}

async function measureSides(
  trees: readonly string[],
  one: Case,
  bench: Bench,
): Promise<readonly Side[]> {
  if (isWorkload(one.name)) return load(trees, one.name, bench)
  const figures = await one.compare?.(bench, trees)
  return figures?.map((figure) => ({ figure, failed: 0 })) ?? trees.map(figureIn(one.name))
}

async function load(
  trees: readonly string[],
  workload: WorkloadName,
  bench: Bench,
): Promise<readonly Side[]> {
  const targets = trees.map((root): Target => ({ subject: 'corral', workload, root }))
  const effort = { ...effortFor(workload, bench), slices: 30 }
  const measured = await measureInTurn(bench.load, targets, effort)
  return measured.map(({ cpuMicros, failed }) => ({ figure: cpuMicros, failed }))
}

function figureIn(name: string): (tree: string) => Side {
  const args = ['--import', 'tsx', 'bench/main.ts', '--json', '--quick', '--case', name]
  return (tree) => {
    // What `--json` writes; a figure that could not be had is null there.
    const { cases } = JSON.parse(run(process.execPath, args, tree)) as {
      readonly cases: readonly { readonly ratio: number | null; readonly failed?: number }[]
    }
    const { ratio = null, failed = 0 } = cases[0] ?? {}
    if (ratio === null) throw new Error(`The case ${name} cannot run`)
    return { figure: ratio, failed }
  }
}

/** A change as a line of text. */
export function toChangeLine(change: Change): string {
  const { name, unit, before, after, least, most, failed, met } = change
  const mark = met === undefined ? '·' : met ? '✓' : '✗'
  const figures = `${before.toPrecision(3)} → ${after.toPrecision(3)}`
  const range = `(${percent(least)} … ${percent(most)})`
  const wrong = failed > 0 ? `, ${failed} WRONG ANSWERS` : ''
  return `${mark} ${name.padEnd(20)} ${figures.padEnd(18)} ${percent(change.change)}  ${range}  ${unit}${wrong}`
}

function percent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(1)} %`
}
