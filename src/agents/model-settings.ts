import { nearest } from '../shared/nearest.ts'
import { toSnakeCase } from '../shared/text.ts'
import {
  checkHeaderName,
  checkMaxTokens,
  checkTemperature,
  checkText,
  checkWhole,
  parseNumber,
} from './config-checks.ts'
import { invalidValue, setTwice, unknownField } from './config-error.ts'
import type { ModelConfig, ResponseFormat } from './model-config.ts'

type Key = keyof ModelConfig
type Metadata = Readonly<Record<string, string | number | boolean>>

/** Where a setting of a model stood before it had a table of its own, and still may stand. */
const olderPlaces: ReadonlyMap<Key, string> = new Map<Key, string>([
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
  checkMetadata(metadata, [...olderPlaces.values(), 'api_key', ...onlyInTable])
  checkModelConfig(model, (key) => `model.${toSnakeCase(key)}`)
  for (const [key, older] of olderPlaces)
    if (model[key] !== undefined && metadata[older] !== undefined)
      throw setTwice(`model.${toSnakeCase(key)}`, `metadata.${older}`)
  return { ...fromMetadata(metadata), ...model }
}

/** Refuses a key of metadata that is all but a setting: it would be shown and never used. */
export function checkMetadata(metadata: Metadata, known: readonly string[]): void {
  for (const key of Object.keys(metadata)) {
    // Short words are near to many others, and free for those who show them.
    if (key.length < 5) continue
    const meant = nearest(key, known)
    if (meant === undefined || (meant === key && !onlyInTable.includes(key))) continue
    const place = onlyInTable.includes(meant) ? 'model' : 'metadata'
    throw unknownField(`metadata.${key}`, `${place}.${meant}`)
  }
}

/** Settings that have no older place, and names that nobody would show in an agent's info. */
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
      maxTokens: checkMaxTokens(parseNumber('metadata.max_tokens', maxTokens)),
    }),
    ...(systemPrompt !== undefined && { systemPrompt: String(systemPrompt) }),
  }
}

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

const responseFormats: readonly ResponseFormat[] = ['json_schema', 'json_object', 'none']

function checkCounts(model: ModelConfig, at: (key: string) => string): void {
  const { maxTokens, seed, maxHistory, maxToolRounds, history } = model
  const counts = {
    maxTokens: { value: maxTokens, min: 1 },
    seed: { value: seed, min: Number.MIN_SAFE_INTEGER },
    // A summary is found again by the last message that it covers, as far back as conversations are read.
    maxHistory: { value: maxHistory, ...(history === 'summarise' ? fewMessages : anyMessages) },
    maxToolRounds: { value: maxToolRounds, min: 0, max: 100 },
  }
  for (const [key, { value, ...range }] of Object.entries(counts))
    if (value !== undefined) checkWhole(at(key), value, range)
}

const fewMessages = { min: 2, max: 80 }
const anyMessages = { min: 0, max: 1_000 }

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
