/**
 * How work went through a graph of steps. What is known is where it arrived, in order; by which edges it came there
 * follows from the graph.
 */

/** A node of such a graph. */
export interface WalkNode {
  readonly id: string
  readonly kind: string
  /** Who does the step; the node's id where it is absent. */
  readonly member?: string
  /** Where the step stands among the others. */
  readonly step?: string
  /** What an approval asks. */
  readonly detail?: string
}

/** A graph of steps. */
export interface WalkGraph {
  readonly nodes: readonly WalkNode[]
  readonly edges: readonly { readonly from: string; readonly to: string }[]
}

/** That work came to a node: from the nodes that had it before, or from outside, which is an empty id. */
export interface Arrival {
  readonly to: string
  readonly from: readonly string[]
}

/** The way of one run through a graph. */
export interface Walk {
  /** Tells that work has come to a node; steps that say nothing of themselves are passed on the way. */
  arrive(id: string): readonly Arrival[]
}

interface Visit extends Arrival {
  readonly number: number
  /** The visits that led here. */
  readonly after: readonly Visit[]
}

/** As many visits as are looked at. */
const maxVisits = 512

/** The kinds of steps that are no member: a log may pass them in silence. */
const silent: ReadonlySet<string> = new Set(['approval', 'branch', 'join'])

/** Begins a way through a graph. */
export function createWalk({ nodes, edges }: WalkGraph): Walk {
  const last = new Map<string, Visit>()
  const silentIds = new Set(nodes.flatMap(({ id, kind }) => (silent.has(kind) ? [id] : [])))
  let count = 0

  /** What has come to the origins of a node since it was last visited itself. */
  function freshBefore(id: string, arrivals: Arrival[], passed: ReadonlySet<string>): Visit[] {
    const since = last.get(id)?.number ?? 0
    const origins = edges.filter(({ to }) => to === id).map(({ from }) => from)
    const fresh = origins.flatMap((origin) => {
      const visit = last.get(origin)
      return visit && visit.number > since ? [visit] : []
    })
    for (const origin of origins) {
      const isKnown = fresh.some(({ to }) => to === origin)
      if (isKnown || passed.has(origin) || !silentIds.has(origin)) continue
      const before = freshBefore(origin, arrivals, new Set([...passed, id]))
      const leads = before.some((visit) => !fresh.some((one) => leadsTo(visit, one)))
      if (leads || (fresh.length === 0 && before.length > 0))
        fresh.push(visitAfter(origin, before, arrivals))
    }
    return fresh.filter((visit) => !fresh.some((one) => one !== visit && leadsTo(visit, one)))
  }

  function visitAfter(to: string, after: readonly Visit[], arrivals: Arrival[]): Visit {
    // Who is asked once more without new work before it is asked by the same as before.
    const again = after.length === 0 ? last.get(to) : undefined
    const from = after.length > 0 ? [...new Set(after.map((one) => one.to))] : (again?.from ?? [''])
    const visit: Visit = { to, from, after: again?.after ?? after, number: ++count }
    last.set(to, visit)
    arrivals.push({ to, from: visit.from })
    return visit
  }

  return {
    arrive(id) {
      if (count >= maxVisits) return []
      const arrivals: Arrival[] = []
      visitAfter(id, freshBefore(id, arrivals, new Set()), arrivals)
      return arrivals
    },
  }
}

/** Whether a visit is another one, or came before it on the way there. */
function leadsTo(visit: Visit, end: Visit): boolean {
  const seen = new Set<Visit>()
  const left = [end]
  for (let one = left.pop(); one; one = left.pop()) {
    if (one === visit) return true
    if (one.number < visit.number || seen.has(one)) continue
    seen.add(one)
    left.push(...one.after)
  }
  return false
}
