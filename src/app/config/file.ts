import { z } from 'zod'
import type { AgentConfig } from '../../agents/config.ts'
import type { AgentPlan } from '../../agents/create.ts'
import type { ModelPrices } from '../../agents/prices.ts'
import type { JsonObject } from '../../protocol/types.ts'
import type { TeamConfig } from '../../team/team-config.ts'
import { agentSchema } from './agents.ts'
import { pricesSchema } from './prices.ts'
import type { ConfigError, Unplaced } from './problems.ts'
import { type ServerConfig, serverSchema } from './server.ts'
import { stepKinds } from './steps.ts'
import { teamSchema } from './teams.ts'
import { whenGiven } from './values.ts'

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
  /**
   * The files that its schemas were read from. A copy does not know.
   * @internal
   */
  readonly files?: readonly string[]
}

/** Makes the error that tells problems of a file with their places. */
export type ToConfigError = (problems: readonly Unplaced[], options?: ErrorOptions) => ConfigError

/** The schema of a whole file. */
export const fileSchema: z.ZodType<Config> = z
  .strictObject({
    agents: z.array(agentSchema).optional(),
    teams: z.array(teamSchema).optional(),
    server: serverSchema.optional(),
    prices: pricesSchema.optional(),
  })
  .transform(({ agents, teams, server, prices }) => ({
    agents: agents ?? [],
    teams: teams ?? [],
    server: server ?? {},
    ...whenGiven('prices', prices),
  }))

/** Gives the JSON Schema of configuration files, for editors. */
export function toConfigJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(fileSchema, {
    io: 'input',
    target: 'draft-7',
    override({ jsonSchema }) {
      // What the schema's own code checks, in the words of JSON Schema.
      if (jsonSchema.properties && 'parallel' in jsonSchema.properties)
        jsonSchema.oneOf = stepKinds.map(only)
    },
  })
  const title = 'Corral configuration'
  return { title, ...JSON.parse(JSON.stringify(schema)) } as JsonObject // made by JSON.parse
}

/** An object in which this key stands; spelt out, since some readers of JSON Schema skip a lone `required`. */
function only(kind: string): z.core.JSONSchema.JSONSchema {
  return { type: 'object', properties: { [kind]: {} }, required: [kind] }
}

/** The keys that may stand at a place of the file. */
export function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  const root = toConfigJsonSchema()
  let here: JsonObject[] = [root]
  for (const key of path) here = here.flatMap((schema) => below(root, schema, key))
  return [...new Set(here.flatMap((schema) => Object.keys(propertiesOf(root, schema))))]
}

function below(root: JsonObject, schema: JsonObject, key: PropertyKey): JsonObject[] {
  return variants(root, schema).flatMap((variant) => {
    const named = asObject(variant.properties)[String(key)] ?? variant.additionalProperties
    const next = typeof key === 'number' ? variant.items : named
    return next === undefined ? [] : [asObject(next)]
  })
}

function propertiesOf(root: JsonObject, schema: JsonObject): JsonObject {
  return Object.assign({}, ...variants(root, schema).map((one) => asObject(one.properties)))
}

/** A schema with its references followed and its alternatives side by side. */
function variants(root: JsonObject, schema: JsonObject): JsonObject[] {
  if (typeof schema.$ref === 'string') return variants(root, resolve(root, schema.$ref))
  const either = schema.anyOf ?? (schema.properties ? undefined : schema.oneOf)
  if (!Array.isArray(either)) return [schema]
  return either.flatMap((one) => variants(root, asObject(one)))
}

function resolve(root: JsonObject, reference: string): JsonObject {
  return reference
    .split('/')
    .slice(1)
    .reduce((schema, key) => asObject(schema[key]), root)
}

function asObject(value: unknown): JsonObject {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as JsonObject) : {} // part of a JSON Schema, which is JSON
}
