import type { JsonObject } from '../protocol/types.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { nearest, toSnakeCase } from '../shared/text.ts'
import { ConfigConversionError, checkHeaderName, checkText, invalidValue } from './config-checks.ts'

/** What a model hears of messages that are too many to read: the last ones, or a summary. */
export type ModelHistory = 'window' | 'summarise'

/** How a model service is told which schema an answer must fit: by its `response_format`, or in words alone. */
export type ResponseFormat = 'json_schema' | 'json_object' | 'none'

/** What holds where a configuration does not say. */
export const modelDefaults = {
  name: 'gpt-4',
  maxHistory: 20,
  history: 'window',
  maxToolRounds: 8,
  responseFormat: 'json_schema',
} as const

/** `[agents.model]`: which model answers, and how. What is absent is left to the service, or has the default named here. */
export interface ModelConfig {
  /** The service's name for the model; `gpt-4` if absent. */
  readonly name?: string
  /** What the model reads before everything else. */
  readonly systemPrompt?: string
  /** How freely the model answers, from 0 to 2. */
  readonly temperature?: number
  /** Which share of likely words it chooses from, from 0 to 1. */
  readonly topP?: number
  /** The longest answer in tokens. */
  readonly maxTokens?: number
  /** The answer ends before one of these. */
  readonly stop?: string | readonly string[]
  /** For answers that are the same each time, as far as the service can. */
  readonly seed?: number
  /** How long a model thinks that does: `minimal`, `low`, `medium`, `high`, or what else the service knows. */
  readonly reasoningEffort?: string
  /** Whether the model may call several tools at once. */
  readonly parallelToolCalls?: boolean
  /** How many earlier messages of the context the model sees; 20 if absent. */
  readonly maxHistory?: number
  /** What becomes of messages before those: forgotten (`window`), or summarised by the model; `window` if absent. */
  readonly history?: ModelHistory
  /** How often the model may call tools before it must answer; 8 if absent. */
  readonly maxToolRounds?: number
  /**
   * What the service knows of `response_format`, where an answer is to fit a schema; `json_schema` if absent. With
   * `json_object` and `none` the schema is told in words.
   */
  readonly responseFormat?: ResponseFormat
  /** Sent with every request; they may hold secrets. */
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of every request, for what this service alone knows. */
  readonly extraBody?: JsonObject
}

/** What the settings of a model may be. */
export const modelOptions: OptionTable<ModelConfig> = {
  name: 'string',
  systemPrompt: 'string',
  temperature: 'number',
  topP: 'number',
  maxTokens: 'number',
  stop: 'string|array',
  seed: 'number',
  reasoningEffort: 'string',
  parallelToolCalls: 'boolean',
  maxHistory: 'number',
  history: 'any',
  maxToolRounds: 'number',
  responseFormat: 'any',
  headers: 'object',
  extraBody: 'object',
}

type Metadata = Readonly<Record<string, string | number | boolean>>

/** Where a setting of a model stood before it had a table of its own, and still may stand. */
const olderPlaces: ReadonlyMap<keyof ModelConfig, string> = new Map<keyof ModelConfig, string>([
  ['name', 'model'],
  ['temperature', 'temperature'],
  ['maxTokens', 'max_tokens'],
  ['systemPrompt', 'system_prompt'],
])

/**
 * What a configuration says of its model, in its table or in the older places in metadata.
 * @throws ConfigConversionError that names the wrong field, or both places where both are used for one setting.
 */
export function toModelConfig(config: {
  readonly model?: ModelConfig
  readonly metadata?: Metadata
}): ModelConfig {
  const { model = {}, metadata = {} } = config
  checkOptions('AgentConfig: model', model, modelOptions)
  checkMetadata(metadata, [...olderPlaces.values(), 'api_key', ...onlyInTable])
  checkModelConfig(model, (key) => `model.${toSnakeCase(key)}`)
  for (const [key, older] of olderPlaces)
    if (model[key] !== undefined && metadata[older] !== undefined)
      throw new ConfigConversionError({
        variant: 'SetTwice',
        field: `model.${toSnakeCase(key)}`,
        other: `metadata.${older}`,
      })
  return { ...fromMetadata(metadata), ...model }
}

/** Refuses a key of metadata that is all but a setting: it would be shown and never used. */
export function checkMetadata(metadata: Metadata, known: readonly string[]): void {
  for (const key of Object.keys(metadata)) {
    // Short words are near to many others, and free to be shown.
    if (key.length < 5) continue
    const meant = nearest(key, known)
    if (meant === undefined || (meant === key && !onlyInTable.includes(key))) continue
    const place = onlyInTable.includes(meant) ? 'model' : 'metadata'
    throw new ConfigConversionError({
      variant: 'UnknownField',
      field: `metadata.${key}`,
      meant: `${place}.${meant}`,
    })
  }
}

/** Settings that have no older place, and names that are never shown in an agent's info. */
const onlyInTable: readonly string[] = [
  'top_p',
  'reasoning_effort',
  'parallel_tool_calls',
  'max_history',
  'max_tool_rounds',
  'response_format',
  'extra_body',
]

