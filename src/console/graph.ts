import type { Agent } from '../agents/agent.ts'
import type { GuardRule, Guards } from '../agents/guards/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ConsoleHost } from '../server/options.ts'
import type {
  ApprovalStep,
  BranchStep,
  LoopStep,
  MapStep,
  ParallelStep,
  Rule,
  Step,
} from '../team/config.ts'
import { kindOf } from '../team/schedulers/kinds.ts'
import type { Team } from '../team/team.ts'
import { inOrder } from '../team/workflow/plan.ts'
import type { GraphEdge, GraphNode, TeamGraph } from './api.ts'
import { type ApiHandler, ok } from './call.ts'

/** Makes the handler of `graph/ID`. */
export function createGraphHandler({ mounts }: ConsoleHost): ApiHandler {
  return async ({ id, viewer }) => {
    const agent = viewer.reaches(id) ? mounts.get(id)?.agent() : undefined
    const team = agent && teamOf(agent)
    if (!team) throw noTeam(id)
    return ok(await drawTeam(team))
  }
}

/** The parts of a team that can be drawn; a team that is wrapped still has them. */
type DrawnTeam = Pick<Team, 'config' | 'manager'>

/** The team that an agent is, however it is wrapped. */
export function teamOf(agent: Agent): DrawnTeam | undefined {
  if (kindOfAgent(agent) !== 'team') return undefined
  return 'config' in agent && 'manager' in agent ? (agent as Agent & DrawnTeam) : undefined // a team has these two
}

/** What sort of agent it is, in one word. */
export function kindOfAgent(agent: Agent | undefined): string {
  return agent?.kind ?? 'agent'
}

/** The error where the id is not that of a team. */
export function noTeam(id: string): A2AError {
  return new A2AError('taskNotFound', `There is no team "${id.slice(0, 100)}" on this server`)
}

/** Deeper nesting than this is not drawn: a team that contains itself by another name would never end. */
const maxDepth = 8

/** The definition of a team as nodes and edges, its nested teams inside their nodes. */
export async function drawTeam(team: DrawnTeam, depth = 0): Promise<TeamGraph> {
  const { config, manager } = team
  const { entry, edges, steps = [] } = waysOf(team)
  const members = config.agents.map(async ({ agentId, role }): Promise<readonly GraphNode[]> => {
    const agent = manager.get(agentId)
    const { name = agentId } = (await Promise.resolve(agent?.info()).catch(() => undefined)) ?? {}
    const inner = agent && depth < maxDepth ? teamOf(agent) : undefined
    const member: GraphNode = {
      id: agentId,
      name,
      kind: kindOfAgent(agent),
      ...(role !== undefined && role !== '' && { detail: role }),
      ...(inner && { team: await drawTeam(inner, depth + 1) }),
      ...(agent?.guardNames && { guards: agent.guardNames }),
    }
    const own = steps.filter((step) => step.member === agentId)
    return own.length === 0 ? [member] : own.map((step) => toStepNode(member, step))
  })
  return {
    id: config.id,
    name: config.name,
    description: config.description,
    scheduler: kindOf(config.scheduler).mode(config.scheduler),
    entry,
    nodes: [...(await Promise.all(members)).flat(), ...steps.flatMap(withoutMember)],
    edges,
    ...budgetOf(team),
    ...guardsOf(config),
  }
}

/** Which ways work may go in a team. */
interface Ways {
  readonly entry: readonly string[]
  readonly edges: readonly GraphEdge[]
  /** The steps of a workflow. */
  readonly steps?: readonly StepNode[]
}

/** A node for a step: of a member, of which the team knows name and kind, or a step that is no member. */
type StepNode = Omit<GraphNode, 'name' | 'kind'> & Partial<Pick<GraphNode, 'name' | 'kind'>>

/** The ways of a team, by how it works. */
function waysOf({ config }: DrawnTeam): Ways {
  const { scheduler } = config
  const members = config.agents.map(({ agentId }) => agentId)
  switch (scheduler.type) {
    case 'workflow': {
      const { nodes: steps, ...ways } = drawWorkflow(scheduler.steps, members)
      return { ...ways, steps }
    }
    case 'supervisor':
      return star(scheduler.supervisorAgentId, members)
    case 'router':
      return star(scheduler.defaultAgentId, members)
    default: {
      const first = kindOf(scheduler).first(scheduler)
      return first === undefined ? { entry: members, edges: [] } : star(first, members)
    }
  }
}

