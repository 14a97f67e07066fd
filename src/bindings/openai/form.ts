import { type Fields, isFields } from '../../shared/json.ts'
import { parseJsonSchema, type SchemaCheck } from '../../shared/json-schema/parse.ts'
import { SchemaFault } from '../../shared/json-schema/schema.ts'
import { isNeutral, objectField, wrong } from './fields.ts'

/** What a completion asks of the answer's form. */
export interface CompletionForm {
  readonly stream: boolean
  readonly includeUsage: boolean
  /** The answer ends before the first of these. */
  readonly stop: readonly string[]
  /** The JSON that the answer must be; undefined where any text will do. */
  readonly format: AnswerFormat | undefined
  /** The tools that the client runs, as it sent them; none where it wants no calls. */
  readonly tools: readonly unknown[]
}

/** The JSON that an answer must be. */
export interface AnswerFormat {
  readonly schema: unknown
  readonly check: SchemaCheck
}

const maxStops = 4
const maxStopLength = 256
const maxTools = 128

/**
 * Reads what a request says of the answer's form. What says nothing passes, whatever the field; what cannot be done is
 * refused. @throws A2AError `invalidParams` that names the field.
 */
export function parseForm(fields: Fields): CompletionForm {
  if (!isNeutral(fields.n) && fields.n !== 1) throw wrong('n', 'must be 1')
  mustNotForce(fields.function_call, 'function_call')
  mustNotForce(fields.tool_choice, 'tool_choice')
  const options = isFields(fields.stream_options) ? fields.stream_options : {}
  const tools = parseTools(fields.tools)
  return {
    stream: fields.stream === true,
    includeUsage: options.include_usage === true,
    stop: parseStop(fields.stop),
    format: parseFormat(fields.response_format),
    tools: fields.tool_choice === 'none' ? [] : tools,
  }
}

function mustNotForce(choice: unknown, field: string): void {
  if (isNeutral(choice) || choice === 'auto' || choice === 'none') return
  throw wrong(field, 'must be "auto" or "none": no tool can be forced upon an agent')
}

function parseTools(value: unknown): readonly unknown[] {
  if (isNeutral(value)) return []
  if (!Array.isArray(value) || value.length > maxTools)
    throw wrong('tools', `must be a list of at most ${maxTools}`)
  return value
}

function parseStop(value: unknown): readonly string[] {
  if (isNeutral(value)) return []
  const words: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (words.length > maxStops) throw wrong('stop', `must have at most ${maxStops} entries`)
  return words.flatMap((word) => {
    if (typeof word !== 'string') throw wrong('stop', 'must be a string or a list of strings')
    if (word.length > maxStopLength)
      throw wrong('stop', `must have at most ${maxStopLength} characters in each entry`)
    return word === '' ? [] : [word]
  })
}

const anyObject = { type: 'object' }

function parseFormat(value: unknown): AnswerFormat | undefined {
  if (isNeutral(value)) return undefined
  const { type, json_schema: given } = objectField(value, 'response_format')
  if (type === 'text') return undefined
  if (type === 'json_object')
    return { schema: anyObject, check: parseJsonSchema(anyObject, 'answer') }
  if (type !== 'json_schema')
    throw wrong('response_format.type', 'must be "text", "json_object" or "json_schema"')
  const { schema } = objectField(given, 'response_format.json_schema')
  return { schema: schema ?? {}, check: toCheck(schema ?? {}) }
}

function toCheck(schema: unknown): SchemaCheck {
  const check = withFault(() => parseJsonSchema(schema, 'answer'))
  return (value) => withFault(() => check(value))
}

function withFault<T>(work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    throw toFault(thrown)
  }
}

/** A schema that cannot be checked is the client's matter, whenever that shows. */
function toFault(thrown: unknown): unknown {
  if (!(thrown instanceof SchemaFault)) return thrown
  const place = thrown.path === '' ? '' : `.${thrown.path}`
  return wrong(`response_format.json_schema.schema${place}`, thrown.message)
}
