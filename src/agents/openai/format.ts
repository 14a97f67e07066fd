import type { Json, JsonObject, Message } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import { modelDefaults, type ResponseFormat } from '../model-config.ts'
import { withSchemaInWords } from '../output/tries.ts'
import type { ChatFormat } from './wire.ts'

/** How a model is told what its answer is to fit. */
interface AskedFormat {
  /** The question, with the schema in words behind it where the service does not take it otherwise. */
  readonly message: Message
  readonly format: { readonly response_format?: ChatFormat }
}

/**
 * Tells a model which schema its answer is to fit. Services take a schema for objects only, so that of a list or a text
 * is told in words.
 */
export function askWithSchema(
  message: Message,
  schema: JsonObject | undefined,
  wanted: ResponseFormat = modelDefaults.responseFormat,
): AskedFormat {
  if (!schema) return { message, format: {} }
  const isObject = schema.type === 'object'
  if (wanted === 'json_schema' && isObject)
    return { message, format: { response_format: toJsonSchemaFormat(schema) } }
  const inWords = { ...message, parts: withSchemaInWords(message.parts, schema) }
  const isOffered = wanted === 'json_object' && isObject
  return { message: inWords, format: isOffered ? { response_format: { type: wanted } } : {} }
}

function toJsonSchemaFormat(schema: JsonObject): ChatFormat {
  const title = typeof schema.title === 'string' ? schema.title : ''
  const name = title.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'answer'
  const strict = isStrict(schema) && { strict: true }
  return { type: 'json_schema', json_schema: { name, schema, ...strict } }
}

/** Keywords that services keep to where they are strict; what has others is refused there. */
const strictKeywords: ReadonlySet<string> = new Set(
  (
    '$schema $defs definitions $ref title description type enum const properties required additionalProperties ' +
    'items anyOf pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems'
  ).split(' '),
)

/** Whether a service may be strict with a schema: every property is required, and there are no others. */
function isStrict(schema: Json | undefined): boolean {
  if (!isFields(schema)) return false
  if (!Object.keys(schema).every((keyword) => strictKeywords.has(keyword))) return false
  const { properties, $defs = {}, definitions = {}, items, anyOf, required } = schema
  if (schema.type === 'object' || properties !== undefined) {
    if (schema.additionalProperties !== false) return false
    const names = new Set(Array.isArray(required) ? required : [])
    if (!Object.keys(properties ?? {}).every((name) => names.has(name))) return false
  }
  const inner = [properties ?? {}, $defs, definitions].flatMap((group) =>
    Object.values(group ?? {}),
  )
  const more = [...(items === undefined ? [] : [items]), ...(Array.isArray(anyOf) ? anyOf : [])]
  return [...inner, ...more].every(isStrict)
}
