import { z } from 'zod'
import type { CapabilityDetail, Proficiency } from '../../protocol/card.ts'
import type { AgentProvider } from '../../protocol/types.ts'
import {
  type BudgetConfig,
  type SchedulerConfig,
  type TeamConfig,
  type TeamMode,
  teamDefaults,
} from '../../team/config.ts'
import { guardsSchema } from './guards.ts'
import { stepSchema } from './steps.ts'
import { described, filledText, numberLike, whenGiven, word } from './values.ts'

const memberSchema = z
  .strictObject({
    agent_id: described(filledText, {
      description: 'The id of an agent or of another team of this file.',
      examples: ['writer'],
    }),
    role: described(z.string().optional(), {
      description: 'What its answers stand under where a workflow shows them; its id if absent.',
      examples: ['author'],
    }),
    capabilities: described(z.array(filledText).optional(), {
      description:
        "What it does in this team. The team's card shows it beside what the agent says.",
      examples: [['writing']],
    }),
  })
  .transform((member) => ({
    agentId: member.agent_id,
    ...whenGiven('role', member.role),
    ...whenGiven('capabilities', member.capabilities),
  }))

const schedulerSchema = z.strictObject({
  type: described(word(['supervisor', 'workflow'], ['Supervisor', 'Workflow']).optional(), {
    description: 'The same as `mode` of the team; one of the two is needed.',
    examples: ['workflow'],
  }),
  steps: described(z.array(stepSchema).optional(), {
    description: 'What a workflow does, step by step.',
    examples: [[{ agent_id: 'writer' }, { agent_id: 'reviewer' }]],
  }),
  supervisor_agent_id: described(filledText.optional(), {
    description: 'The member that leads, where a supervisor does.',
    examples: ['writer'],
  }),
  max_rounds: described(numberLike.optional(), {
    description: 'How often the supervisor may delegate, 100 at most; then the run fails.',
    default: teamDefaults.maxRounds,
    examples: [5],
  }),
})

const routerSchema = z.strictObject({
  default_agent_id: described(filledText, {
    description: 'The member that gets the message first.',
    examples: ['writer'],
  }),
  max_routing_hops: described(numberLike.optional(), {
    description:
      'How many members may get the message in one run, 100 at most; then the run fails.',
    default: teamDefaults.maxRoutingHops,
    examples: [5],
  }),
})

/** Reads the tables of a mode. One that contradicts them is refused, and so is one whose table is missing. */
type ReadScheduler = (tables: ModeTables, refuse: AddIssue) => SchedulerConfig | undefined

/** The tables of a team that say how it works. */
interface ModeTables {
  readonly scheduler_config?: z.output<typeof schedulerSchema> | undefined
  readonly router_config?: z.output<typeof routerSchema> | undefined
}

type AddIssue = (path: readonly string[], message: string) => void

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

const budgetSchema: z.ZodType<BudgetConfig> = z
  .strictObject({
    max_delegations: described(numberLike.optional(), {
      description: 'Delegations in one run.',
      default: teamDefaults.maxDelegations,
      examples: [5_000],
    }),
    max_hops: described(numberLike.optional(), {
      description: 'The same as `max_delegations`, 100 at most; the lower of the two holds.',
      examples: [20],
    }),
    max_depth: described(numberLike.optional(), {
      description: 'How many teams a message may have passed before this one, over HTTP too.',
      default: teamDefaults.maxDepth,
      examples: [4],
    }),
    max_seconds: described(numberLike.optional(), {
      description: 'How long one run may take, in seconds; no limit if absent.',
      examples: [240],
    }),
    max_tokens: described(numberLike.optional(), {
      description: 'Tokens of input and output that one run may use; no limit if absent.',
      examples: [50_000],
    }),
    max_cost_usd: described(numberLike.optional(), {
      description:
        'US dollars that one run may cost, by `[prices]` and by what remote members report; no limit if absent.',
      examples: [0.5],
    }),
    unknown: described(z.enum(['estimate', 'fail', 'ignore']).optional(), {
      description:
        'What becomes of an answer of a model that comes without its usage, where there is a limit in tokens or money: `estimate` counts it by its length, `fail` ends the run, `ignore` counts it as nothing.',
      default: 'estimate',
      examples: ['fail'],
    }),
  })
  .transform((budget) => ({
    ...whenGiven('maxDelegations', budget.max_delegations),
    ...whenGiven('maxHops', budget.max_hops),
    ...whenGiven('maxDepth', budget.max_depth),
    ...whenGiven('maxSeconds', budget.max_seconds),
    ...whenGiven('maxTokens', budget.max_tokens),
    ...whenGiven('maxCostUsd', budget.max_cost_usd),
    ...whenGiven('unknown', budget.unknown),
  }))

/** The version that cards show where a file names none. */
const firstVersion = '1.0.0'

