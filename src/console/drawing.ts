import type { Guards } from '../agents/guards/guard.ts'
import { guardsOf } from './drawn-guards.ts'
import type { StepNode } from './drawn-step.ts'
import type { GraphEdge } from './graph-api.ts'

/** What of a workflow has been drawn so far. */
export interface Drawing {
  readonly members: ReadonlySet<string>
  readonly entry: Set<string>
  readonly edges: Map<string, GraphEdge>
  readonly nodes: Map<string, StepNode>
  /** The nodes with which a step of a name begins. */
  readonly firsts: Map<string, readonly string[]>
}

/** Where work comes from: the nodes that were last, and whether the team's caller may be meant. */
export interface Front {
  readonly nodes: readonly Origin[]
  readonly isStart: boolean
}

/** A node that was last; where it is a branch, the case by which it is left. */
type Origin = Omit<GraphEdge, 'from' | 'to' | 'kind'> & { readonly id: string }

/** Where a step stands: its place as the trace names it, without rounds and items, and what comes before it. */
export interface DrawnPlace {
  readonly at: string
  readonly from: Front
  /** The place of the `map` around it. */
  readonly each?: string
}

/** A call of a member, as far as it is drawn. */
interface DrawnCall {
  readonly agentId: string
  readonly fallbackAgentId?: string
  readonly outputSchema?: unknown
  readonly guards?: Guards
}

/** How a node is reached: the words on the edges to it, and what is said of a member. */
interface Reach extends DrawnPlace {
  readonly label?: string | undefined
  readonly name?: string | undefined
  readonly joins?: boolean
}

/** Draws the node of a member and the edges to it. */
export function reachMember(drawing: Drawing, call: DrawnCall, reached: Reach): Front {
  const { agentId, fallbackAgentId, outputSchema } = call
  const { name, joins } = reached
  const id = freeId(drawing, agentId)
  drawing.nodes.set(id, {
    ...{ id, member: agentId, ...placeIn(reached) },
    ...(name !== undefined && { name }),
    ...(joins && { joins }),
    ...(outputSchema !== undefined && { data: true }),
    ...guardsOf(call),
  })
  const front = reach(drawing, id, reached)
  if (fallbackAgentId === undefined) return front
  addEdge(drawing, { from: id, to: fallbackAgentId, kind: 'may', label: 'fallback' })
  return { nodes: [{ id }, { id: fallbackAgentId }], isStart: false }
}

/** Draws a step that is no member and the edges to it; gives its id. */
export function reachStep(
  drawing: Drawing,
  node: Omit<StepNode, 'id'> & { readonly kind: string },
  reached: Reach,
): string {
  const same = [...drawing.nodes.values()].filter(({ kind }) => kind === node.kind)
  const id = freeId(drawing, `${node.kind}-${same.length + 1}`)
  drawing.nodes.set(id, { id, ...node, ...placeIn(reached) })
  reach(drawing, id, reached)
  return id
}

/** Adds an edge; what may go the same way by several cases is one edge. */
export function addEdge({ edges }: Drawing, edge: GraphEdge): void {
  const key = `${edge.from}\n${edge.to}\n${edge.kind}`
  const known = edges.get(key)
  if (!known) edges.set(key, edge)
  else if (known.cases && edge.cases)
    edges.set(key, {
      ...known,
      label: `${known.label} or ${edge.label}`,
      cases: [...known.cases, ...edge.cases],
    })
}

/** The nodes of some that are reached from others. */
export function startsOf({ entry, edges }: Drawing, among: ReadonlySet<string>): readonly string[] {
  const ways = [...edges.values()].filter(({ kind, from }) => kind === 'next' && !among.has(from))
  return [...among].filter((id) => entry.has(id) || ways.some(({ to }) => to === id))
}

/** What comes together before the next step. */
export function together(fronts: readonly Front[]): Front {
  const nodes = fronts.flatMap((front) => front.nodes)
  const unique = new Map(nodes.map((node) => [`${node.id}\n${node.cases}`, node]))
  return { nodes: [...unique.values()], isStart: fronts.some(({ isStart }) => isStart) }
}

/** The same with words on every edge that leaves it. */
export function labelled({ nodes, isStart }: Front, label: string | undefined): Front {
  if (label === undefined) return { nodes, isStart }
  return { nodes: nodes.map((node) => ({ ...node, label: joined(node.label, label) })), isStart }
}

function reach(drawing: Drawing, id: string, { from, label }: Reach): Front {
  if (from.isStart) drawing.entry.add(id)
  for (const { id: origin, ...words } of labelled(from, label).nodes)
    addEdge(drawing, { from: origin, to: id, kind: 'next', ...words })
  return { nodes: [{ id }], isStart: false }
}

function joined(first: string | undefined, second: string): string {
  return first === undefined ? second : `${first}, ${second}`
}

function placeIn({ at, each }: DrawnPlace): Pick<StepNode, 'step' | 'each'> {
  return { step: at, ...(each !== undefined && { each }) }
}

/** An id that no other node has; that of a member's first step is the member's own. */
function freeId({ nodes, members }: Drawing, wanted: string): string {
  let id = wanted
  for (let number = 2; nodes.has(id) || (id !== wanted && members.has(id)); number++)
    id = `${wanted}-${number}`
  return id
}
