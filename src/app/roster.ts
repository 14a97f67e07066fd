import type { Agent } from '../agents/agent.ts'
import { type AgentConfig, ConfigConversionError } from '../agents/config.ts'
import { type AgentDeps, modulesOf, planAgent, withModules } from '../agents/create.ts'
import type { Guards } from '../agents/guards/guard.ts'
import { digestModules } from '../agents/module.ts'
import type { ModelPrices } from '../agents/prices.ts'
import { toSnakeCase } from '../shared/text.ts'
import type { TeamConfig } from '../team/config.ts'
import { AgentManager } from '../team/manager.ts'
import { Team, type TeamOptions, unpricedWarnings, warningsOf } from '../team/team.ts'
import { guardsIn, judgesIn } from '../team/validate.ts'
import type { Config } from './config/file.ts'

/** What agents and teams of a configuration get from around it. */
export interface BuildDeps extends AgentDeps, Omit<TeamOptions, 'clock' | 'random'> {}

/** All agents and teams of a configuration. It never changes: a changed file gives another roster. */
export interface Roster {
  /** What a server serves: the teams in the file's order, then the single agents, without those of `expose = false`. */
  readonly agents: readonly Agent[]
  readonly teams: readonly Team[]
  /** The registry of all of them. */
  readonly manager: AgentManager
  /** What models cost. */
  readonly prices?: ModelPrices
  /** What stands in the file and means nothing. */
  readonly warnings?: readonly string[]
  /** Closes all agents. May be called twice. */
  close(): Promise<void>
}

/**
 * Makes all agents and teams of a configuration. Nobody is contacted, so a member that is down does not stop the
 * start.
 * @throws Error that names the agent whose file cannot be loaded.
 */
export async function createRoster(config: Config, deps: BuildDeps): Promise<Roster> {
  const manager = new AgentManager(pick(deps))
  const inFile = { ...deps, agentOf: (id: string) => manager.get(id) }
  const prices = pricesOf(config, deps)
  try {
    for (const agent of config.agents)
      manager.registerWithId(agent.id, await createNamed(agent, config, inFile))
    const isChecked = config.plans !== undefined
    for (const team of inBuildOrder(config.teams)) {
      const digest = codeDigestOf(team, deps.directory)
      const loaded = await loadTeamGuards(team, config, deps)
      const options = { ...pickForTeam(deps), ...prices, ...digest, isChecked }
      manager.registerWithId(team.id, new Team(loaded, manager, options))
    }
  } catch (error) {
    await manager.close()
    throw error
  }
  const teams = config.teams.flatMap(({ id }) => {
    const team = manager.get(id)
    return team instanceof Team ? [team] : []
  })
  const exposed = config.agents.filter(({ expose }) => expose !== false)
  const single = exposed.flatMap(({ id }) => manager.get(id) ?? [])
  const close = (): Promise<void> => manager.close()
  const { warnings } = config
  const found = { ...prices, ...(warnings && { warnings }) }
  return { agents: [...teams, ...single], teams, manager, ...found, close }
}

/** What is said outside the file comes before what it says. */
function pricesOf({ prices: own }: Config, { prices: given }: BuildDeps): Pick<Roster, 'prices'> {
  return own || given ? { prices: { ...own, ...given } } : {}
}

/** Lists what a configuration says of its teams that its author hardly meant. Nobody is contacted. */
export async function rosterWarnings({
  teams,
  manager,
  prices = {},
  warnings = [],
}: Pick<Roster, 'teams' | 'manager' | 'prices' | 'warnings'>): Promise<readonly string[]> {
  const lists = await Promise.all(
    teams.map(async ({ config }) => [
      ...(await warningsOf(config, manager)),
      ...(await unpricedWarnings(config, manager, prices)),
    ]),
  )
  return [...warnings, ...lists.flat()]
}

/**
 * Makes one team of a configuration, with the agents and teams it needs and no others. Its `manager.close()` closes
 * them.
 * @throws Error that names the teams there are when there is none of this id.
 */
export async function createTeamFromConfig(
  config: Config,
  teamId: string,
  deps: BuildDeps,
): Promise<Team> {
  const needed = reachable(config, teamId)
  const { plans } = config
  const { teams } = await createRoster(
    {
      ...config,
      ...(plans && { plans }),
      agents: config.agents.filter(({ id }) => needed.has(id)),
      teams: config.teams.filter(({ id }) => needed.has(id)),
    },
    deps,
  )
  const team = teams.find(({ config: { id } }) => id === teamId)
  if (team) return team
  const known = config.teams.map(({ id }) => id).join(', ') || 'none'
  throw new Error(`There is no team "${teamId}"; teams: ${known}`)
}

