import type { Agent } from '../../agents/agent.ts'
import type { GuardRule, Guards } from '../../agents/guards/guard.ts'
import type { Rule } from '../config.ts'

/** A node for a step: of a member, of which the team knows name and kind, or a step that is no member. */
export interface StepNode {
  readonly id: string
  readonly name?: string
  readonly kind?: string
  readonly detail?: string
  readonly member?: string
  readonly step?: string
  readonly each?: string
  readonly joins?: boolean
  readonly data?: boolean
  readonly cases?: readonly string[]
  readonly guards?: NonNullable<Agent['guardNames']>
}

/** A way that work may go between two nodes. */
export interface StepEdge {
  readonly from: string
  readonly to: string
  readonly kind: 'next' | 'may' | 'back'
  readonly label?: string
  readonly cases?: readonly number[]
  readonly step?: string
  readonly max?: number
}

/** Where a step stands: its place as the trace names it, without rounds and items, and what comes before it. */
export interface DrawnPlace {
  readonly at: string
  readonly from: Front
  /** The place of the `map` around it. */
  readonly each?: string
}

/** Where work comes from: the nodes that were last, and whether the team's caller may be meant. */
export interface Front {
  readonly nodes: readonly FrontNode[]
  readonly isStart: boolean
}

/** A node that was last; where it is a branch, the case by which it is left. */
type FrontNode = Omit<StepEdge, 'from' | 'to' | 'kind'> & { readonly id: string }

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

/** A workflow as nodes and edges, as far as it has been drawn. */
export class Drawing {
  readonly entry: Set<string> = new Set()
  readonly edges: Map<string, StepEdge> = new Map()
  readonly nodes: Map<string, StepNode> = new Map()
  /** The nodes with which a step of a name begins. */
  readonly firsts: Map<string, readonly string[]> = new Map()
  readonly #members: ReadonlySet<string>

  constructor(members: readonly string[]) {
    this.#members = new Set(members)
  }

  /** Draws the node of a member and the edges to it. */
  member(call: DrawnCall, reached: Reach): Front {
    const { agentId, fallbackAgentId, outputSchema } = call
    const { name, joins } = reached
    const id = this.#freeId(agentId)
    this.nodes.set(id, {
      ...{ id, member: agentId, ...placeIn(reached) },
      ...(name !== undefined && { name }),
      ...(joins && { joins }),
      ...(outputSchema !== undefined && { data: true }),
      ...guardNamesOf(call),
    })
    this.#reach(id, reached)
    if (fallbackAgentId === undefined) return { nodes: [{ id }], isStart: false }
    this.edge({ from: id, to: fallbackAgentId, kind: 'may', label: 'fallback' })
    return { nodes: [{ id }, { id: fallbackAgentId }], isStart: false }
  }

  /** Draws a step that is no member and the edges to it; gives its id. */
  step(node: Omit<StepNode, 'id'> & { readonly kind: string }, reached: Reach): string {
    const same = [...this.nodes.values()].filter(({ kind }) => kind === node.kind)
    const id = this.#freeId(`${node.kind}-${same.length + 1}`)
    this.nodes.set(id, { id, ...node, ...placeIn(reached) })
    this.#reach(id, reached)
    return id
  }

  /** Adds an edge; what may go the same way by several cases is one edge. */
  edge(edge: StepEdge): void {
    const key = `${edge.from}\n${edge.to}\n${edge.kind}`
    const known = this.edges.get(key)
    if (!known) this.edges.set(key, edge)
    else if (known.cases && edge.cases)
      this.edges.set(key, {
        ...known,
        label: `${known.label} or ${edge.label}`,
        cases: [...known.cases, ...edge.cases],
      })
  }

  /** The nodes that were not known. */
  since(known: ReadonlySet<string>): ReadonlySet<string> {
    return new Set([...this.nodes.keys()].filter((id) => !known.has(id)))
  }

  /** The nodes of some that are reached from others. */
  startsOf(among: ReadonlySet<string>): readonly string[] {
    const ways = [...this.edges.values()].filter(
      ({ kind, from }) => kind === 'next' && !among.has(from),
    )
    return [...among].filter((id) => this.entry.has(id) || ways.some(({ to }) => to === id))
  }

  /** An id that no other node has; that of a member's first step is the member's own. */
  #freeId(wanted: string): string {
    const isTaken = (id: string): boolean =>
      this.nodes.has(id) || (id !== wanted && this.#members.has(id))
    let id = wanted
    for (let number = 2; isTaken(id); number++) id = `${wanted}-${number}`
    return id
  }

  #reach(id: string, { from, label }: Reach): void {
    if (from.isStart) this.entry.add(id)
    for (const { id: origin, ...words } of labelled(from, label).nodes)
      this.edge({ from: origin, to: id, kind: 'next', ...words })
  }
}

function placeIn({ at, each }: DrawnPlace): Pick<StepNode, 'step' | 'each'> {
  return { step: at, ...(each !== undefined && { each }) }
}

/** The names of the guards that a team or a step brings, for its node. */
export function guardNamesOf({ guards }: { readonly guards?: Guards }): Pick<StepNode, 'guards'> {
  const [input = [], output = []] = [guards?.input?.map(nameOf), guards?.output?.map(nameOf)]
  if (input.length + output.length === 0) return {}
  return {
    guards: { ...(input.length > 0 && { input }), ...(output.length > 0 && { output }) },
  }
}

/** A guard of the house by its name, others by the member, the file or the function that decides. */
function nameOf(rule: GuardRule): string {
  if (typeof rule === 'string') return rule
  if (typeof rule === 'function') return rule.name || 'a function'
  if ('use' in rule) return rule.use
  if ('member' in rule) return rule.member
  return rule.module.slice(rule.module.lastIndexOf('/') + 1)
}

/** The same with words on every edge that leaves it. */
export function labelled({ nodes, isStart }: Front, label: string | undefined): Front {
  if (label === undefined) return { nodes, isStart }
  return { nodes: nodes.map((node) => ({ ...node, label: joined(node.label, label) })), isStart }
}

function joined(first: string | undefined, second: string): string {
  return first === undefined ? second : `${first}, ${second}`
}

/** What comes together before the next step. */
export function together(fronts: readonly Front[]): Front {
  const nodes = fronts.flatMap((front) => front.nodes)
  const unique = new Map(nodes.map((node) => [`${node.id}\n${node.cases}`, node]))
  return { nodes: [...unique.values()], isStart: fronts.some(({ isStart }) => isStart) }
}

/** A rule in words; a function has none. */
export function ruleWords(rule: Rule<unknown>): string {
  return typeof rule === 'string' ? rule : 'a function decides'
}
