import type { Agent } from '../agents/agent.ts'
import { isSemanticVersion, validateAgentId } from '../protocol/card.ts'
import { hardCap } from './budget.ts'
import type { AgentManager } from './manager.ts'
import {
  type CallRules,
  type Step,
  stepAgents,
  type TeamConfig,
  type TeamMode,
} from './team-config.ts'

/** What is wrong with a team, found when it is made (000's validation rules). */
export type TeamFault =
  | 'missingName'
  | 'invalidId'
  | 'invalidVersion'
  | 'unnamedCapability'
  | 'unknownScheduler'
  | 'empty'
  | 'duplicateMember'
  | 'unregisteredMember'
  | 'notAMember'
  | 'missingSupervisor'
  | 'missingDefaultAgent'
  | 'emptyWorkflow'
  | 'invalidLimit'
  | 'cycle'

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
export function isTeam(agent: Agent | undefined): agent is HasMembers {
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
  checkLimits(config, refuse)
  const path = findCycle(config, manager)
  if (path) refuse('cycle', `a team cannot contain itself (${path.join(' > ')})`)
  for (const id of members)
    if (!manager.get(id)) refuse('unregisteredMember', `agent "${id}" is not registered`)
}

type Refuse = (fault: TeamFault, reason: string) => never

const schedulers: Readonly<Record<TeamMode, true>> = {
  supervisor: true,
  workflow: true,
  router: true,
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
  if (!Object.hasOwn(schedulers, scheduler.type))
    refuse(
      'unknownScheduler',
      `there is no scheduler "${scheduler.type}"; supervisor, workflow and router are known`,
    )
  if (scheduler.type === 'supervisor' && !members.has(scheduler.supervisorAgentId))
    refuse('missingSupervisor', `supervisor "${scheduler.supervisorAgentId}" is not a member`)
  if (scheduler.type === 'router' && !members.has(scheduler.defaultAgentId))
    refuse('missingDefaultAgent', `default agent "${scheduler.defaultAgentId}" is not a member`)
  if (scheduler.type !== 'workflow') return
  if (scheduler.steps.length === 0) refuse('emptyWorkflow', 'a workflow needs at least one step')
  for (const id of scheduler.steps.flatMap(stepAgents))
    if (!members.has(id)) refuse('notAMember', `a step names "${id}", which is not a member`)
}

function checkLimits({ scheduler, budget = {} }: TeamConfig, refuse: Refuse): void {
  const check = (name: string, value: number | undefined, max: number): void => {
    if (value !== undefined && !(value > 0 && value <= max))
      refuse('invalidLimit', `${name} must be more than 0 and at most ${max}, not ${value}`)
  }
  check('maxHops', budget.maxHops, hardCap)
  check('maxDepth', budget.maxDepth, hardCap)
  check('maxSeconds', budget.maxSeconds, Number.MAX_SAFE_INTEGER)
  check('maxTokens', budget.maxTokens, Number.MAX_SAFE_INTEGER)
  if (scheduler.type === 'router') check('maxRoutingHops', scheduler.maxRoutingHops, hardCap)
  if (scheduler.type === 'supervisor') check('maxRounds', scheduler.maxRounds, hardCap)
  if (scheduler.type === 'workflow') for (const step of scheduler.steps) checkStep(step, refuse)
}

function checkStep(step: Step, refuse: Refuse): void {
  if ('agentId' in step) checkCall(step, refuse)
  else if ('map' in step) checkCall(step.map, refuse)
  else if ('parallel' in step) {
    if (step.parallel.length === 0) refuse('emptyWorkflow', 'a parallel step needs branches')
    for (const branch of step.parallel) checkStep(branch, refuse)
  } else if ('loop' in step) {
    const { steps, maxIterations } = step.loop
    if (steps.length === 0) refuse('emptyWorkflow', 'a loop needs steps')
    if (!(Number.isInteger(maxIterations) && maxIterations >= 1 && maxIterations <= hardCap))
      refuse('invalidLimit', `maxIterations must be from 1 to ${hardCap}, not ${maxIterations}`)
    for (const inner of steps) checkStep(inner, refuse)
  }
}

/** The same ranges as an agent's own (conflict C-23). */
function checkCall({ timeoutSeconds, maxRetries }: CallRules, refuse: Refuse): void {
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds < 300))
    refuse('invalidLimit', `timeoutSeconds must be > 0 and < 300 seconds, not ${timeoutSeconds}`)
  if (
    maxRetries !== undefined &&
    !(Number.isInteger(maxRetries) && maxRetries >= 0 && maxRetries <= 10)
  )
    refuse('invalidLimit', `maxRetries must be a whole number from 0 to 10, not ${maxRetries}`)
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
