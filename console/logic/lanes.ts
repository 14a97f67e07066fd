import type { MemberHop } from './hops.ts'

/** One member's line in the timeline: all of its hops at one place of nesting. */
export interface Lane {
  readonly key: string
  readonly member: string
  readonly depth: number
  readonly hops: readonly MemberHop[]
  readonly workMs: number
}

/** One lane per member, nested teams' members beneath the team, in the order in which they first worked. */
export function toLanes(hops: readonly MemberHop[], now: number): readonly Lane[] {
  const lanes: Lane[] = []
  addLanes(lanes, { hops, now, above: '', depth: 0 })
  return lanes
}

/** The hop that took longest among those that called nobody else; undefined where fewer than two have ended. */
export function slowestOf(hops: readonly MemberHop[]): MemberHop | undefined {
  const parents = new Set(hops.map(({ parent }) => parent))
  const ended = hops.filter(({ ended, place }) => ended !== undefined && !parents.has(place))
  if (ended.length < 2) return undefined
  return ended.reduce((slowest, hop) => (durationOf(hop) > durationOf(slowest) ? hop : slowest))
}

/** How long a hop took, or has taken until now. */
export function durationOf({ began, ended }: MemberHop, now: number = began): number {
  return Math.max((ended ?? now) - began, 0)
}

interface Level {
  readonly hops: readonly MemberHop[]
  readonly now: number
  /** The members that lead here: a team that is called twice has its members' lanes once. */
  readonly above: string
  readonly depth: number
}

function addLanes(lanes: Lane[], { hops, now, above, depth }: Level): void {
  const here = hops.filter((hop) => hop.depth === depth && membersAbove(hop) === above)
  for (const member of new Set(here.map((hop) => hop.member))) {
    const own = here.filter((hop) => hop.member === member)
    const key = above === '' ? member : `${above}/${member}`
    const workMs = own.reduce((sum, hop) => sum + durationOf(hop, now), 0)
    lanes.push({ key, member, depth, hops: own, workMs })
    addLanes(lanes, { hops, now, above: key, depth: depth + 1 })
  }
}

/** `1:writers/2:editor` is called by `writers/editor`. */
function membersAbove({ parent }: MemberHop): string {
  if (parent === '') return ''
  return parent
    .split('/')
    .map((call) => call.slice(call.indexOf(':') + 1))
    .join('/')
}
