import type { Agent } from '../agents/agent.ts'
import { isSemanticVersion, validateAgentId } from '../protocol/card.ts'
import { checkLimit, type Refuse, type TeamFault } from './faults.ts'
import type { AgentManager } from './manager.ts'
import { builtInTypes, isKind, kindOf } from './schedulers/kinds.ts'
import type { TeamConfig } from './team-config.ts'

/** A team that cannot be: which one, and why, for the person who wrote it. */
export class InvalidTeamError extends Error {
  override readonly name = 'InvalidTeamError'
  readonly teamId: string
  readonly fault: TeamFault

  constructor(teamId: string, fault: TeamFault, reason: string) {
    super(`Team "${teamId}": ${reason}`)
    this.teamId = teamId
    this.fault = fault
  }
}

/** An agent that has members: a team. Told by its shape, so that teams of another copy of this package count too. */
interface HasMembers extends Agent {
  readonly config: TeamConfig
  readonly manager: AgentManager
}

/** Whether an agent is a team. */
function isTeam(agent: Agent | undefined): agent is HasMembers {
  return agent !== undefined && 'config' in agent && 'manager' in agent
}

/** Checks a team before it exists. @throws InvalidTeamError that names the team, the fault and the ids. */
export function validateTeam(config: TeamConfig, manager: AgentManager): void {
  const refuse = (fault: TeamFault, reason: string): never => {
    throw new InvalidTeamError(config.id, fault, reason)
  }
  if (config.id.trim() === '') refuse('missingName', 'a team needs an id')
  if (config.name.trim() === '') refuse('missingName', 'a team needs a name')
  if (!validateAgentId(config.id)) refuse('invalidId', 'the id must be a UUID or a qualified name')
  checkVersions(config, refuse)
  if (config.agents.length === 0) refuse('empty', 'a team needs at least one member')
  const members = new Set<string>()
  for (const { agentId } of config.agents) {
    if (members.has(agentId)) refuse('duplicateMember', `"${agentId}" is a member twice`)
    members.add(agentId)
  }
  checkScheduler(config, members, refuse)
  checkBudget(config, refuse)
  const path = findCycle(config, manager)
  if (path) refuse('cycle', `a team cannot contain itself (${path.join(' > ')})`)
  for (const id of members)
    if (!manager.get(id)) refuse('unregisteredMember', `agent "${id}" is not registered`)
}

/** What cards show of a team: semantic versions, and capabilities with a name. */
function checkVersions({ version, capabilityDetails = [] }: TeamConfig, refuse: Refuse): void {
  for (const { name } of capabilityDetails)
    if (name.trim() === '') refuse('unnamedCapability', 'a capability needs a name')
  for (const given of [version, ...capabilityDetails.map((detail) => detail.version)])
    if (given !== undefined && !isSemanticVersion(given))
      refuse('invalidVersion', `"${given}" is not a semantic version such as 1.0.0`)
}

function checkScheduler(
  { scheduler }: TeamConfig,
  members: ReadonlySet<string>,
  refuse: Refuse,
): void {
  if (!isKind(scheduler.type))
    refuse(
      'unknownScheduler',
      `there is no scheduler "${scheduler.type}"; ${builtInTypes} are known`,
    )
  const kind = kindOf(scheduler)
  kind.check(scheduler, members, refuse)
  const mode = kind.mode(scheduler)
  if (mode !== scheduler.type && isKind(mode))
    refuse('invalidScheduler', `a scheduler of one's own cannot be called "${mode}"`)
}

function checkBudget({ budget = {} }: TeamConfig, refuse: Refuse): void {
  const max = Number.MAX_SAFE_INTEGER
  checkLimit({ name: 'maxHops', value: budget.maxHops }, refuse)
  checkLimit({ name: 'maxDepth', value: budget.maxDepth }, refuse)
  checkLimit({ name: 'maxSeconds', value: budget.maxSeconds, max }, refuse)
  checkLimit({ name: 'maxTokens', value: budget.maxTokens, max }, refuse)
}

/** The way from a team back to itself through the teams it contains. */
function findCycle(config: TeamConfig, manager: AgentManager): readonly string[] | undefined {
  const visit = (
    team: Pick<HasMembers, 'config' | 'manager'>,
    path: string[],
  ): string[] | undefined => {
    for (const { agentId } of team.config.agents) {
      const here = [...path, agentId]
      if (agentId === config.id && team.manager === manager) return here
      const member = team.manager.get(agentId)
      if (!isTeam(member) || path.includes(agentId)) continue
      const found = visit(member, here)
      if (found) return found
    }
    return undefined
  }
  return visit({ config, manager }, [config.id])
}
