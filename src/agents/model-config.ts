import type { JsonObject } from '../protocol/types.ts'

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
  /** What the model is told before everything else. */
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
