import { z } from 'zod'
import type { AgentProvider } from '../../protocol/types.ts'
import type { BudgetConfig, SchedulerConfig, TeamConfig, TeamMode } from '../../team/team-config.ts'
import { stepSchema } from './steps.ts'
import { numeric, optional, text, word } from './values.ts'

const memberSchema = z
  .strictObject({
    agent_id: text,
    role: z.string().optional(),
    capabilities: z.array(text).optional(),
  })
  .transform((member) => ({
    agentId: member.agent_id,
    ...optional('role', member.role),
    ...optional('capabilities', member.capabilities),
  }))

const schedulerSchema = z.strictObject({
  type: word(['supervisor', 'workflow'], ['Supervisor', 'Workflow']).optional(),
  supervisor_agent_id: text.optional(),
  max_rounds: numeric.optional(),
  steps: z.array(stepSchema).optional(),
})

const routerSchema = z.strictObject({
  default_agent_id: text,
  max_routing_hops: numeric.optional(),
})

/** The tables of a team that say how it works. */
interface ModeTables {
  readonly scheduler_config?: z.output<typeof schedulerSchema> | undefined
  readonly router_config?: z.output<typeof routerSchema> | undefined
}

type AddIssue = (path: readonly string[], message: string) => void

/** Reads the tables of a mode. One that contradicts them is refused, and so is one whose table is missing. */
type ReadScheduler = (tables: ModeTables, refuse: AddIssue) => SchedulerConfig | undefined

/** How each mode stands in a file. A mode without its row does not compile. */
const readers: Readonly<Record<TeamMode, ReadScheduler>> = {
  supervisor({ scheduler_config: config }, refuse) {
    if (!config) return noTable('supervisor', 'scheduler_config', refuse)
    if (config.steps) refuse(['scheduler_config', 'steps'], 'do not belong to a supervisor')
    if (config.supervisor_agent_id === undefined)
      refuse(['scheduler_config'], 'needs a supervisor_agent_id')
    if (config.steps || config.supervisor_agent_id === undefined) return undefined
    return {
      type: 'supervisor',
      supervisorAgentId: config.supervisor_agent_id,
      ...optional('maxRounds', config.max_rounds),
    }
  },
  workflow({ scheduler_config: config }, refuse) {
    if (!config) return noTable('workflow', 'scheduler_config', refuse)
    if (config.supervisor_agent_id === undefined)
      return { type: 'workflow', steps: config.steps ?? [] }
    refuse(['scheduler_config', 'supervisor_agent_id'], 'does not belong in a workflow')
    return undefined
  },
  router({ router_config: config }, refuse) {
    if (!config) return noTable('router', 'router_config', refuse)
    return {
      type: 'router',
      defaultAgentId: config.default_agent_id,
      ...optional('maxRoutingHops', config.max_routing_hops),
    }
  },
}

function noTable(mode: TeamMode, table: string, refuse: AddIssue): undefined {
  refuse(['mode'], `${mode} needs a [teams.${table}] table`)
}

const modes = Object.keys(readers) as TeamMode[] // the keys of the table above

const providerSchema: z.ZodType<AgentProvider> = z
  .strictObject({ name: text.optional(), organization: text.optional(), url: text })
  .refine(({ name, organization }) => name ?? organization, 'a provider needs a name')
  .transform(({ name, organization, url }) => ({ organization: organization ?? name ?? '', url }))

const budgetSchema: z.ZodType<BudgetConfig> = z
  .strictObject({
    max_hops: numeric.optional(),
    max_depth: numeric.optional(),
    max_seconds: numeric.optional(),
    max_tokens: numeric.optional(),
  })
  .transform((budget) => ({
    ...optional('maxHops', budget.max_hops),
    ...optional('maxDepth', budget.max_depth),
    ...optional('maxSeconds', budget.max_seconds),
    ...optional('maxTokens', budget.max_tokens),
  }))

const capabilitySchema = z.strictObject({
  name: text,
  description: z.string().optional(),
  version: text.optional(),
})

/** `[[teams]]`. */
export const teamSchema: z.ZodType<TeamConfig> = z
  .strictObject({
    id: text,
    name: text,
    description: z.string(),
    mode: word(modes, ['Supervisor', 'Workflow']).optional(),
    agents: z.array(memberSchema).optional(),
    scheduler_config: schedulerSchema.optional(),
    router_config: routerSchema.optional(),
    budget: budgetSchema.optional(),
    version: text.optional(),
    provider: providerSchema.optional(),
    capability_details: z.array(capabilitySchema).optional(),
    skills: z.array(z.strictObject({ name: text, proficiency: text })).optional(),
  })
  .transform((team, context): TeamConfig => {
    const scheduler = toScheduler(team, (path, message) =>
      context.addIssue({ code: 'custom', path: [...path], message }),
    )
    if (!scheduler) return z.NEVER
    return {
      id: team.id,
      name: team.name,
      description: team.description,
      agents: team.agents ?? [],
      scheduler,
      ...optional('budget', team.budget),
      ...optional('version', team.version),
      ...optional('provider', team.provider),
      ...optional('capabilityDetails', team.capability_details?.map(toCapability)),
      ...optional('proficiencies', team.skills),
    }
  })

/** The mode, `scheduler_config.type` and the table that is there must say the same thing. */
function toScheduler(
  team: ModeTables & { readonly mode?: TeamMode | undefined },
  refuse: AddIssue,
): SchedulerConfig | undefined {
  const { scheduler_config: config, router_config: router } = team
  const said = new Set([team.mode, config?.type, router && ('router' as const)])
  said.delete(undefined)
  const [mode] = said
  if (said.size > 1) refuse(['mode'], `contradicts the tables below it (${[...said].join(', ')})`)
  else if (mode === undefined)
    refuse([], `needs a mode: ${modes.slice(0, -1).join(', ')} or ${modes.at(-1)}`)
  else return readers[mode](team, refuse)
  return undefined
}

function toCapability(detail: z.output<typeof capabilitySchema>): {
  name: string
  description: string
  version: string
} {
  const { name, description = name, version = '1.0.0' } = detail
  return { name, description, version }
}
