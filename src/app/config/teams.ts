import { z } from 'zod'
import type { CapabilityDetail, Proficiency } from '../../protocol/card.ts'
import type { AgentProvider } from '../../protocol/types.ts'
import { eitherOf, type Rows, row } from '../../shared/rows.ts'
import {
  firstVersion,
  memberRows,
  type RouterConfig,
  routerRows,
  type SchedulerConfig,
  type Step,
  type SupervisorConfig,
  supervisorRows,
  type TeamConfig,
  type TeamMode,
  teamRows,
} from '../../team/config.ts'
import { guardsSchema } from './guards.ts'
import { stepSchema } from './steps.ts'
import { filledText, keysOf, tableOf, toCamelCase } from './values.ts'

/** `[teams.scheduler_config]`, of a workflow or of a supervisor. */
interface SchedulerTable extends Partial<Omit<SupervisorConfig, 'type'>> {
  readonly type?: TeamMode
  readonly steps?: readonly Step[]
}

const spellings = ['Supervisor', 'Workflow']

const schedulerRows: Rows<Pick<SchedulerTable, 'type' | 'steps'>> = {
  type: row.word(
    { of: ['supervisor', 'workflow'], spellings, examples: ['workflow'] },
    'The same as `mode` of the team; one of the two is needed.',
  ),
  steps: row.steps(
    { examples: [[{ agent_id: 'writer' }, { agent_id: 'reviewer' }]] },
    'What a workflow does, step by step.',
  ),
}

const schedulerSchema = z
  .strictObject({
    ...keysOf(schedulerRows, { steps: z.array(stepSchema) }),
    ...keysOf(supervisorRows, { supervisorAgentId: filledText.optional() }),
  })
  .transform((table) => toCamelCase<SchedulerTable>(table))

/** Reads the tables of a mode. One that contradicts them is refused, and so is one whose table is missing. */
type ReadScheduler = (tables: ModeTables, refuse: AddIssue) => SchedulerConfig | undefined

/** The tables of a team that say how it works. */
interface ModeTables {
  readonly scheduler_config?: SchedulerTable | undefined
  readonly router_config?: Omit<RouterConfig, 'type'> | undefined
  readonly mode?: TeamMode | undefined
}

type AddIssue = (path: readonly string[], message: string) => void

/** How each mode stands in a file. A mode without its row does not compile. */
const readers: Readonly<Record<TeamMode, ReadScheduler>> = {
  supervisor({ scheduler_config: config }, refuse) {
    if (!config) return noTable('supervisor', 'scheduler_config', refuse)
    const { type: _, steps, supervisorAgentId, ...rest } = config
    if (steps) refuse(['scheduler_config', 'steps'], 'do not belong to a supervisor')
    if (supervisorAgentId === undefined) refuse(['scheduler_config'], 'needs a supervisor_agent_id')
    if (steps || supervisorAgentId === undefined) return undefined
    return { type: 'supervisor', supervisorAgentId, ...rest }
  },
  workflow({ scheduler_config: config }, refuse) {
    if (!config) return noTable('workflow', 'scheduler_config', refuse)
    if (config.supervisorAgentId === undefined)
      return { type: 'workflow', steps: config.steps ?? [] }
    refuse(['scheduler_config', 'supervisor_agent_id'], 'does not belong in a workflow')
    return undefined
  },
  router({ router_config: config }, refuse) {
    if (!config) return noTable('router', 'router_config', refuse)
    return { type: 'router', ...config }
  },
}

function noTable(mode: TeamMode, table: string, refuse: AddIssue): undefined {
  refuse(['mode'], `${mode} needs a [teams.${table}] table`)
}

const modes = Object.keys(readers) as TeamMode[] // the keys of the table above

/** `[teams.provider]`. */
interface ProviderTable {
  readonly name?: string
  readonly organization?: string
  readonly url: string
}

const providerRows: Rows<ProviderTable> = {
  name: row.text(
    { examples: ['Example Press'] },
    'Who runs the team. Either this or `organization`.',
  ),
  organization: row.text(
    { examples: ['Example Press'] },
    'The same as `name`, by the word that A2A uses.',
  ),
  url: row.text(
    { required: true, examples: ['https://example.com'] },
    'The address of whoever runs the team.',
  ),
}

