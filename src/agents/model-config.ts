import type { JsonObject } from '../protocol/types.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { choicesOf, eitherOf, type KeyRow, optionsOf, type Rows, row } from '../shared/rows.ts'
import { nearest, toSnakeCase } from '../shared/text.ts'
import {
  ConfigConversionError,
  checkHeaderName,
  checkNumber,
  checkText,
  invalidValue,
} from './config-checks.ts'

/** What a model hears of messages that are too many to read: the last ones, or a summary. */
export type ModelHistory = 'window' | 'summarise'

/** How a model service is told which schema an answer must fit: by its `response_format`, or in words alone. */
export type ResponseFormat = 'json_schema' | 'json_object' | 'none'

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

/** `[agents.model]`. */
export const modelRows: Rows<
  ModelConfig,
  'name' | 'maxToolRounds' | 'maxHistory' | 'history' | 'responseFormat'
> = {
  name: row.text({ default: 'gpt-4', examples: ['gpt-4.1'] }, "The service's name for the model."),
  systemPrompt: row.anyText(
    { examples: ['You are a careful researcher.'] },
    'What the model is told before everything else.',
  ),
  temperature: row.number(
    { min: 0, max: 2, examples: [0.7] },
    'How freely the model chooses its words, from 0 to 2; left to the service if absent.',
  ),
  topP: row.number(
    { min: 0, max: 1, examples: [0.9] },
    'The share of likely words that the model chooses from, 0 to 1; left to the service if absent.',
  ),
  maxTokens: row.whole(
    { min: 1, examples: [1000] },
    'The longest answer, in tokens; left to the service if absent.',
  ),
  stop: row.any(
    { option: 'string|array', examples: [['END'], 'END'] },
    'The answer ends before this text, or before one of these.',
  ),
  seed: row.whole(
    { min: Number.MIN_SAFE_INTEGER, examples: [7] },
    'Asks the service for the same answer to the same question, where it can do that.',
  ),
  reasoningEffort: row.text(
    { examples: ['low'] },
    'How long a model that thinks does so: `minimal`, `low`, `medium`, `high`, or what else the service knows.',
  ),
  parallelToolCalls: row.boolean(
    { examples: [false] },
    'Whether the model may call several tools at once; left to the service if absent, and not sent to a model without tools.',
  ),
  maxToolRounds: row.whole(
    { min: 0, max: 100, default: 8, examples: [4] },
    'How often the model may call tools, 0 to 100; then it must answer.',
  ),
  maxHistory: row.whole(
    { min: 0, max: 1_000, default: 20, examples: [40] },
    'How many earlier messages of the conversation the model sees, 0 to 1000, or 2 to 80 with `history = "summarise"`.',
  ),
  history: row.choice(
    { of: ['window', 'summarise'], default: 'window', examples: ['summarise'] },
    'What becomes of messages before those: `window` forgets them, `summarise` has the model put them into a summary that stays with the conversation.',
  ),
  responseFormat: row.choice(
    {
      of: ['json_schema', 'json_object', 'none'],
      default: 'json_schema',
      examples: ['json_object'],
    },
    'How the service is told of `output_schema`: by `json_schema`, by `json_object` with the schema in words, or with `none` in words alone.',
  ),
  headers: row.textTable(
    { examples: [{ 'X-Team': 'research' }] },
    'Headers of every request to the service. Their values are kept from logs.',
  ),
  extraBody: row.table(
    { examples: [{ user: 'corral' }] },
    'Further fields of every request, for what this service alone knows. What has a key of its own here is refused.',
  ),
}

/** What the settings of a model may be. */
export const modelOptions: OptionTable<ModelConfig> = toModelOptions()

/** Errors name the rounds of tools after the history. */
function toModelOptions(): OptionTable<ModelConfig> {
  const { maxToolRounds, responseFormat, headers, extraBody, ...first } = optionsOf(modelRows)
  return { ...first, maxToolRounds, responseFormat, headers, extraBody }
}

