import { createWalk, type Walk, type WalkGraph, type WalkNode } from './walk.ts'

/** A graph whose nodes may hold further graphs. */
export interface NestedGraph<G> extends WalkGraph {
  readonly nodes: readonly (WalkNode & { readonly team?: G })[]
}

/** A run through one of the graphs. */
export interface GraphRun<G> {
  readonly graph: G
  /** The ids of the nodes that hold the graph, from outside in, with `/` between them; empty for the outermost. */
  readonly above: string
  readonly walk: Walk
}

/** As many runs as are told apart. */
const maxRuns = 1_024

/** Follows the runs through a graph and those in it, each by its path: the calls `step:member` that lead to it. */
export function createWalks<G extends NestedGraph<G>>(
  graph: G,
): (path: string) => GraphRun<G> | undefined {
  const runs = new Map<string, GraphRun<G>>()
  function runAt(path: string): GraphRun<G> | undefined {
    const known = runs.get(path)
    if (known || runs.size >= maxRuns) return known
    const run = path === '' ? { graph, above: '' } : nestedIn(runAt, path)
    if (!run) return undefined
    const fresh = { ...run, walk: createWalk(run.graph) }
    runs.set(path, fresh)
    return fresh
  }
  return runAt
}

/** The node at which a call of a step arrives: the step's own, or that of the member who stands in. */
export function nodeOfCall<N extends WalkNode>(
  nodes: readonly N[],
  step: string,
  member: string,
): N | undefined {
  const place = stepPlace(step)
  const isMember = (node: N): boolean => (node.member ?? node.id) === member
  return (
    nodes.find((node) => node.step === place && isMember(node)) ??
    nodes.find((node) => node.id === member) ??
    nodes.find(isMember)
  )
}

/** Where a step stands, without rounds and items: `4.1` for `4#2.1`, `2` for `2[3]`, `2~2` and `2@3`. */
export function stepPlace(step: string): string {
  return step.replaceAll(/[#~@]\d{1,9}|\[\d{1,9}\]/g, '')
}

/** The loops that a step is in, by their places, each with its round: `4` and 2 for `4#2.1`. */
export function roundsOf(
  step: string,
): readonly { readonly place: string; readonly round: number }[] {
  return [...step.matchAll(/#(\d{1,9})/g)].map(({ index, 1: round }) => ({
    place: stepPlace(step.slice(0, index)),
    round: Number(round),
  }))
}

function nestedIn<G extends NestedGraph<G>>(
  runAt: (path: string) => GraphRun<G> | undefined,
  path: string,
): Pick<GraphRun<G>, 'graph' | 'above'> | undefined {
  const end = path.lastIndexOf('/')
  const outer = runAt(path.slice(0, Math.max(end, 0)))
  const call = path.slice(end + 1)
  const colon = call.indexOf(':')
  const node = outer && nodeOfCall(outer.graph.nodes, call.slice(0, colon), call.slice(colon + 1))
  if (!outer || !node?.team) return undefined
  return { graph: node.team, above: outer.above === '' ? node.id : `${outer.above}/${node.id}` }
}
