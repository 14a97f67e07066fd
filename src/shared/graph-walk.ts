/**
 * How work went through a graph of steps. What is known is where it arrived, in order; by which edges it came there
 * follows from the graph.
 */

/** A node of such a graph. */
interface WalkNode {
  readonly id: string
  readonly kind: string
  /** Who does the step; absent for a step without a member, and for a node that is a member itself. */
  readonly member?: string
  /** Where the step stands among the others. */
  readonly step?: string
  /** What an approval asks. */
  readonly detail?: string
}

/** A graph of steps. */
interface WalkGraph {
  readonly nodes: readonly WalkNode[]
  readonly edges: readonly { readonly from: string; readonly to: string }[]
}

/** That work came to a node: from the nodes that had it before, or from outside, which is an empty id. */
interface NodeArrival {
  readonly to: string
  readonly from: readonly string[]
}

/** The way of one run through a graph. */
interface GraphWalk {
  /** Tells that work has come to a node; steps that say nothing of themselves are passed on the way. */
  arrive(id: string): readonly NodeArrival[]
}

interface Visit extends NodeArrival {
  readonly number: number
  /** The visits that led here. */
  readonly after: readonly Visit[]
}

/** As many visits as are looked at. */
const maxVisits = 512

/** Whether a node is a step that asks no member: a log may pass it in silence. */
export function hasNoMember({ step, member }: Pick<WalkNode, 'step' | 'member'>): boolean {
  return step !== undefined && member === undefined
}

/** Begins a way through a graph. */
export function createWalk({ nodes, edges }: WalkGraph): GraphWalk {
  const last = new Map<string, Visit>()
  const silentIds = new Set(nodes.filter(hasNoMember).map(({ id }) => id))
  let count = 0

  /** What has come to the origins of a node since it was last visited itself. */
  function freshBefore(id: string, arrivals: NodeArrival[], passed: ReadonlySet<string>): Visit[] {
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

  function visitAfter(to: string, after: readonly Visit[], arrivals: NodeArrival[]): Visit {
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
      const arrivals: NodeArrival[] = []
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

/** A graph whose nodes may hold further graphs. */
interface NestedGraph<G> extends WalkGraph {
  readonly nodes: readonly (WalkNode & { readonly team?: G })[]
}

/** A run through one of the graphs. */
export interface GraphRun<G> {
  readonly graph: G
  /** The ids of the nodes that hold the graph, from outside in, with `/` between them; empty for the outermost. */
  readonly above: string
  readonly walk: GraphWalk
}

/** As many runs as are told apart. */
const maxRuns = 1_024

/** Follows the runs through a graph and those in it, each by its path: the calls `step:member` that lead to it. */
export function createWalks<G extends NestedGraph<G>>(
  graph: G,
): (path: string) => GraphRun<G> | undefined {
  const runs = new Map<string, GraphRun<G>>([['', { graph, above: '', walk: createWalk(graph) }]])
  return function runAt(path: string): GraphRun<G> | undefined {
    const known = runs.get(path)
    if (known || runs.size >= maxRuns) return known
    const end = path.lastIndexOf('/')
    const outer = runAt(path.slice(0, Math.max(end, 0)))
    const call = path.slice(end + 1)
    const colon = call.indexOf(':')
    const node = outer && nodeOfCall(outer.graph.nodes, call.slice(0, colon), call.slice(colon + 1))
    if (!outer || !node?.team) return undefined
    const above = outer.above === '' ? node.id : `${outer.above}/${node.id}`
    const run = { graph: node.team, above, walk: createWalk(node.team) }
    runs.set(path, run)
    return run
  }
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

/** That the log of a team told of a node: how work came there, and by what kind of entry. */
export interface TrailMark<G> {
  readonly kind: 'call' | 'branch' | 'approval'
  readonly run: GraphRun<G>
  readonly node: WalkNode
  /** Where work has newly arrived, the node itself last; empty where the log says more of an earlier arrival. */
  readonly arrivals: readonly NodeArrival[]
}

/** The way that a log tells, read entry by entry. */
interface Trail<G> {
  /** Reads an entry of the trace: `path` leads to the team that wrote it. */
  take(entry: Readonly<Record<string, unknown>>, path: string): TrailMark<G> | undefined
  /** Reads a question to the user: the approval that it belongs to waits. */
  ask(question: string): TrailMark<G> | undefined
  /** The run that a path leads to. */
  runAt(path: string): GraphRun<G> | undefined
}

/** Follows one log through the graph of its team. */
export function createTrail<G extends NestedGraph<G>>(graph: G): Trail<G> {
  const runAt = createWalks(graph)
  const paths = new Set<string>([''])
  /** What has been asked and not answered, and the branches that were told of: a repeated run tells of them again. */
  const waiting = new Set<string>()
  const branches = new Set<string>()

  function arriveAtApproval(run: GraphRun<G>, node: WalkNode): TrailMark<G> {
    const key = `${run.above}\n${node.id}`
    const arrivals = waiting.has(key) ? [] : run.walk.arrive(node.id)
    waiting.add(key)
    return { kind: 'approval', run, node, arrivals }
  }

  return {
    take(entry, path) {
      const run = runAt(path)
      if (!run) return undefined
      paths.delete(path)
      paths.add(path)
      const step = textIn(entry, 'step')
      if (entry.type === 'delegation') {
        const node = nodeOfCall(run.graph.nodes, step, textIn(entry, 'member'))
        // Whom a guard asks for a verdict is not on the way, also where it does a step of its own.
        const isAside = step.includes('!') && node?.step !== undefined
        return (
          node && { kind: 'call', run, node, arrivals: isAside ? [] : run.walk.arrive(node.id) }
        )
      }
      if (entry.type !== 'approval' && entry.type !== 'branch') return undefined
      const place = stepPlace(step)
      const node = run.graph.nodes.find((one) => one.kind === entry.type && one.step === place)
      if (!node) return undefined
      if (entry.type === 'approval') {
        const mark = arriveAtApproval(run, node)
        if (entry.verdict !== 'unclear') waiting.delete(`${run.above}\n${node.id}`)
        return mark
      }
      const key = `${path}\n${step}`
      const arrivals = branches.has(key) ? [] : run.walk.arrive(node.id)
      branches.add(key)
      return { kind: 'branch', run, node, arrivals }
    },
    ask(question) {
      for (const path of [...paths].reverse()) {
        const run = runAt(path)
        const node = run?.graph.nodes.find((one) => isAsked(one, question))
        if (run && node) return arriveAtApproval(run, node)
      }
      return undefined
    },
    runAt,
  }
}

/** A question ends with what its approval asks. */
function isAsked({ kind, detail = '' }: WalkNode, question: string): boolean {
  return kind === 'approval' && detail !== '' && question.endsWith(detail)
}

function textIn(entry: Readonly<Record<string, unknown>>, name: string): string {
  const value = entry[name]
  return typeof value === 'string' ? value : ''
}