/** An MCP server whose tools a model may use: a program spoken to over stdio, or a streamable HTTP endpoint. */
export type McpServerConfig = McpProgram | McpEndpoint

/** An MCP server that is started as a child process. */
export interface McpProgram {
  /** Names the server in errors and, where two servers have a tool of the same name, in the tool's name. */
  readonly name: string
  readonly command: string
  readonly args?: readonly string[]
  /** Added to a small safe environment; the process's own variables are not inherited. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder it runs in; relative to where this process was started, which is also the default. */
  readonly cwd?: string
  /** Tools of the server that the user is asked about before they run. */
  readonly approval?: ApprovalNames
}

/** An MCP server that is reached by HTTP (streamable). */
export interface McpEndpoint {
  /** Names the server in errors and, where two servers have a tool of the same name, in the tool's name. */
  readonly name: string
  readonly url: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Tools of the server that the user is asked about before they run. */
  readonly approval?: ApprovalNames
}

/** A file whose tools a model may use. */
export interface ToolModuleConfig {
  /** The file, relative to the configuration: it exports a tool, a list of them, or several under names. */
  readonly module: string
  /** Tools that the user is asked about before they run, beside those that say so themselves. */
  readonly approval?: ApprovalNames
}

/** Which tools the user is asked about before they run: all of them, or those that are named. */
export type ApprovalNames = boolean | readonly string[]

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

/** Settings that have no older place, and names that are never shown in an agent's info: they have several words. */
const onlyInTable: readonly string[] = Object.keys(modelRows)
  .map(toSnakeCase)
  .filter((name) => name.includes('_') && ![...olderPlaces.values()].includes(name))

function fromMetadata(metadata: Metadata): ModelConfig {
  const { model, temperature, max_tokens: maxTokens, system_prompt: systemPrompt } = metadata
  return {
    ...(model !== undefined && { name: checkText('metadata.model', String(model)) }),
    ...(temperature !== undefined && {
      temperature: checkNumber(
        'metadata.temperature',
        parseNumber('metadata.temperature', temperature),
        modelRows.temperature,
      ),
    }),
    ...(maxTokens !== undefined && {
      maxTokens: checkNumber('metadata.max_tokens', parseNumber('metadata.max_tokens', maxTokens), {
        ...modelRows.maxTokens,
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
  const { name, stop, reasoningEffort, headers, extraBody } = model
  if (name !== undefined) checkText(at('name'), name)
  for (const key of ['temperature', 'topP'] as const)
    if (model[key] !== undefined) checkNumber(at(key), model[key], modelRows[key])
  for (const text of typeof stop === 'string' ? [stop] : (stop ?? []))
    if (text === '') throw invalidValue(at('stop'), '', 'must not be empty')
  if (reasoningEffort !== undefined) checkText(at('reasoningEffort'), reasoningEffort)
  for (const key of ['history', 'responseFormat'] as const) checkChoice(at(key), model[key], key)
  const { maxTokens, seed, maxToolRounds } = modelRows
  const maxHistory = model.history === 'summarise' ? ofSummaries : modelRows.maxHistory
  const ranges = { maxTokens, seed, maxHistory, maxToolRounds }
  for (const [key, range] of Object.entries(ranges)) {
    const value = model[key as keyof typeof ranges] // one of its keys
    if (value !== undefined) checkNumber(at(key), value, range)
  }
  checkHeaders(headers ?? {}, at('headers'))
  for (const field of Object.keys(extraBody ?? {}))
    if (ownFields.has(field))
      throw invalidValue(`${at('extraBody')}.${field}`, '…', 'has a setting, or is ours to fill')
}

/** A summary is found again by the last message that it covers, as far back as conversations are read. */
const ofSummaries: KeyRow = { ...modelRows.maxHistory, min: 2, max: 80 }

function checkChoice(
  field: string,
  value: string | undefined,
  key: 'history' | 'responseFormat',
): void {
  const choices = choicesOf(modelRows[key])
  if (value !== undefined && !choices.includes(value))
    throw invalidValue(field, value, `must be ${eitherOf(choices)}`)
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
