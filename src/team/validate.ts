import type { Agent } from '../agents/agent.ts'
import { isSemanticVersion, validateAgentId } from '../protocol/card.ts'
import { nearest } from '../shared/nearest.ts'
import { checkTeamGuards, type GuardCheckOptions } from './check-guards.ts'
import { checkLimit, type Refuse, type TeamFault, type TeamPath } from './faults.ts'
import { InvalidTeamError } from './invalid.ts'
import type { AgentManager } from './manager.ts'
import { builtInTypes, isKind, kindOf } from './schedulers/kinds.ts'
import { checkTeamShape } from './shape.ts'
import type { TeamConfig } from './team-config.ts'

export { InvalidTeamError } from './invalid.ts'

/** An agent that has members: a team. Told by its shape, so that teams of another copy of this package count too. */
interface HasMembers extends Agent {
  readonly config: TeamConfig
  readonly manager: AgentManager
}

/** Whether an agent is a team. */
export function isTeam(agent: Agent | undefined): agent is HasMembers {
  return agent !== undefined && 'config' in agent && 'manager' in agent
}

/** Checks a team before it exists. @throws InvalidTeamError that names the team, the fault and the ids. */
export function validateTeam(
  config: TeamConfig,
  manager: AgentManager,
  options: GuardCheckOptions = {},
): void {
  const refuse: Refuse = (fault, reason, at) => {
    const { path, offset } = 'path' in at ? at : { path: at, offset: undefined }
    const meant = nearestId(fault, path, { config, manager })
    throw new InvalidTeamError(config.id, fault, { reason, path, offset, meant })
  }
  checkTeamShape(config, refuse)
  if (config.id.trim() === '') refuse('missingName', 'a team needs an id', ['id'])
  if (config.name.trim() === '') refuse('missingName', 'a team needs a name', ['name'])
  if (!validateAgentId(config.id))
    refuse('invalidId', 'the id must be a UUID or a qualified name', ['id'])
  checkVersions(config, refuse)
  if (config.agents.length === 0) refuse('empty', 'a team needs at least one member', [])
  const members = new Set<string>()
  for (const [index, { agentId }] of config.agents.entries()) {
    if (members.has(agentId))
      refuse('duplicateMember', `"${agentId}" is a member twice`, ['agents', index, 'agentId'])
    members.add(agentId)
  }
  checkScheduler(config, members, refuse)
  checkBudget(config, refuse)
  checkTeamGuards(config, refuse, options)
  checkMembers(config, manager, refuse)
}

/** Faults of an id, and whose ids it can have been meant to be. */
const misnamed: Partial<Record<TeamFault, 'members' | 'all'>> = {
  unregisteredMember: 'all',
  notAMember: 'members',
  missingSupervisor: 'members',
  missingDefaultAgent: 'members',
}

function nearestId(
  fault: TeamFault,
  path: TeamPath,
  { config, manager }: Pick<HasMembers, 'config' | 'manager'>,
): string | undefined {
  if (!misnamed[fault]) return undefined
  const members = config.agents.map(({ agentId }) => agentId)
  return nearest(
    String(valueAt(config, path)),
    misnamed[fault] === 'all' ? manager.listIds() : members,
  )
}

function valueAt(value: unknown, path: TeamPath): unknown {
  return path.reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), value)
}

/** What cards show of a team: semantic versions, and capabilities with a name. */
function checkVersions({ version, capabilityDetails = [] }: TeamConfig, refuse: Refuse): void {
  const mustBeVersion = (given: string | undefined, path: TeamPath): void => {
    if (given !== undefined && !isSemanticVersion(given))
      refuse('invalidVersion', `"${given}" is not a semantic version such as 1.0.0`, path)
  }
  mustBeVersion(version, ['version'])
  for (const [index, detail] of capabilityDetails.entries()) {
    const path = ['capabilityDetails', index]
    if (detail.name.trim() === '')
      refuse('unnamedCapability', 'a capability needs a name', [...path, 'name'])
    mustBeVersion(detail.version, [...path, 'version'])
  }
}

function checkScheduler(
  { scheduler }: TeamConfig,
  members: ReadonlySet<string>,
  refuse: Refuse,
): void {
  const path = ['scheduler', 'type']
  if (!isKind(scheduler.type)) {
    const known = `${builtInTypes} are known`
    refuse('unknownScheduler', `there is no scheduler "${scheduler.type}"; ${known}`, path)
  }
  const kind = kindOf(scheduler)
  kind.check(scheduler, members, refuse)
  const mode = kind.mode(scheduler)
  if (mode !== scheduler.type && isKind(mode))
    refuse('invalidScheduler', `a scheduler of one's own cannot be called "${mode}"`, path)
}

function checkBudget({ budget = {} }: TeamConfig, refuse: Refuse): void {
  const at = ['budget']
  const max = Number.MAX_SAFE_INTEGER
  checkLimit({ at, name: 'maxHops', value: budget.maxHops }, refuse)
  checkLimit({ at, name: 'maxDepth', value: budget.maxDepth }, refuse)
  checkLimit({ at, name: 'maxSeconds', value: budget.maxSeconds, max }, refuse)
  checkLimit({ at, name: 'maxTokens', value: budget.maxTokens, max }, refuse)
  checkLimit({ at, name: 'maxCostUsd', value: budget.maxCostUsd, max }, refuse)
}

function checkMembers(config: TeamConfig, manager: AgentManager, refuse: Refuse): void {
  const way = findCycle(config, manager)
  if (way) {
    const index = config.agents.findIndex(({ agentId }) => agentId === way[1])
    const reason = `a team cannot contain itself (${way.join(' > ')})`
    refuse('cycle', reason, ['agents', index, 'agentId'])
  }
  for (const [index, { agentId }] of config.agents.entries())
    if (!manager.get(agentId)) {
      const reason = `agent "${agentId}" is not registered`
      refuse('unregisteredMember', reason, ['agents', index, 'agentId'])
    }
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