function reachable({ agents, teams }: Config, teamId: string): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (id: string): void => {
    if (found.has(id)) return
    found.add(id)
    for (const { agentId } of teams.find((team) => team.id === id)?.agents ?? []) visit(agentId)
    const { guards = {} } = agents.find((agent) => agent.id === id) ?? {}
    for (const { member } of judgesIn(guards)) visit(member)
  }
  visit(teamId)
  return found
}

async function createNamed(agent: AgentConfig, config: Config, deps: BuildDeps): Promise<Agent> {
  try {
    const create = config.plans?.get(agent) ?? planAgent(agent, deps.environment)
    return await create(deps)
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : 'it cannot be made'
    const message = `Agent "${agent.id}": ${words}`
    const { refuse } = config
    if (!refuse) throw new Error(message, { cause })
    const path = ['agents', config.agents.indexOf(agent), ...fieldOf(cause)]
    throw refuse([{ path, message }], { cause })
  }
}

/** Where in an agent's table what cannot be made stands: `tools.0.module` is the module of the first of its tools. */
function fieldOf(cause: unknown): readonly PropertyKey[] {
  const fault = cause instanceof ConfigConversionError ? cause.fault : undefined
  if (!fault || !('field' in fault)) return ['endpoint']
  return fault.field.split('.').map((key) => (/^\d{1,9}$/.test(key) ? Number(key) : key))
}

/** Teams in an order in which every team comes after the teams that it contains. Circles have been refused before. */
function inBuildOrder(teams: readonly TeamConfig[]): readonly TeamConfig[] {
  const byId = new Map(teams.map((team) => [team.id, team]))
  const ordered = new Set<TeamConfig>()
  const place = (team: TeamConfig): void => {
    if (ordered.has(team)) return
    for (const { agentId } of team.agents) {
      const inner = byId.get(agentId)
      if (inner) place(inner)
    }
    ordered.add(team)
  }
  for (const team of teams) place(team)
  return [...ordered]
}

function pickForTeam({ clock, random, exposeMembers }: BuildDeps): TeamOptions {
  return {
    ...(clock && { clock }),
    ...(random && { random }),
    ...(exposeMembers !== undefined && { exposeMembers }),
  }
}

function pick({ clock, log }: BuildDeps): Pick<BuildDeps, 'clock' | 'log'> {
  return { ...(clock && { clock }), ...(log && { log }) }
}

/** The files of code that a team's guards name, as the configuration writes them. */
export function guardModulesOf(team: TeamConfig): readonly string[] {
  return guardsIn(team).flatMap(({ guards }) => modulesOf(guards))
}

/** A digest of those files; absent where there are none. */
function codeDigestOf(team: TeamConfig, directory: string): { readonly codeDigest?: string } {
  const files = guardModulesOf(team)
  return files.length > 0 ? { codeDigest: digestModules(files, directory) } : {}
}

interface GuardDeps {
  readonly directory: string
  readonly moduleState?: string
}

/**
 * A team with the functions of its guards' modules.
 * @throws Error that names the team and the file that cannot be loaded, and where it is named.
 */
async function loadTeamGuards(
  team: TeamConfig,
  config: Config,
  deps: GuardDeps,
): Promise<TeamConfig> {
  let loaded = team
  for (const { guards, path } of guardsIn(team)) {
    if (modulesOf(guards).length === 0) continue
    try {
      loaded = placed(loaded, path, await withModules(guards, deps)) as TeamConfig // one value in it is another one
    } catch (cause) {
      if (!(cause instanceof ConfigConversionError)) throw cause
      throw faultOf(cause, { team, config, path })
    }
  }
  return loaded
}

interface FaultPlace {
  readonly team: TeamConfig
  readonly config: Config
  readonly path: readonly (string | number)[]
}

function faultOf(cause: ConfigConversionError, { team, config, path }: FaultPlace): Error {
  const message = `Team "${team.id}": ${cause.message}`
  if (!config.refuse) return new Error(message, { cause })
  const field = 'field' in cause.fault ? cause.fault.field.split('.').slice(1) : []
  const names = path.map((key) => (typeof key === 'string' ? toSnakeCase(key) : key))
  const [first, ...rest] = names
  const at = [first === 'scheduler' ? 'scheduler_config' : first, ...rest, ...field]
  const index = config.teams.findIndex(({ id }) => id === team.id)
  return config.refuse([{ path: ['teams', index, ...at.map((key) => key ?? '')], message }], {
    cause,
  })
}

/** A copy of plain data with another value at a place. */
function placed(value: unknown, path: readonly (string | number)[], guards: Guards): unknown {
  const [key, ...rest] = path
  if (key === undefined) return guards
  if (Array.isArray(value))
    return value.map((item, index) => (index === key ? placed(item, rest, guards) : item))
  const fields: Readonly<Record<string, unknown>> = Object(value)
  return { ...fields, [key]: placed(fields[key], rest, guards) }
}
