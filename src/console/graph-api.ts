/** The part of `api.ts` that draws teams: what a definition says (`graph/ID`), and what went over the edges (`edges/TEAM`). */

/** `GET graph/ID`: the definition of a team. */
export interface TeamGraph {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly scheduler: string
  /** The nodes that get the caller's message. */
  readonly entry: readonly string[]
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  /** What one run may cost. */
  readonly maxCostUsd?: number
  /** What checks the question and the answer of the whole team. */
  readonly guards?: GraphGuards
}

/**
 * A member or a step of a team; its id is unique in the team. A member's is its agent's id, and so is that of the first
 * step that asks it; further steps of the same member have ids of their own.
 */
export interface GraphNode {
  readonly id: string
  /** The step's name where it has one, else the member's. */
  readonly name: string
  /** `team`, a kind of agent, or a step that is no agent: `approval`, `branch`, or `join`. */
  readonly kind: string
  /** A few words beneath the name: the host of a remote agent, a model, a condition, a question. */
  readonly detail?: string
  /** The nested team, where the member is one. */
  readonly team?: TeamGraph
  /** Whom the step asks. */
  readonly member?: string
  /** Where the step stands, as the trace names it without rounds and items: `2`, `3.1`. */
  readonly step?: string
  /** The place of the `map` around it: it is done once per item. */
  readonly each?: string
  /** Whether it makes one answer of those of parallel steps. */
  readonly joins?: boolean
  /** Whether its answer has to fit a schema and is data. */
  readonly data?: boolean
  /** What the cases of a branch ask, in order. */
  readonly cases?: readonly string[]
  /** What checks what it is asked and what it answers. */
  readonly guards?: GraphGuards
}

/** The names of guards, in the order in which they look. */
export interface GraphGuards {
  readonly input?: readonly string[]
  readonly output?: readonly string[]
}

/** A way that work may go between two nodes of one team. */
export interface GraphEdge {
  readonly from: string
  readonly to: string
  /** `next`: always, in this order. `may`: the leader or router decides. `back`: a loop or an answer returns. */
  readonly kind: 'next' | 'may' | 'back'
  /** A condition, or `until …`. */
  readonly label?: string
  /** Of a branch: the cases by which the work goes this way, from 1; 0 where none holds. */
  readonly cases?: readonly number[]
  /** Of a loop, or of an approval whose feedback goes this way: its place. */
  readonly step?: string
  /** How many rounds there may be. */
  readonly max?: number
}

/** `GET edges/TEAM`: what went over the edges of a team and its nested teams, from the logs of its last tasks. */
export interface TeamEdges {
  readonly edges: readonly EdgeFacts[]
  /** How many tasks were read. */
  readonly tasks: number
  /** What they cost together, and the dearest of them, where it is known. */
  readonly costUsd?: number
  readonly dearestUsd?: number
}

/** What went over one edge. */
export interface EdgeFacts {
  /** The team, or the nested one, that the edge belongs to. */
  readonly team: string
  /** A node's id; empty where the team's caller asked. */
  readonly from: string
  readonly to: string
  readonly count: number
  readonly failures: number
  readonly p50Ms?: number
  /** Calls under way now. */
  readonly running: number
  /** The last messages over it, newest first, at most 10. */
  readonly last: readonly EdgeMessage[]
}

/** One call over an edge. */
export interface EdgeMessage {
  readonly taskId: string
  readonly seq: number
  readonly at: string
  readonly question: string
  readonly answer?: string
  readonly durationMs?: number
  readonly costUsd?: number
  /** Why it failed. */
  readonly failure?: string
}
