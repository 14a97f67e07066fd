import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cell } from './cell.ts'
import type { Weight } from './place.ts'

const root = join(import.meta.dirname, '../..')

/** What an installation weighs. */
export const installCell: Cell = {
  name: 'install',
  question: 'What a server needs, installed',
  how: 'npm install into an empty project: Corral; the SDK and Express',
  run: ({ weights }) => ({ corral: weightOf(weights.corral), peer: weightOf(weights.peer) }),
}

/** The same agent, written for both. */
export const codeCell: Cell = {
  name: 'code',
  question: 'Lines for a streaming agent with its server',
  how: 'examples/guides/migrate: poet.mjs; sdk-poet.mjs and sdk-executor.mjs, without blank lines and comments',
  run: () => ({
    corral: String(linesOf('poet.mjs')),
    peer: String(linesOf('sdk-poet.mjs') + linesOf('sdk-executor.mjs')),
  }),
}

/** What the benchmark of the last full run said. */
export function benchCells(): readonly Cell[] {
  const { cases } = JSON.parse(readFileSync(join(root, 'bench/results.json'), 'utf8'))
  const rows: readonly BenchRow[] = cases
  return rows
    .filter(({ peerRatio }) => peerRatio !== undefined)
    .map(({ name, title, unit, ratio, peerRatio }) => ({
      name: `bench-${name}`,
      question: `${title}: ${unit}`,
      how: `npm run bench -- --case ${name}`,
      run: () => ({ corral: String(ratio), peer: String(peerRatio) }),
    }))
}

interface BenchRow {
  readonly name: string
  readonly title: string
  readonly unit: string
  readonly ratio: number
  readonly peerRatio?: number
}

function weightOf({ packages, bytes, ownBytes }: Weight): string {
  const megabytes = (size: number): string => `${(size / 1e6).toFixed(1)} MB`
  return `${packages} packages, ${megabytes(bytes)}; its own part ${megabytes(ownBytes)}`
}

function linesOf(file: string): number {
  const text = readFileSync(join(root, 'examples/guides/migrate', file), 'utf8')
  return text.split('\n').filter((line) => !/^\s*(\/\/.*|\/\*\*.*\*\/)?$/.test(line)).length
}
