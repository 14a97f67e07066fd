import type { Tree } from './tree.ts'

/** Cycles of imports. One that closes through a type is harmless at run time, and still no reader finds its beginning. */
export function checkCycles(tree: Tree): string[] {
  const values = edgesOf(tree, false)
  const all = edgesOf(tree, true)
  const valueCycles = knotsOf(values).map((knot) => describeKnot('import cycle', knot, values))
  const known = new Set(knotsOf(values).flat())
  const typeCycles = knotsOf(all)
    .filter((knot) => !knot.every((file) => known.has(file)))
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

/** The shortest way round through the first file of a knot, and how many files the knot ties together. */
function describeKnot(kind: string, knot: readonly string[], edges: Edges): string {
  const start = knot[0] ?? ''
  const ways: string[][] = [[start]]
  for (const way of ways)
    for (const next of edges.get(way.at(-1) ?? '') ?? []) {
      if (next === start) return `${kind} of ${knot.length} files: ${[...way, start].join(' -> ')}`
      if (knot.includes(next) && !ways.some((other) => other.at(-1) === next))
        ways.push([...way, next])
    }
  return `${kind} of ${knot.length} files: ${knot.join(', ')}`
}
