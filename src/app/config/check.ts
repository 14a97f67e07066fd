import type { Agent } from '../../agents/agent.ts'
import { type AgentConfig, ConfigConversionError } from '../../agents/config.ts'
import { type AgentPlan, planAgent } from '../../agents/create.ts'
import { nearest } from '../../shared/nearest.ts'
import { AgentManager } from '../../team/manager.ts'
import type { TeamConfig } from '../../team/team-config.ts'
import { InvalidTeamError, validateTeam } from '../../team/validate.ts'
import type { Config } from './file.ts'
import type { Unplaced } from './problems.ts'
import type { ConfigVariables } from './values.ts'

/** What is wrong with a file, and how its agents are made if nothing is. */
interface Checked {
  readonly problems: readonly Unplaced[]
  readonly plans: NonNullable<Config['plans']>
}

/** What only the whole file shows: ids used twice, values out of range, members that are nowhere, teams in circles. */
export function checkConfig(config: Config, environment: ConfigVariables): Checked {
  const plans = new Map<AgentConfig, AgentPlan>()
  if (config.agents.length === 0 && config.teams.length === 0)
    return { plans, problems: [{ path: [], message: 'the file has neither agents nor teams' }] }
  const problems = [...checkIds(config)]
  for (const [index, agent] of config.agents.entries())
    try {
      plans.set(agent, planAgent(agent, environment))
    } catch (error) {
      if (!(error instanceof ConfigConversionError)) throw error
      problems.push(describeAgent(error, index))
    }
  return { plans, problems: problems.length > 0 ? problems : checkTeams(config) }
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
    if (twice) return [{ path, message: `the id ${id} is used twice` }]
    if (idPattern.test(id)) return []
    return [{ path, message: `the id ${id} must be letters, digits, ".", "_", ":" or "-"` }]
  })
}

function describeAgent({ fault, message }: ConfigConversionError, index: number): Unplaced {
  const field = 'field' in fault ? fault.field.split('.') : []
  if (fault.variant === 'UnknownField') {
    const [table, key] = fault.meant.split('.')
    const meant = table === field[0] ? key : `${key} in [agents.${table}]`
    const path = ['agents', index, ...field]
    return { path, message: `unknown key ${field.at(-1)}`, hint: `did you mean ${meant}?` }
  }
  const hint = hints[field.join('.')]
  return { path: ['agents', index, ...field], message, ...(hint && { hint }) }
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
      validateTeam(team, manager)
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

function describeTeam(error: InvalidTeamError, { team, index, ids }: Where): Unplaced {
  const path: PropertyKey[] = ['teams', index]
  const { message } = error
  if (error.fault !== 'unregisteredMember') return { path, message }
  const member = team.agents.findIndex(({ agentId }) => !ids.includes(agentId))
  const meant = nearest(team.agents[member]?.agentId ?? '', ids)
  return {
    path: [...path, 'agents', member, 'agent_id'],
    message,
    ...(meant && { hint: `did you mean ${meant}?` }),
  }
}