const providerSchema: z.ZodType<AgentProvider> = z
  .strictObject(keysOf(providerRows))
  .refine(({ name, organization }) => Boolean(name ?? organization), 'a provider needs a name')
  .transform((table) => {
    const { name = '', organization = name, url } = table as ProviderTable // by its rows
    return { organization, url }
  })

/** `[[teams.capability_details]]`. */
type CapabilityTable = Pick<CapabilityDetail, 'name'> & Partial<CapabilityDetail>

const capabilityRows: Rows<CapabilityTable> = {
  name: row.text(
    { required: true, examples: ['writing'] },
    'A capability of the team or of a member.',
  ),
  description: row.anyText(
    { examples: ['Writes articles of any length'] },
    'What it is; its name if absent.',
  ),
  version: row.text({ default: firstVersion, examples: ['2.0.0'] }, 'Its version, a semantic one.'),
}

const capabilitySchema: z.ZodType<CapabilityDetail> = tableOf(capabilityRows).transform(
  ({ name, description = name, version = firstVersion }) => ({ name, description, version }),
)

/** `[[teams.skills]]`. */
const skillRows: Rows<Proficiency> = {
  name: row.text({ required: true, examples: ['editing'] }, 'What the team is good at.'),
  proficiency: row.text(
    { required: true, examples: ['expert'] },
    'How good it is at that, in a word of your own.',
  ),
}

const modeRows: Rows<{ mode?: TeamMode; schedulerConfig?: object; routerConfig?: object }> = {
  mode: row.word(
    { of: modes, spellings, examples: ['workflow'] },
    'How the team works: `workflow` does steps, with `supervisor` one member leads, with `router` members pass the message on. The table of its kind can say it instead.',
  ),
  schedulerConfig: row.table(
    {
      examples: [{ type: 'workflow', steps: [{ agent_id: 'writer' }, { agent_id: 'reviewer' }] }],
    },
    'How a workflow or a supervisor works.',
  ),
  routerConfig: row.table(
    { of: routerRows, examples: [{ default_agent_id: 'writer' }] },
    'How a router works.',
  ),
}

const { mode, ...tables } = keysOf(modeRows, { schedulerConfig: schedulerSchema })

const { id, name, description, agents, proficiencies, ...others } = keysOf(teamRows, {
  agents: z.array(tableOf(memberRows)).optional(),
  guards: guardsSchema,
  provider: providerSchema,
  capabilityDetails: z.array(capabilitySchema),
  proficiencies: z.array(tableOf(skillRows)),
})

const teamTable = z.strictObject({
  id,
  name,
  description,
  mode,
  agents,
  ...tables,
  ...others,
  skills: proficiencies,
})

/** `[[teams]]`. */
export const teamSchema: z.ZodType<TeamConfig> = teamTable.transform(
  (table, context): TeamConfig => {
    const { mode, scheduler_config, router_config, skills, ...keys } = table
    // The rows above determine its type.
    const scheduler = toScheduler(table as ModeTables, (path, message) =>
      context.addIssue({ code: 'custom', path: [...path], message }),
    )
    if (!scheduler) return z.NEVER
    const named = { ...keys, agents: keys.agents ?? [], proficiencies: skills }
    const { id, name, description, agents, ...rest } =
      toCamelCase<Omit<TeamConfig, 'scheduler'>>(named)
    // Running tasks know their definition by a digest, which depends on this order.
    return { id, name, description, agents, scheduler, ...rest }
  },
)

/** The mode, `scheduler_config.type` and the table that is there must say the same thing. */
function toScheduler(team: ModeTables, refuse: AddIssue): SchedulerConfig | undefined {
  const { scheduler_config: config, router_config: router } = team
  const said = new Set([team.mode, config?.type, router && ('router' as const)])
  said.delete(undefined)
  const [mode] = said
  if (said.size > 1) refuse(['mode'], `contradicts the tables below it (${[...said].join(', ')})`)
  else if (mode === undefined) refuse([], `needs a mode: ${eitherOf(modes)}`)
  else return readers[mode](team, refuse)
  return undefined
}
