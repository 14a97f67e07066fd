import { ConfigConversionError } from '../agents/config.ts'
import type { Guards } from '../agents/guards/guard.ts'
import { modulesOf, withModules } from '../agents/guards/load.ts'
import { toSnakeCase } from '../shared/text.ts'
import { guardsIn } from '../team/check-guards.ts'
import type { TeamConfig } from '../team/team-config.ts'
import type { Config } from './config/file.ts'

/** The files of guards that a configuration names. */
export function guardModulesOf({ agents, teams }: Config): readonly string[] {
  const ofAgents = agents.flatMap(({ guards }) => (guards ? modulesOf(guards) : []))
  const ofTeams = teams.flatMap((team) => guardsIn(team).flatMap(({ guards }) => modulesOf(guards)))
  return [...ofAgents, ...ofTeams]
}

interface GuardDeps {
  readonly directory: string
  readonly moduleState?: string
}

/**
 * A team with the functions of its guards' modules.
 * @throws Error that names the team and the file that cannot be loaded, and where it is named.
 */
export async function loadTeamGuards(
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