/** A workflow as nodes and edges. */
interface DrawnWorkflow {
  readonly entry: readonly string[]
  readonly edges: readonly GraphEdge[]
  readonly nodes: readonly StepNode[]
}

/** What of a workflow has been drawn so far. */
interface Drawing {
  readonly members: ReadonlySet<string>
  readonly entry: Set<string>
  readonly edges: Map<string, GraphEdge>
  readonly nodes: Map<string, StepNode>
  /** The nodes with which a step of a name begins. */
  readonly firsts: Map<string, readonly string[]>
}

/** The ways of a workflow: each step follows those before it. */
export function drawWorkflow(steps: readonly Step[], members: readonly string[]): DrawnWorkflow {
  const [entry, edges, nodes] = [new Set<string>(), new Map(), new Map()]
  const drawing: Drawing = { members: new Set(members), entry, edges, nodes, firsts: new Map() }
  drawSteps(drawing, steps, { at: '', from: { nodes: [], isStart: true } })
  return { entry: [...entry], edges: [...edges.values()], nodes: [...nodes.values()] }
}

/** Where a step stands: its place as the trace names it, without rounds and items, and what comes before it. */
interface DrawnPlace {
  readonly at: string
  readonly from: Front
  /** The place of the `map` around it. */
  readonly each?: string
}

/** Where work comes from: the nodes that were last, and whether the team's caller may be meant. */
interface Front {
  readonly nodes: readonly FrontNode[]
  readonly isStart: boolean
}

/** A node that was last; where it is a branch, the case by which it is left. */
type FrontNode = Omit<GraphEdge, 'from' | 'to' | 'kind'> & { readonly id: string }

/** Steps in the order in which they run; where they stand ends where their numbers begin. */
function drawSteps(drawing: Drawing, steps: readonly Step[], start: DrawnPlace): Front {
  let front = start.from
  for (const [index, { step }] of inOrder(steps).entries())
    front = drawStep(drawing, step, { ...start, at: `${start.at}${index + 1}`, from: front })
  return front
}

/** A step that may be left out lets what was before it come through. */
function drawStep(drawing: Drawing, step: Step, place: DrawnPlace): Front {
  const condition = conditionOf(step)
  const known = new Set(drawing.nodes.keys())
  const after = drawKind(drawing, step, { ...place, from: labelled(place.from, condition) })
  if (step.name !== undefined)
    drawing.firsts.set(step.name, startsOf(drawing, nodesSince(drawing, known)))
  return condition === undefined ? after : together([after, place.from])
}

/** Under which condition a step runs, in words; undefined where it always does. */
function conditionOf({ when, condition }: Step): string | undefined {
  if (when !== undefined) return `if ${ruleWords(when)}`
  return condition ? `if “${condition}”` : undefined
}

/** A rule in words; a function has none. */
function ruleWords(rule: Rule<unknown>): string {
  return typeof rule === 'string' ? rule : 'a function decides'
}

function drawKind(drawing: Drawing, step: Step, place: DrawnPlace): Front {
  if ('parallel' in step) return drawParallel(drawing, step, place)
  if ('branch' in step) return drawBranch(drawing, step, place)
  if ('loop' in step) return drawLoop(drawing, step, place)
  if ('map' in step) return drawMap(drawing, step, place)
  if ('approval' in step) return drawApproval(drawing, step, place)
  return reachMember(drawing, step, { ...place, name: step.name })
}

/** Every one of the steps gets the same question; what they answer comes together in a node of its own. */
function drawParallel(
  drawing: Drawing,
  { parallel, join, name }: ParallelStep,
  place: DrawnPlace,
): Front {
  const ends = parallel.map((step, index) =>
    drawStep(drawing, step, { ...place, at: `${place.at}.${index + 1}` }),
  )
  const here = { ...place, at: `${place.at}.join`, from: together(ends) }
  if (typeof join === 'object') return reachMember(drawing, join, { ...here, name, joins: true })
  const maker = typeof join === 'string' ? 'a template' : 'a function'
  const detail = join === undefined ? 'under headings' : `by ${maker}`
  const id = reachStep(drawing, { name: name ?? 'Join', kind: 'join', detail }, here)
  return { nodes: [{ id }], isStart: false }
}

