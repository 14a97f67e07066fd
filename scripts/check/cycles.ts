import { posix } from 'node:path'
import type { Tree } from './tree.ts'

/**
 * Import cycles. A cycle of values is an error everywhere. A cycle that closes through `import type` is harmless at run
 * time: it is allowed when all of its files are in the same directory, and an error between directories, subdirectories
 * included, because then neither directory can be read first.
 */
export function checkCycles(tree: Tree): string[] {
  const values = edgesOf(tree, false)
  const all = edgesOf(tree, true)
  const valueCycles = knotsOf(values).map((knot) => describeKnot('import cycle', knot, values))
  const known = new Set(knotsOf(values).flat())
  const typeCycles = knotsOf(all)
    .filter((knot) => !knot.every((file) => known.has(file)))
    .filter((knot) => new Set(knot.map((file) => posix.dirname(file))).size > 1)
    .map((knot) => describeKnot('type cycle', knot, all))
  return [...valueCycles, ...typeCycles]
}

type Edges = ReadonlyMap<string, readonly string[]>

function edgesOf(tree: Tree, types: boolean): Edges {
  return new Map(
    [...tree.values()].map(({ path, imports }) => [
      path,
      imports.flatMap(({ target, typeOnly }) =>
        target !== undefined && tree.has(target) && (types || !typeOnly) ? [target] : [],
      ),
    ]),
  )
}

/** The sets of files that all reach each other (Tarjan's strongly connected components), of two files or more. */
function knotsOf(edges: Edges): string[][] {
  const knots: string[][] = []
  const low = new Map<string, number>()
  const stack: string[] = []
  const visit = (file: string): number => {
    const index = low.size
    let lowest = index
    low.set(file, index)
    stack.push(file)
    for (const next of edges.get(file) ?? [])
      lowest = Math.min(lowest, low.has(next) ? (low.get(next) ?? 0) : visit(next))
    low.set(file, lowest)
    if (lowest === index) {
      const knot = stack.splice(stack.indexOf(file))
      for (const done of knot) low.set(done, Number.POSITIVE_INFINITY)
      if (knot.length > 1 || edges.get(file)?.includes(file)) knots.push(knot.sort())
    }
    return lowest
  }
  for (const file of edges.keys()) if (!low.has(file)) visit(file)
  return knots
}

/**
 * The shortest way round, and how many files the knot ties together. It begins at an import from one directory to another
 * where there is one: that is the import to remove.
 */
function describeKnot(kind: string, knot: readonly string[], edges: Edges): string {
  const within = (file: string): string[] =>
    (edges.get(file) ?? []).filter((next) => knot.includes(next))
  const crossing = knot
    .flatMap((file) => within(file).map((next) => [file, next]))
    .find(([from = '', to = '']) => posix.dirname(from) !== posix.dirname(to))
  const start = crossing?.[0] ?? knot[0] ?? ''
  const ways: string[][] = [crossing ?? [start]]
  for (const way of ways)
    for (const next of within(way.at(-1) ?? '')) {
      if (next === start) return `${kind} of ${knot.length} files: ${[...way, start].join(' -> ')}`
      if (!ways.some((other) => other.at(-1) === next)) ways.push([...way, next])
    }
  return `${kind} of ${knot.length} files: ${knot.join(', ')}`
}
