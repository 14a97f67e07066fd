import { z } from 'zod'
import type { JsonObject } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import { fileSchema } from './file.ts'
import { stepKinds } from './steps.ts'

/** The JSON Schema of a file, for editors. */
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
  return { title, ...asObject(withFacts(JSON.parse(JSON.stringify(schema)))) }
}

/** An object in which this key stands; spelt out, since some readers of JSON Schema skip a lone `required`. */
function only(kind: string): z.core.JSONSchema.JSONSchema {
  return { type: 'object', properties: { [kind]: {} }, required: [kind] }
}

/** Puts what people are told of keys where editors look for it, in front of what a key may hold. */
function withFacts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withFacts)
  if (!isFields(value)) return value
  const { facts, ...rest } = value
  const inner = Object.entries(rest).map(([key, one]) => [key, withFacts(one)])
  return { ...asObject(facts), ...Object.fromEntries(inner) }
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
  return isFields(value) ? (value as JsonObject) : {} // part of a JSON Schema, which is JSON
}