function fromMetadata(metadata: Metadata): ModelConfig {
  const { model, temperature, max_tokens: maxTokens, system_prompt: systemPrompt } = metadata
  return {
    ...(model !== undefined && { name: checkText('metadata.model', String(model)) }),
    ...(temperature !== undefined && {
      temperature: checkTemperature(
        'metadata.temperature',
        parseNumber('metadata.temperature', temperature),
      ),
    }),
    ...(maxTokens !== undefined && {
      maxTokens: checkWhole('metadata.max_tokens', parseNumber('metadata.max_tokens', maxTokens), {
        min: 1,
        max: 4096,
      }),
    }),
    ...(systemPrompt !== undefined && { systemPrompt: String(systemPrompt) }),
  }
}

/** A number, or a string that holds one: metadata in TOML may be all strings. */
function parseNumber(field: string, value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && numeral.test(value.trim())) return Number(value)
  throw invalidValue(field, value, 'must be a number')
}

const numeral = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

/** Checks every setting that is given. @throws ConfigConversionError that names the field as `at` does. */
export function checkModelConfig(model: ModelConfig, at: (key: string) => string): void {
  const { name, temperature, topP, stop, reasoningEffort, history, headers, extraBody } = model
  if (name !== undefined) checkText(at('name'), name)
  if (temperature !== undefined) checkTemperature(at('temperature'), temperature)
  if (topP !== undefined && !(topP >= 0 && topP <= 1))
    throw invalidValue(at('topP'), topP, 'must be a number from 0.0 to 1.0')
  for (const text of typeof stop === 'string' ? [stop] : (stop ?? []))
    if (text === '') throw invalidValue(at('stop'), '', 'must not be empty')
  if (reasoningEffort !== undefined) checkText(at('reasoningEffort'), reasoningEffort)
  if (history !== undefined && history !== 'window' && history !== 'summarise')
    throw invalidValue(at('history'), history, 'must be window or summarise')
  const { responseFormat } = model
  if (responseFormat !== undefined && !responseFormats.includes(responseFormat))
    throw invalidValue(
      at('responseFormat'),
      responseFormat,
      'must be json_schema, json_object or none',
    )
  checkCounts(model, at)
  checkHeaders(headers ?? {}, at('headers'))
  for (const field of Object.keys(extraBody ?? {}))
    if (ownFields.has(field))
      throw invalidValue(`${at('extraBody')}.${field}`, '…', 'has a setting, or is ours to fill')
}

/** Sampling temperature, both bounds included. */
function checkTemperature(field: string, value: number): number {
  if (!(value >= 0 && value <= 2))
    throw invalidValue(field, value, 'must be a number from 0.0 to 2.0')
  return value
}

const responseFormats: readonly ResponseFormat[] = ['json_schema', 'json_object', 'none']

function checkCounts(model: ModelConfig, at: (key: string) => string): void {
  const { maxTokens, seed, maxHistory, maxToolRounds, history } = model
  const counts = {
    maxTokens: { value: maxTokens, min: 1 },
    seed: { value: seed, min: Number.MIN_SAFE_INTEGER },
    // A summary is found again by the last message that it covers, as far back as conversations are read.
    maxHistory: {
      value: maxHistory,
      ...(history === 'summarise' ? { min: 2, max: 80 } : { min: 0, max: 1_000 }),
    },
    maxToolRounds: { value: maxToolRounds, min: 0, max: 100 },
  }
  for (const [key, { value, ...range }] of Object.entries(counts))
    if (value !== undefined) checkWhole(at(key), value, range)
}

/** A whole number within bounds, both included. */
function checkWhole(
  field: string,
  value: number,
  { min, max }: { readonly min: number; readonly max?: number },
): number {
  const isWithin = value >= min && value <= (max ?? Number.MAX_SAFE_INTEGER)
  if (Number.isInteger(value) && isWithin) return value
  const range = max === undefined ? (min === 1 ? ' above 0' : '') : ` from ${min} to ${max}`
  throw invalidValue(field, value, `must be a whole number${range}`)
}

/** Headers that say how the request is written. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...['content-type', 'content-length', 'transfer-encoding'],
  ...['host', 'connection', 'accept', 'expect', 'upgrade'],
])

function checkHeaders(headers: Readonly<Record<string, string>>, at: string): void {
  for (const [name, value] of Object.entries(headers)) {
    checkHeaderName(`${at}.${name}`, name)
    if (ownHeaders.has(name.toLowerCase()))
      throw invalidValue(`${at}.${name}`, '[redacted]', 'is ours to fill')
    if (!/^[\x20-\x7e]+$/.test(value) || value.trim() !== value)
      throw invalidValue(`${at}.${name}`, '[redacted]', 'must be printable ASCII')
  }
}

/** Fields of a request that are filled from settings, or by the conversation. */
const ownFields: ReadonlySet<string> = new Set(
  (
    'model messages stream stream_options tools tool_choice parallel_tool_calls ' +
    'temperature top_p max_tokens stop seed reasoning_effort'
  ).split(' '),
)
