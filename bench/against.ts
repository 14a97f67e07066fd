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
}

/** More than this is worse. */
const allowed = 0.05

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
 * in turn, slice by slice; what is no load each tree measures by itself, one after the other.
 */
export async function compareWith(
  root: string,
  { name, unit }: Case,
  bench: Bench,
): Promise<Change | undefined> {
  if (!readFileSync(join(root, 'bench/cases.ts'), 'utf8').includes(`'${name}'`)) return undefined
  const rounds = bench.quick ? 2 : 5
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) {
    const pair = isWorkload(name)
      ? await loadBoth(root, name, { bench, swapped: round % 2 === 1 })
      : askBoth(root, name)
    pairs.push(pair)
  }
  const changes = pairs.map(({ before, after }) => after / before - 1)
  return {
    name,
    unit: isWorkload(name) ? 'µs CPU per request' : unit,
    before: median(pairs.map(({ before }) => before)),
    after: median(pairs.map(({ after }) => after)),
    change: median(changes),
    least: Math.min(...changes),
    most: Math.max(...changes),
  }
}

interface Pair {
  readonly before: number
  readonly after: number
}

async function loadBoth(
  root: string,
  workload: WorkloadName,
  { bench, swapped }: { readonly bench: Bench; readonly swapped: boolean },
): Promise<Pair> {
  const sides: readonly Target[] = [root, here].map((tree) => ({
    subject: 'corral',
    workload,
    root: tree,
  }))
  // Whoever comes first in each turn finds the caches as the other has left them.
  const targets = swapped ? sides.toReversed() : sides
  const effort = { ...effortFor(workload, bench), slices: 30 }
  const measured = await measureInTurn(bench.load, targets, effort)
  const [before, after] = swapped ? measured.toReversed() : measured
  return { before: before?.cpuMicros ?? Number.NaN, after: after?.cpuMicros ?? Number.NaN }
}

function askBoth(root: string, name: string): Pair {
  const [before, after] = [root, here].map((folder) => figureIn(folder, name))
  return { before: before ?? Number.NaN, after: after ?? Number.NaN }
}

function figureIn(folder: string, name: string): number {
  const args = ['--import', 'tsx', 'bench/main.ts', '--json', '--quick', '--case', name]
  const { cases } = JSON.parse(run(process.execPath, args, folder))
  return cases[0].ratio
}

/** A change as a line of text. */
export function toChangeLine({ name, unit, before, after, change, least, most }: Change): string {
  const mark = change <= allowed ? '✓' : '✗'
  const figures = `${before.toPrecision(3)} → ${after.toPrecision(3)}`
  return `${mark} ${name.padEnd(20)} ${figures.padEnd(18)} ${percent(change)}  (${percent(least)} … ${percent(most)})  ${unit}`
}

function percent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(1)} %`
}