/** What comes together before the next step. */
function together(fronts: readonly Front[]): Front {
  const nodes = fronts.flatMap((front) => front.nodes)
  const unique = new Map(nodes.map((node) => [`${node.id}\n${node.cases}`, node]))
  return { nodes: [...unique.values()], isStart: fronts.some(({ isStart }) => isStart) }
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
function reachMember(drawing: Drawing, call: DrawnCall, reached: Reach): Front {
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

/** An id that no other node has; that of a member's first step is the member's own. */
function freeId({ nodes, members }: Drawing, wanted: string): string {
  let id = wanted
  for (let number = 2; nodes.has(id) || (id !== wanted && members.has(id)); number++)
    id = `${wanted}-${number}`
  return id
}

function placeIn({ at, each }: DrawnPlace): Pick<StepNode, 'step' | 'each'> {
  return { step: at, ...(each !== undefined && { each }) }
}

/** The names of the guards that a team or a step brings, for its node. */
function guardsOf({ guards }: { readonly guards?: Guards }): Pick<GraphNode, 'guards'> {
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

function reach(drawing: Drawing, id: string, { from, label }: Reach): Front {
  if (from.isStart) drawing.entry.add(id)
  for (const { id: origin, ...words } of labelled(from, label).nodes)
    addEdge(drawing, { from: origin, to: id, kind: 'next', ...words })
  return { nodes: [{ id }], isStart: false }
}

/** The same with words on every edge that leaves it. */
function labelled({ nodes, isStart }: Front, label: string | undefined): Front {
  if (label === undefined) return { nodes, isStart }
  return { nodes: nodes.map((node) => ({ ...node, label: joined(node.label, label) })), isStart }
}

function joined(first: string | undefined, second: string): string {
  return first === undefined ? second : `${first}, ${second}`
}

/** Adds an edge; what may go the same way by several cases is one edge. */
function addEdge({ edges }: Drawing, edge: GraphEdge): void {
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

/** Draws a step that is no member and the edges to it; gives its id. */
function reachStep(
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

/** The work goes by the first case that holds; where none has to, it may pass by all of them. */
function drawBranch(
  drawing: Drawing,
  { branch, name = 'Branch' }: BranchStep,
  place: DrawnPlace,
): Front {
  const cases = branch.map(({ when }) => (when === undefined ? 'otherwise' : ruleWords(when)))
  const id = reachStep(drawing, { name, kind: 'branch', cases }, place)
  const ends = branch.map(({ steps }, index) => {
    const origin = { id, label: cases[index] ?? '', cases: [index + 1] }
    const from = { nodes: [origin], isStart: false }
    return drawSteps(drawing, steps, { ...place, at: `${place.at}.${index + 1}.`, from })
  })
  if (branch.at(-1)?.when === undefined) return together(ends)
  const past = { id, label: 'otherwise', cases: [0] }
  return together([...ends, { nodes: [past], isStart: false }])
}

function drawLoop(drawing: Drawing, { loop }: LoopStep, place: DrawnPlace): Front {
  const { steps, until, maxIterations: max } = loop
  const known = new Set(drawing.nodes.keys())
  const end = drawSteps(drawing, steps, { ...place, at: `${place.at}.` })
  const fresh = nodesSince(drawing, known)
  const words = { label: `until “${ruleWords(until)}”`, step: place.at, max }
  for (const { id: from } of end.nodes)
    if (fresh.has(from))
      for (const to of startsOf(drawing, fresh))
        addEdge(drawing, { from, to, kind: 'back', ...words })
  return end
}

function nodesSince({ nodes }: Drawing, known: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...nodes.keys()].filter((id) => !known.has(id)))
}

/** The nodes of some that are reached from others. */
function startsOf({ entry, edges }: Drawing, among: ReadonlySet<string>): readonly string[] {
  const ways = [...edges.values()].filter(({ kind, from }) => kind === 'next' && !among.has(from))
  return [...among].filter((id) => entry.has(id) || ways.some(({ to }) => to === id))
}

function drawMap(drawing: Drawing, { map, name }: MapStep, place: DrawnPlace): Front {
  const words = map.over === undefined ? 'each' : `each of ${ruleWords(map.over)}`
  const here = { ...place, from: labelled(place.from, words), each: place.at }
  if ('agentId' in map) return reachMember(drawing, map, { ...here, name })
  return drawSteps(drawing, map.steps, { ...here, at: `${place.at}.` })
}

/** How often feedback is taken where the step does not say. */
const defaultFeedbackRounds = 5

/** What is neither a yes nor a no goes back to the step that the approval names. */
function drawApproval(
  drawing: Drawing,
  { approval, name = 'Approval' }: ApprovalStep,
  place: DrawnPlace,
): Front {
  const {
    question: detail,
    onFeedback = '',
    maxFeedbackRounds: max = defaultFeedbackRounds,
  } = approval
  const id = reachStep(drawing, { name, kind: 'approval', detail }, place)
  for (const to of drawing.firsts.get(onFeedback) ?? [])
    addEdge(drawing, { from: id, to, kind: 'back', label: 'feedback', step: place.at, max })
  return { nodes: [{ id }], isStart: false }
}

/** One in the middle who hands on to the others, and hears from them. */
function star(middle: string, members: readonly string[]): Ways {
  const edges = members
    .filter((id) => id !== middle)
    .flatMap((id): GraphEdge[] => [
      { from: middle, to: id, kind: 'may' },
      { from: id, to: middle, kind: 'back' },
    ])
  return { entry: [middle], edges }
}

/** A step of a member is called by its own name, and beneath it stands who answers. */
function toStepNode(member: GraphNode, step: StepNode): GraphNode {
  const detail = step.name === undefined ? {} : { detail: member.name }
  return { ...member, ...detail, ...step, ...bothGuards(member, step) }
}

/** A step's guards stand around the member's own: they look first at what it is asked, and last at what it answers. */
function bothGuards({ guards: own }: GraphNode, step: StepNode): Pick<GraphNode, 'guards'> {
  const [input, output] = [
    [...(step.guards?.input ?? []), ...(own?.input ?? [])],
    [...(own?.output ?? []), ...(step.guards?.output ?? [])],
  ]
  if (input.length + output.length === 0) return {}
  return { guards: { ...(input.length > 0 && { input }), ...(output.length > 0 && { output }) } }
}

/** A step that is no member brings its name and kind with it. */
function withoutMember({ name, kind, ...step }: StepNode): readonly GraphNode[] {
  return name === undefined || kind === undefined ? [] : [{ ...step, name, kind }]
}

/** What a run of a team may cost. */
export function budgetOf(team: DrawnTeam | undefined): Pick<TeamGraph, 'maxCostUsd'> {
  const { maxCostUsd } = team?.config.budget ?? {}
  return maxCostUsd === undefined ? {} : { maxCostUsd }
}

/** An approval: what it asks, and whether words that are neither a yes nor a no go to an earlier step. */
export interface AskedApproval {
  readonly question: string
  readonly feedback: boolean
}

/** All approvals in a team and in the teams in it. */
export function approvalsOf(agent: Agent, depth = 0): readonly AskedApproval[] {
  const team = depth < maxDepth ? teamOf(agent) : undefined
  if (!team) return []
  const { steps = [], edges } = waysOf(team)
  const takesFeedback = (id: string): boolean =>
    edges.some(({ from, label }) => from === id && label === 'feedback')
  const own = steps.flatMap(({ id, kind, detail: question }) =>
    kind === 'approval' && question !== undefined
      ? [{ question, feedback: takesFeedback(id) }]
      : [],
  )
  const inner = team.config.agents.flatMap(({ agentId }) => team.manager.get(agentId) ?? [])
  return [...own, ...inner.flatMap((member) => approvalsOf(member, depth + 1))]
}
