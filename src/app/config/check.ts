import type { Agent } from '../../agents/agent.ts'
import { type AgentConfig, ConfigConversionError } from '../../agents/config.ts'
import { type AgentPlan, planAgent } from '../../agents/create.ts'
import { GuardFault } from '../../agents/guards/ready.ts'
import { UncheckableSchema } from '../../agents/schema.ts'
import { nearest } from '../../shared/nearest.ts'
import { toSnakeCase } from '../../shared/text.ts'
import type { TeamFault, TeamPath } from '../../team/faults.ts'
import { AgentManager } from '../../team/manager.ts'
import type { TeamConfig } from '../../team/team-config.ts'
import { InvalidTeamError, validateTeam } from '../../team/validate.ts'
import type { Config } from './file.ts'
import { checkJudges } from './judges.ts'
import type { Unplaced } from './problems.ts'
import { type ConfigVariables, valueAt } from './values.ts'

/** What is wrong with a file, and how its agents are made if nothing is. */
interface Checked {
  readonly problems: readonly Unplaced[]
  readonly plans: NonNullable<Config['plans']>
}

/** What only the whole file shows: ids used twice, values out of range, members that are nowhere, teams in circles. */
export function checkConfig(config: Config, environment: ConfigVariables): Checked {
  const plans = new Map<AgentConfig, AgentPlan>()
  if (config.agents.length === 0 && config.teams.length === 0) return { plans, problems: [nothing] }
  const problems = [...checkIds(config)]
  for (const [index, agent] of config.agents.entries())
    try {
      plans.set(agent, planAgent(agent, environment))
    } catch (error) {
      if (!(error instanceof ConfigConversionError)) throw error
      problems.push(describeAgent(error, index))
    }
  if (problems.length === 0) problems.push(...checkTeams(config), ...checkJudges(config))
  return { plans, problems }
}

const nothing: Unplaced = {
  path: [],
  message: 'the file has neither agents nor teams',
  hint: '"corral init" writes one to begin with',
}

/** An id is a path segment of the server's, so a slash cannot stand in it. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/

function checkIds({ agents, teams }: Config): readonly Unplaced[] {
  const seen = new Set<string>()
  const entries = [
    ...agents.map(({ id }, index) => ({ id, path: ['agents', index, 'id'] })),
    ...teams.map(({ id }, index) => ({ id, path: ['teams', index, 'id'] })),
  ]
  return entries.flatMap(({ id, path }) => {
    const twice = seen.has(id)
    seen.add(id)
    const hint = 'agents and teams share their ids; rename one'
    if (twice) return [{ path, message: `the id ${id} is used twice`, hint }]
    if (idPattern.test(id)) return []
    return [{ path, message: `the id ${id} must be letters, digits, ".", "_", ":" or "-"` }]
  })
}

function describeAgent(error: ConfigConversionError, index: number): Unplaced {
  const { fault, message, cause } = error
  const field = 'field' in fault ? fault.field.split('.') : []
  if (fault.variant === 'UnknownField') {
    const [table, key] = fault.meant.split('.')
    const meant = table === field[0] ? key : `${key} in [agents.${table}]`
    const path = ['agents', index, ...field]
    return { path, message: `unknown key ${field.at(-1)}`, hint: `did you mean ${meant}?` }
  }
  const hint = ('hint' in fault ? fault.hint : undefined) ?? hints[field.join('.')]
  const { path, offset } = placeOf(cause, field)
  return { path: ['agents', index, ...path], offset, message, ...(hint && { hint }) }
}

/** Where in an agent's table it stands: of what has parts, the very part. */
function placeOf(cause: unknown, field: readonly string[]): Pick<Unplaced, 'path' | 'offset'> {
  if (cause instanceof GuardFault) return { path: ['guards', ...cause.path], offset: cause.offset }
  if (cause instanceof UncheckableSchema)
    return { path: [...field, ...cause.path], offset: cause.offset }
  return { path: field }
}

/** What else would do, where a field is missing or wrong. */
const hints: Readonly<Record<string, string>> = {
  'metadata.api_key': 'or set the variable OPENAI_API_KEY',
}

/** A team is checked by the same rules as in code, with stand-ins for agents that are not made yet. */
function checkTeams({ agents, teams }: Config): readonly Unplaced[] {
  const manager = new AgentManager()
  for (const { id } of agents) manager.registerWithId(id, standIn)
  for (const team of teams) manager.registerWithId(team.id, withMembers(team, manager))
  return teams.flatMap((team, index) => {
    try {
      validateTeam(team, manager, { modulesLater: true })
      return []
    } catch (error) {
      if (!(error instanceof InvalidTeamError)) throw error
      return [describeTeam(error, { team, index, ids: manager.listIds() })]
    }
  })
}

const standIn: Agent = {
  info: () => ({ id: '', name: '', description: '', capabilities: [], metadata: {} }),
  process: () => undefined,
}

function withMembers(config: TeamConfig, manager: AgentManager): Agent {
  return Object.assign({ ...standIn }, { config, manager })
}

interface Where {
  readonly team: TeamConfig
  readonly index: number
  readonly ids: readonly string[]
}

/** Faults of an id, and whose ids it can have been meant to be. */
const misnamed: Partial<Record<TeamFault, 'members' | 'all'>> = {
  unregisteredMember: 'all',
  notAMember: 'members',
  missingSupervisor: 'members',
  missingDefaultAgent: 'members',
}

function describeTeam(error: InvalidTeamError, { team, index, ids }: Where): Unplaced {
  const { fault, path, offset, reason } = error
  const words = reason.replace(/^[a-z]+[A-Z][A-Za-z]*(?=[ :])/, (key) =>
    path.includes(key) ? toSnakeCase(key) : key,
  )
  const known = misnamed[fault] === 'members' ? team.agents.map(({ agentId }) => agentId) : ids
  const hint = misnamed[fault] && meantId(valueAt(team, path), known)
  return {
    path: ['teams', index, ...toTomlPath(path, team)],
    message: `Team "${team.id}": ${words}`,
    offset,
    ...(hint && { hint }),
  }
}

function meantId(id: unknown, known: readonly string[]): string {
  const meant = nearest(String(id), known)
  return meant ? `did you mean ${meant}?` : `known: ${known.join(', ')}`
}

/**
 * A file's names are those of the code in snake case, but for the table of the scheduler, which goes by its kind, and
 * for what stands in a schema, whose names are its own.
 */
function toTomlPath([first, ...rest]: TeamPath, { scheduler }: TeamConfig): readonly PropertyKey[] {
  if (first === undefined) return []
  const table = scheduler.type === 'router' ? 'router_config' : 'scheduler_config'
  const names = [first === 'scheduler' ? table : first, ...rest]
  const schema = names.findIndex((name) => name === 'outputSchema' || name === 'schema')
  return names.map((name, index) =>
    typeof name === 'string' && (schema < 0 || index <= schema) ? toSnakeCase(name) : name,
  )
}
