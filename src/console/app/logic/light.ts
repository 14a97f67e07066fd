import type { EdgeFacts, GraphEdge, TeamGraph } from '../../api.ts'
import type { MemberHop } from './hops.ts'
import { durationOf } from './lanes.ts'
import { toPlace } from './layout.ts'

/** What a node or an edge of a graph has to show, from the log. */
export interface Light {
  readonly count: number
  readonly failures: number
  readonly running: number
  readonly p50Ms?: number
}

/** Lights by place: a node's by `toPlace`, an edge's by `edgeKey`. */
export type Lights = ReadonlyMap<string, Light>

/** The key of an edge among the lights. */
export function edgeKey(above: string, { from, to }: Pick<GraphEdge, 'from' | 'to'>): string {
  return `${above}|${from}>${to}`
}

/** Lights up a graph by the hops of one task. */
export function lightsOfHops(team: TeamGraph, hops: readonly MemberHop[]): Lights {
  const lights = new Map<string, Light>()
  lightTeam(lights, { team, hops, above: '', depth: 0 })
  return lights
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

/** The edges that a fact is about: behind a step that is no member, such as an approval, the log knows no sender. */
export function edgesOf(
  { entry, edges }: TeamGraph,
  { from, to }: Pick<EdgeFacts, 'from' | 'to'>,
): readonly Pick<GraphEdge, 'from' | 'to'>[] {
  if (from !== '' || entry.includes(to)) return [{ from, to }]
  return edges.filter((edge) => edge.to === to)
}

interface Level {
  readonly team: TeamGraph
  readonly hops: readonly MemberHop[]
  readonly above: string
  readonly depth: number
}

function lightTeam(lights: Map<string, Light>, { team, hops, above, depth }: Level): void {
  const here = hops.filter((hop) => hop.team === team.id && hop.depth === depth)
  const visited: string[] = []
  for (const hop of here) {
    const light = toLight(hop)
    const edges = cameFrom(team, hop.member, visited).map((from) => ({ from, to: hop.member }))
    for (const key of [toPlace(above, hop.member), ...edges.map((edge) => edgeKey(above, edge))])
      lights.set(key, sum(lights.get(key), light))
    visited.push(hop.member)
  }
  for (const { id, team: nested } of team.nodes)
    if (nested)
      lightTeam(lights, { team: nested, hops, above: toPlace(above, id), depth: depth + 1 })
}

/**
 * Of the edges that lead to a member, those whose origins were visited since it was last asked: more than one where work
 * comes together. A step that is no member leaves no hop; what leads to it has led here.
 */
function cameFrom(team: TeamGraph, member: string, visited: readonly string[]): readonly string[] {
  const origins = team.edges.filter(({ to }) => to === member).map(({ from }) => from)
  const steps = origins.filter((one) =>
    team.nodes.some(({ id, kind }) => id === one && kind === 'approval'),
  )
  if (steps.length > 0) return steps
  const since = visited.slice(visited.lastIndexOf(member) + 1)
  const fresh = origins.filter((one) => since.includes(one))
  if (fresh.length > 0) return fresh
  // A further try comes from where the first one came.
  const before = visited.slice(0, visited.indexOf(member))
  const earlier = origins.filter((one) => before.includes(one))
  return visited.includes(member) && earlier.length > 0 ? earlier : ['']
}

function toLight(hop: MemberHop): Light {
  return {
    count: 1,
    failures: hop.standing === 'failed' ? 1 : 0,
    running: hop.standing === 'running' ? 1 : 0,
    ...(hop.ended !== undefined && { p50Ms: durationOf(hop) }),
  }
}

/** A sum of two has no median; the longer time is what people look for. */
function sum(a: Light | undefined, b: Light): Light {
  if (!a) return b
  const times = [a.p50Ms, b.p50Ms].filter((time) => time !== undefined)
  return {
    count: a.count + b.count,
    failures: a.failures + b.failures,
    running: a.running + b.running,
    ...(times.length > 0 && { p50Ms: Math.max(...times) }),
  }
}
