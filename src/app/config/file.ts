import { z } from 'zod'
import type { AgentConfig } from '../../agents/config.ts'
import type { AgentPlan } from '../../agents/create.ts'
import type { ModelPrice, ModelPrices } from '../../agents/prices.ts'
import { type Rows, row } from '../../shared/rows.ts'
import type { TeamConfig } from '../../team/config.ts'
import { agentSchema } from './agents.ts'
import type { ConfigError, Unplaced } from './locate.ts'
import { type ServerConfig, serverSchema } from './server.ts'
import { teamSchema } from './teams.ts'
import { filledText, numberLike, tableOf, whenGiven } from './values.ts'

/** Makes the error that tells problems of a file with their places. */
export type ToConfigError = (problems: readonly Unplaced[], options?: ErrorOptions) => ConfigError

const dollars = numberLike.refine((price) => price >= 0, 'must be US dollars, a number from 0')

/** `[prices."model"]`. */
const priceRows: Rows<ModelPrice> = {
  input: row.number({ required: true, examples: [2] }, 'US dollars per million tokens of input.'),
  output: row.number({ required: true, examples: [8] }, 'US dollars per million tokens of output.'),
  cachedInput: row.number(
    { examples: [0.5] },
    'US dollars per million tokens of input that the service had in its cache; as much as `input` if absent.',
  ),
}

const priceSchema = tableOf(priceRows, { input: dollars, output: dollars, cachedInput: dollars })

/** `[prices]`: what models cost, by their names. */
const pricesSchema: z.ZodType<ModelPrices> = z
  .record(filledText, priceSchema)
  .superRefine((prices, context) => {
    // Variables stand in values alone: by such a name no model would ever have a price.
    for (const model of Object.keys(prices))
      if (model.includes('${'))
        context.addIssue({
          code: 'custom',
          path: [model],
          message: 'must be the name of a model: variables are not replaced in keys',
        })
  })

/** What a configuration file says, checked. */
export interface Config {
  /** The `[[agents]]` of the file. */
  readonly agents: readonly AgentConfig[]
  /** The `[[teams]]` of the file. */
  readonly teams: readonly TeamConfig[]
  /** The `[server]` table. */
  readonly server: ServerConfig
  /** What models cost. */
  readonly prices?: ModelPrices
  /**
   * How each agent is made. It comes from the check of the file: what has it is not checked again. A copy has none.
   * @internal
   */
  readonly plans?: ReadonlyMap<AgentConfig, AgentPlan>
  /**
   * Says what is wrong where in the file that it was read from. A copy does not know.
   * @internal
   */
  readonly refuse?: ToConfigError
  /** What stands in the file it was read from and means nothing, each with its place. A copy does not know. */
  readonly warnings?: readonly string[]
  /**
   * The files that its schemas were read from. A copy does not know.
   * @internal
   */
  readonly files?: readonly string[]
}

const fileRows: Rows<Partial<Pick<Config, 'agents' | 'prices' | 'teams' | 'server'>>> = {
  agents: row.tables(
    {
      examples: [
        [{ id: 'writer', name: 'Writer', protocol: 'module', endpoint: './agents/writer.mjs' }],
      ],
    },
    'The agents, each in a table of its own.',
  ),
  prices: row.table(
    { examples: [{ 'gpt-4.1': { input: 2, output: 8 } }] },
    'What models cost, each in a table under its name. Answers then tell their costs, and `max_cost_usd` of a team can hold.',
  ),
  teams: row.tables(
    {
      examples: [
        [
          {
            id: 'writers',
            name: 'Writers',
            description: 'Writes and reviews',
            agents: [{ agent_id: 'writer' }, { agent_id: 'reviewer' }],
            scheduler_config: {
              type: 'workflow',
              steps: [{ agent_id: 'writer' }, { agent_id: 'reviewer' }],
            },
          },
        ],
      ],
    },
    'The teams, each in a table of its own. The first one answers at the root of the server, or the first agent where there is no team.',
  ),
  server: row.table(
    { examples: [{ port: 8080, store: 'memory' }] },
    'How agents and teams are served. Flags of `corral serve` come first.',
  ),
}

/** The schema of a whole file. */
export const fileSchema: z.ZodType<Config> = tableOf(fileRows, {
  agents: z.array(agentSchema),
  prices: pricesSchema,
  teams: z.array(teamSchema),
  server: serverSchema,
}).transform(({ agents, teams, server, prices }) => ({
  agents: agents ?? [],
  teams: teams ?? [],
  server: server ?? {},
  ...whenGiven('prices', prices),
}))