/** `version` of a team. */
const versionField: z.ZodOptional<z.ZodType<string, string>> = described(filledText.optional(), {
  description:
    'The version of the team, a semantic one. Cards show it, and it is part of the definition that a running task belongs to.',
  default: firstVersion,
  examples: ['2.1.0'],
})

const providerSchema: z.ZodType<AgentProvider> = z
  .strictObject({
    name: described(filledText.optional(), {
      description: 'Who runs the team. Either this or `organization`.',
      examples: ['Example Press'],
    }),
    organization: described(filledText.optional(), {
      description: 'The same as `name`, by the word that A2A uses.',
      examples: ['Example Press'],
    }),
    url: described(filledText, {
      description: 'The address of whoever runs the team.',
      examples: ['https://example.com'],
    }),
  })
  .refine(({ name, organization }) => name ?? organization, 'a provider needs a name')
  .transform(({ name, organization, url }) => ({ organization: organization ?? name ?? '', url }))

/** `[teams.provider]`. */
const providerField: z.ZodOptional<z.ZodType<AgentProvider>> = described(
  providerSchema.optional(),
  {
    description: 'Who runs the team. Cards show it.',
    examples: [{ name: 'Example Press', url: 'https://example.com' }],
  },
)

const capabilitySchema: z.ZodType<CapabilityDetail> = z
  .strictObject({
    name: described(filledText, {
      description: 'A capability of the team or of a member.',
      examples: ['writing'],
    }),
    description: described(z.string().optional(), {
      description: 'What it is; its name if absent.',
      examples: ['Writes articles of any length'],
    }),
    version: described(filledText.optional(), {
      description: 'Its version, a semantic one.',
      default: firstVersion,
      examples: ['2.0.0'],
    }),
  })
  .transform(({ name, description = name, version = firstVersion }) => ({
    name,
    description,
    version,
  }))

/** `[[teams.capability_details]]`. */
const capabilitiesField: z.ZodOptional<z.ZodType<CapabilityDetail[]>> = described(
  z.array(capabilitySchema).optional(),
  {
    description:
      'Words for capabilities of the team, which cards show with its skills, and their versions, which the RANCH dialect shows.',
    examples: [[{ name: 'writing', description: 'Writes articles', version: '2.0.0' }]],
  },
)

const skillSchema = z.strictObject({
  name: described(filledText, {
    description: 'What the team is good at.',
    examples: ['editing'],
  }),
  proficiency: described(filledText, {
    description: 'How good it is at that, in a word of your own.',
    examples: ['expert'],
  }),
})

/** `[[teams.skills]]`. */
const skillsField: z.ZodOptional<z.ZodType<Proficiency[]>> = described(
  z.array(skillSchema).optional(),
  {
    description: 'What the team is good at. Cards of the RANCH dialect show it.',
    examples: [[{ name: 'editing', proficiency: 'expert' }]],
  },
)

const teamTable = z.strictObject({
  id: described(filledText, {
    description:
      "Names the team in this file and in the server's paths, `/agents/ID`: letters, digits, `.`, `_`, `:` and `-`. Agents and teams share their ids.",
    examples: ['writers'],
  }),
  name: described(filledText, {
    description: 'What people and cards call the team.',
    examples: ['Writers'],
  }),
  description: described(z.string(), {
    description: 'What the team is for. Cards show it; a team around this one chooses by it.',
    examples: ['Writes and reviews articles'],
  }),
  mode: described(word(modes, ['Supervisor', 'Workflow']).optional(), {
    description:
      'How the team works: `workflow` does steps, with `supervisor` one member leads, with `router` members pass the message on. The table of its kind can say it instead.',
    examples: ['workflow'],
  }),
  agents: described(z.array(memberSchema).optional(), {
    description: 'The members, at least one.',
    examples: [[{ agent_id: 'writer', role: 'author' }, { agent_id: 'reviewer' }]],
  }),
  scheduler_config: described(schedulerSchema.optional(), {
    description: 'How a workflow or a supervisor works.',
    examples: [{ type: 'workflow', steps: [{ agent_id: 'writer' }, { agent_id: 'reviewer' }] }],
  }),
  router_config: described(routerSchema.optional(), {
    description: 'How a router works.',
    examples: [{ default_agent_id: 'writer' }],
  }),
  budget: described(budgetSchema.optional(), {
    description: 'What one run may use. A run that comes to a limit fails and says which.',
    examples: [{ max_hops: 20, max_seconds: 240 }],
  }),
  guards: described(guardsSchema.optional(), {
    description: 'What looks at messages to the team and at its answers.',
    examples: [{ output: ['secrets'] }],
  }),
  version: versionField,
  provider: providerField,
  capability_details: capabilitiesField,
  skills: skillsField,
})

/** `[[teams]]`. */
export const teamSchema: z.ZodType<TeamConfig> = teamTable.transform(
  (team, context): TeamConfig => {
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
      ...whenGiven('capabilityDetails', team.capability_details),
      ...whenGiven('proficiencies', team.skills),
    }
  },
)

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
