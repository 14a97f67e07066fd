import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { Json, JsonObject } from '../protocol/types.ts'
import { isPromiseLike } from '../shared/async.ts'
import { isFields } from '../shared/json.ts'
import { parseJsonSchema, type SchemaCheck } from '../shared/json-schema/parse.ts'
import { SchemaFault } from '../shared/json-schema/schema.ts'
import type { DataReading, DataSchema } from './agent.ts'

/**
 * What data must look like: a schema of zod, valibot, arktype or another library that keeps to Standard Schema, which
 * also gives the data's type, or a JSON Schema.
 */
export type SchemaInput = StandardSchemaV1 | JsonObject

/** The type of the data that fits a schema; of a JSON Schema no more is known than that it is JSON. */
export type DataOf<Schema> = Schema extends StandardSchemaV1<infer _, infer Output> ? Output : Json

/** The type of what a schema takes, which may differ from what it gives. */
export type WrittenData<Schema> = Schema extends StandardSchemaV1<infer Input> ? Input : Json

/** Where a schema stands, for the errors that name it. */
export interface SchemaPlace {
  /** The place, for the person who wrote it: `outputSchema of step "review"`. */
  readonly at: string
  /** What values are called in faults; `the answer` if absent. */
  readonly value?: string
  /** The JSON Schema of one whose library gives none. */
  readonly jsonSchema?: JsonObject | undefined
}

/** A JSON Schema that cannot be checked, and where in it. */
export class UncheckableSchema extends TypeError {
  /** The place within the schema. */
  readonly path: readonly (string | number)[]
  /** The character at which it begins, where a text stands there in which something is wrong. */
  readonly offset: number | undefined

  constructor(message: string, { keys, offset }: SchemaFault) {
    super(message)
    this.path = keys
    this.offset = offset
  }
}

/**
 * Makes a schema ready for use: to check values, and to tell a model of them.
 * @throws TypeError that names the place: what stands there is no schema, gives no JSON Schema, or cannot be checked.
 */
export function toDataSchema<Schema extends SchemaInput>(
  schema: Schema,
  place: SchemaPlace,
): DataSchema<DataOf<Schema>>
export function toDataSchema(schema: unknown, place: SchemaPlace): DataSchema {
  const { at, value: name = 'the answer', jsonSchema } = place
  if (isStandard(schema))
    return {
      jsonSchema: jsonSchema ?? jsonSchemaOf(schema, at),
      read: (value) => readStandard(schema, value, name),
    }
  if (!isFields(schema)) throw new TypeError(`${at} is neither a schema nor a JSON Schema`)
  const check = parse(schema, at, name)
  return {
    jsonSchema: schema as JsonObject, // a schema that could be parsed is made of JSON
    read(value, principal) {
      const toReading = (fault: string | undefined): DataReading =>
        fault === undefined ? { data: value } : { fault }
      const fault = faultOf(() => check(value, principal), name)
      return isPromiseLike(fault) ? fault.then(toReading) : toReading(fault)
    },
  }
}

/** That a schema cannot be checked may show only with a value, which a stranger may have chosen. */
function faultOf(check: () => ReturnType<SchemaCheck>, name: string): ReturnType<SchemaCheck> {
  const toFault = (thrown: unknown): string => {
    if (!(thrown instanceof SchemaFault)) throw thrown
    return `${name} cannot be checked: the schema ${thrown.message}`
  }
  try {
    const fault = check()
    return isPromiseLike(fault) ? fault.catch(toFault) : fault
  } catch (thrown) {
    return toFault(thrown)
  }
}

function parse(schema: unknown, at: string, name: string): SchemaCheck {
  try {
    return parseJsonSchema(schema, name)
  } catch (thrown) {
    if (!(thrown instanceof SchemaFault)) throw thrown
    throw new UncheckableSchema(`${at}: ${thrown.path || 'the schema'} ${thrown.message}`, thrown)
  }
}

/** Schemas of some libraries are functions. */
function isStandard(schema: unknown): schema is StandardSchemaV1 {
  const isObject = typeof schema === 'object' || typeof schema === 'function'
  return isObject && schema !== null && '~standard' in schema
}

function jsonSchemaOf(schema: StandardSchemaV1, at: string): JsonObject {
  const { vendor } = schema['~standard']
  const props: StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props> = schema['~standard']
  const missing = `write its JSON Schema beside it as jsonSchema`
  if (!props.jsonSchema) throw new TypeError(`${at}: ${vendor} gives no JSON Schema; ${missing}`)
  try {
    // What is written, not what becomes of it: a model does the writing.
    return props.jsonSchema.input({ target: 'draft-2020-12' }) as JsonObject // JSON by that specification
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new TypeError(`${at}: ${vendor} gives no JSON Schema of it (${reason}); ${missing}`)
  }
}

async function readStandard(
  schema: StandardSchemaV1,
  value: unknown,
  name: string,
): Promise<DataReading> {
  const result = await schema['~standard'].validate(value)
  if (!result.issues) return { data: result.value }
  const faults = result.issues.slice(0, maxFaults).map(({ path = [], message }) => {
    const keys = path.map((segment) => (typeof segment === 'object' ? segment.key : segment))
    return `${[name, ...keys.map(String)].join('.')}: ${message}`
  })
  return { fault: faults.join('; ') }
}

/** As many as a model can mend at once. */
const maxFaults = 5
