import type { Agent } from '../agents/agent.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ConsoleHost } from '../server/options.ts'
import { kindOf } from '../team/schedulers/kinds.ts'
import type { Team } from '../team/team.ts'
import { guardNamesOf, type StepNode } from '../team/workflow/draw.ts'
import { drawWorkflow } from '../team/workflow/plan.ts'
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
    ...guardNamesOf(config),
  }
}

/** Which ways work may go in a team. */
interface Ways {
  readonly entry: readonly string[]
  readonly edges: readonly GraphEdge[]
  /** The steps of a workflow. */
  readonly steps?: readonly StepNode[]
}

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
