import type { Agent } from '../agents/agent.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ConsoleHost } from '../server/console.ts'
import { kindOf } from '../team/schedulers/kinds.ts'
import type { Team } from '../team/team.ts'
import type { GraphEdge, GraphNode, TeamGraph } from './api.ts'
import { type ApiHandler, ok } from './call.ts'
import { drawWorkflow } from './workflow-graph.ts'

/** Deeper nesting than this is not drawn: a team that contains itself by another name would never end. */
const maxDepth = 8

/** Makes the handler of `graph/ID`. */
export function createGraphHandler({ mounts }: ConsoleHost): ApiHandler {
  return async ({ id, viewer }) => {
    const agent = viewer.reaches(id) ? mounts.get(id)?.agent() : undefined
    const team = agent && teamOf(agent)
    if (!team) throw noTeam(id)
    return ok(await drawTeam(team))
  }
}

/** The refusal where a team is asked for that is none. */
export function noTeam(id: string): A2AError {
  return new A2AError('taskNotFound', `There is no team "${id.slice(0, 100)}" on this server`)
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

/** The definition of a team as nodes and edges, its nested teams inside their nodes. */
export async function drawTeam(team: DrawnTeam, depth = 0): Promise<TeamGraph> {
  const { config, manager } = team
  const { entry, edges, extra = [] } = waysOf(team)
  const members = config.agents.map(async ({ agentId, role }): Promise<GraphNode> => {
    const agent = manager.get(agentId)
    const { name = agentId } = (await Promise.resolve(agent?.info()).catch(() => undefined)) ?? {}
    const inner = agent && depth < maxDepth ? teamOf(agent) : undefined
    return {
      id: agentId,
      name,
      kind: kindOfAgent(agent),
      ...(role !== undefined && role !== '' && { detail: role }),
      ...(inner && { team: await drawTeam(inner, depth + 1) }),
    }
  })
  return {
    id: config.id,
    name: config.name,
    description: config.description,
    scheduler: kindOf(config.scheduler).mode(config.scheduler),
    entry,
    nodes: [...(await Promise.all(members)), ...extra],
    edges,
  }
}

/** Which ways work may go in a team. */
interface Ways {
  readonly entry: readonly string[]
  readonly edges: readonly GraphEdge[]
  /** Steps that are no member. */
  readonly extra?: readonly GraphNode[]
}

/** The ways of a team, by how it works. */
function waysOf({ config }: DrawnTeam): Ways {
  const { scheduler } = config
  const members = config.agents.map(({ agentId }) => agentId)
  switch (scheduler.type) {
    case 'workflow':
      return drawWorkflow(scheduler.steps)
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

/** The questions of all approvals in a team and in the teams in it. */
export function approvalsOf(agent: Agent, depth = 0): readonly string[] {
  const team = depth < maxDepth ? teamOf(agent) : undefined
  if (!team) return []
  const own = (waysOf(team).extra ?? []).flatMap(({ detail }) => detail ?? [])
  const inner = team.config.agents.flatMap(({ agentId }) => team.manager.get(agentId) ?? [])
  return [...own, ...inner.flatMap((member) => approvalsOf(member, depth + 1))]
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
