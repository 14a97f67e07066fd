import type { EdgeFacts, GraphEdge, TeamGraph } from '../../src/console/api.ts'
import type { GuardFinding, MemberHop } from './hops.ts'
import { durationOf } from './lanes.ts'
import { toPlace } from './layout.ts'

/** What a node or an edge of a graph has to show, from the log. */
export interface Light {
  readonly count: number
  readonly failures: number
  /** Tries that failed before one that did not. */
  readonly retries?: number
  readonly running: number
  readonly p50Ms?: number
  readonly costUsd?: number
  /** Whether it waits for the user. */
  readonly waits?: boolean
  /** Whether the step was left out, and not done before or after. */
  readonly skipped?: boolean
  /** What the user said last to an approval. */
  readonly verdict?: string
  /** The cases by which a branch was left. */
  readonly taken?: readonly number[]
  /** The round of a loop, or of feedback. */
  readonly round?: number
  /** How many items of a map are done, and how many there are. */
  readonly items?: { readonly done: number; readonly all: number }
  /** The gravest that guards found on either side. */
  readonly guards?: { readonly [Side in GuardFinding['side']]?: GuardFinding['verdict'] }
}

/** Lights by place: a node's by `toPlace`, an edge's by `edgeKey`. */
export type Lights = ReadonlyMap<string, Light>

/** That nothing has happened yet. */
export const dark: Light = { count: 0, failures: 0, running: 0 }

/** The key of an edge among the lights. */
export function edgeKey(above: string, { from, to }: Pick<GraphEdge, 'from' | 'to'>): string {
  return `${above}|${from}>${to}`
}

/** Lights up a graph by what went over the edges of many tasks. */
export function lightsOfEdges(team: TeamGraph, facts: readonly EdgeFacts[], above = ''): Lights {
  const lights = new Map<string, Light>()
  for (const fact of facts.filter((one) => one.team === team.id)) {
    const { count, failures, running, p50Ms } = fact
    const light = { count, failures, running, ...(p50Ms !== undefined && { p50Ms }) }
    for (const edge of edgesOf(team, fact)) lights.set(edgeKey(above, edge), light)
    const place = toPlace(above, fact.to)
    lights.set(place, sum(lights.get(place), light))
  }
  for (const { id, team: nested } of team.nodes)
    if (nested)
      for (const [key, light] of lightsOfEdges(nested, facts, toPlace(above, id)))
        lights.set(key, light)
  return lights
}

/** The edges that a fact is about: of a call whose sender the log does not tell, all that lead there. */
export function edgesOf(
  { entry, edges }: TeamGraph,
  { from, to }: Pick<EdgeFacts, 'from' | 'to'>,
): readonly Pick<GraphEdge, 'from' | 'to'>[] {
  if (from !== '' || entry.includes(to)) return [{ from, to }]
  return edges.filter((edge) => edge.to === to)
}

/** The light of one call. */
export function hopLight(hop: MemberHop): Light {
  const { costUsd } = hop
  return {
    count: 1,
    failures: hop.standing === 'failed' ? 1 : 0,
    ...(hop.standing === 'retried' && { retries: 1 }),
    running: hop.standing === 'running' ? 1 : 0,
    ...(hop.ended !== undefined && { p50Ms: durationOf(hop) }),
    ...(costUsd !== undefined && { costUsd }),
  }
}

/** Two lights in one; a sum of two has no median, the longer time is what people look for. */
export function sum(a: Light | undefined, b: Light): Light {
  if (!a) return b
  const times = [a.p50Ms, b.p50Ms].filter((time) => time !== undefined)
  const retries = (a.retries ?? 0) + (b.retries ?? 0)
  const costs = [a.costUsd, b.costUsd].filter((cost) => cost !== undefined)
  return {
    ...a,
    ...b,
    count: a.count + b.count,
    failures: a.failures + b.failures,
    running: a.running + b.running,
    ...(retries > 0 && { retries }),
    ...(times.length > 0 && { p50Ms: Math.max(...times) }),
    ...(costs.length > 0 && { costUsd: costs.reduce((all, cost) => all + cost, 0) }),
  }
}
