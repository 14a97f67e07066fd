import { functionsOf } from './functions.ts'
import type { Source, Tree } from './tree.ts'

const maxFileLines = 400
const maxFunctionLines = 80
const aims = { medianFrom: 60, medianTo: 140, p90: 250 }

/** How long files and functions are. */
export interface Sizes {
  readonly files: number
  readonly median: number
  readonly p90: number
  /** The longest function and where it stands. */
  readonly longest: string
}

/** Counts files and functions. */
export function sizesOf(tree: Tree): Sizes {
  const lines = [...tree.values()].map(linesOf).sort((a, b) => a - b)
  const functions = [...tree.values()].flatMap((source) =>
    functionsOf(source).map((one) => ({ ...one, path: source.path })),
  )
  const longest = functions.sort((a, b) => b.lines - a.lines)[0]
  return {
    files: lines.length,
    median: lines[Math.floor(lines.length / 2)] ?? 0,
    p90: lines[Math.floor(lines.length * 0.9)] ?? 0,
    longest: longest ? `${longest.name} in ${longest.path}, ${longest.lines} lines` : 'none',
  }
}

/** Files and functions too long to read at one sitting. */
export function checkLengths(tree: Tree): string[] {
  return [...tree.values()].flatMap((source) => [
    ...(linesOf(source) > maxFileLines
      ? [`${source.path}: ${linesOf(source)} lines, at most ${maxFileLines}`]
      : []),
    ...functionsOf(source)
      .filter((one) => one.lines > maxFunctionLines)
      .map(
        (one) =>
          `${source.path}:${one.line}: ${one.name} has ${one.lines} lines, at most ${maxFunctionLines} outside tables`,
      ),
  ])
}

/** Whether files are neither crumbs nor tomes on the whole. */
export function checkSpread(tree: Tree): string[] {
  const { median, p90 } = sizesOf(tree)
  return [
    ...(median < aims.medianFrom || median > aims.medianTo
      ? [`the median file has ${median} lines, not ${aims.medianFrom} to ${aims.medianTo}`]
      : []),
    ...(p90 > aims.p90
      ? [`a tenth of the files has more than ${p90} lines, at most ${aims.p90}`]
      : []),
  ]
}

function linesOf({ text }: Source): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
