import { z } from 'zod'
import type { AgentProvider } from '../../protocol/types.ts'
import type { BudgetConfig, SchedulerConfig, TeamConfig, TeamMode } from '../../team/team-config.ts'
import { guardsSchema } from './guards.ts'
import { stepSchema } from './steps.ts'
import { filledText, numberLike, whenGiven, word } from './values.ts'

const memberSchema = z
  .strictObject({
    agent_id: filledText,
    role: z.string().optional(),
    capabilities: z.array(filledText).optional(),
  })
  .transform((member) => ({
    agentId: member.agent_id,
    ...whenGiven('role', member.role),
    ...whenGiven('capabilities', member.capabilities),
  }))

const schedulerSchema = z.strictObject({
  type: word(['supervisor', 'workflow'], ['Supervisor', 'Workflow']).optional(),
  supervisor_agent_id: filledText.optional(),
  max_rounds: numberLike.optional(),
  steps: z.array(stepSchema).optional(),
})

const routerSchema = z.strictObject({
  default_agent_id: filledText,
  max_routing_hops: numberLike.optional(),
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
      ...whenGiven('maxRounds', config.max_rounds),
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
      ...whenGiven('maxRoutingHops', config.max_routing_hops),
    }
  },
}

function noTable(mode: TeamMode, table: string, refuse: AddIssue): undefined {
  refuse(['mode'], `${mode} needs a [teams.${table}] table`)
}

const modes = Object.keys(readers) as TeamMode[] // the keys of the table above

const providerSchema: z.ZodType<AgentProvider> = z
  .strictObject({
    name: filledText.optional(),
    organization: filledText.optional(),
    url: filledText,
  })
  .refine(({ name, organization }) => name ?? organization, 'a provider needs a name')
  .transform(({ name, organization, url }) => ({ organization: organization ?? name ?? '', url }))

const budgetSchema: z.ZodType<BudgetConfig> = z
  .strictObject({
    max_hops: numberLike.optional(),
    max_depth: numberLike.optional(),
    max_seconds: numberLike.optional(),
    max_tokens: numberLike.optional(),
    max_cost_usd: numberLike.optional(),
  })
  .transform((budget) => ({
    ...whenGiven('maxHops', budget.max_hops),
    ...whenGiven('maxDepth', budget.max_depth),
    ...whenGiven('maxSeconds', budget.max_seconds),
    ...whenGiven('maxTokens', budget.max_tokens),
    ...whenGiven('maxCostUsd', budget.max_cost_usd),
  }))

const capabilitySchema = z.strictObject({
  name: filledText,
  description: z.string().optional(),
  version: filledText.optional(),
})

/** `[[teams]]`. */
export const teamSchema: z.ZodType<TeamConfig> = z
  .strictObject({
    id: filledText,
    name: filledText,
    description: z.string(),
    mode: word(modes, ['Supervisor', 'Workflow']).optional(),
    agents: z.array(memberSchema).optional(),
    scheduler_config: schedulerSchema.optional(),
    router_config: routerSchema.optional(),
    budget: budgetSchema.optional(),
    guards: guardsSchema.optional(),
    version: filledText.optional(),
    provider: providerSchema.optional(),
    capability_details: z.array(capabilitySchema).optional(),
    skills: z.array(z.strictObject({ name: filledText, proficiency: filledText })).optional(),
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
      ...whenGiven('budget', team.budget),
      ...whenGiven('guards', team.guards),
      ...whenGiven('version', team.version),
      ...whenGiven('provider', team.provider),
      ...whenGiven('capabilityDetails', team.capability_details?.map(toCapability)),
      ...whenGiven('proficiencies', team.skills),
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
