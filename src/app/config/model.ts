import { z } from 'zod'
import { type ModelConfig, modelDefaults } from '../../agents/model-config.ts'
import { described } from './described.ts'
import { filledText, isJsonTable, numberLike, whenGiven, words } from './values.ts'

const modelTable = z.strictObject({
  name: described(filledText.optional(), {
    description: "The service's name for the model.",
    default: modelDefaults.name,
    examples: ['gpt-4.1'],
  }),
  system_prompt: described(z.string().optional(), {
    description: 'What the model is told before everything else.',
    examples: ['You are a careful researcher.'],
  }),
  temperature: described(numberLike.optional(), {
    description:
      'How freely the model chooses its words, from 0 to 2; left to the service if absent.',
    examples: [0.7],
  }),
  top_p: described(numberLike.optional(), {
    description:
      'The share of likely words that the model chooses from, 0 to 1; left to the service if absent.',
    examples: [0.9],
  }),
  max_tokens: described(numberLike.optional(), {
    description: 'The longest answer, in tokens; left to the service if absent.',
    examples: [1000],
  }),
  stop: described(z.union([filledText, z.array(filledText)]).optional(), {
    description: 'The answer ends before this text, or before one of these.',
    examples: [['END'], 'END'],
  }),
  seed: described(numberLike.optional(), {
    description: 'Asks the service for the same answer to the same question, where it can do that.',
    examples: [7],
  }),
  reasoning_effort: described(filledText.optional(), {
    description:
      'How long a model that thinks does so: `minimal`, `low`, `medium`, `high`, or what else the service knows.',
    examples: ['low'],
  }),
  parallel_tool_calls: described(z.boolean().optional(), {
    description:
      'Whether the model may call several tools at once; left to the service if absent, and not sent to a model without tools.',
    examples: [false],
  }),
  max_tool_rounds: described(numberLike.optional(), {
    description: 'How often the model may call tools, 0 to 100; then it must answer.',
    default: modelDefaults.maxToolRounds,
    examples: [4],
  }),
  max_history: described(numberLike.optional(), {
    description:
      'How many earlier messages of the conversation the model sees, 0 to 1000, or 2 to 80 with `history = "summarise"`.',
    default: modelDefaults.maxHistory,
    examples: [40],
  }),
  history: described(z.enum(['window', 'summarise']).optional(), {
    description:
      'What becomes of messages before those: `window` forgets them, `summarise` has the model put them into a summary that stays with the conversation.',
    default: modelDefaults.history,
    examples: ['summarise'],
  }),
  response_format: described(z.enum(['json_schema', 'json_object', 'none']).optional(), {
    description:
      'How the service is told of `output_schema`: by `json_schema`, by `json_object` with the schema in words, or with `none` in words alone.',
    default: modelDefaults.responseFormat,
    examples: ['json_object'],
  }),
  headers: described(words.optional(), {
    description: 'Headers of every request to the service. Their values are kept from logs.',
    examples: [{ 'X-Team': 'research' }],
  }),
  extra_body: described(
    z.record(z.string(), z.unknown()).refine(isJsonTable, 'dates are no JSON').optional(),
    {
      description:
        'Further fields of every request, for what this service alone knows. What has a key of its own here is refused.',
      examples: [{ user: 'corral' }],
    },
  ),
})

/** `[agents.model]`: which model an OpenAI agent is, and how it answers. */
export const modelSchema: z.ZodType<ModelConfig> = modelTable.transform(
  (model): ModelConfig => ({
    ...whenGiven('name', model.name),
    ...whenGiven('systemPrompt', model.system_prompt),
    ...whenGiven('temperature', model.temperature),
    ...whenGiven('topP', model.top_p),
    ...whenGiven('maxTokens', model.max_tokens),
    ...whenGiven('stop', model.stop),
    ...(model.seed !== undefined && { seed: model.seed }),
    ...whenGiven('reasoningEffort', model.reasoning_effort),
    ...whenGiven('parallelToolCalls', model.parallel_tool_calls),
    ...whenGiven('maxHistory', model.max_history),
    ...whenGiven('history', model.history),
    ...whenGiven('maxToolRounds', model.max_tool_rounds),
    ...whenGiven('responseFormat', model.response_format),
    ...whenGiven('headers', model.headers),
    ...whenGiven('extraBody', model.extra_body),
  }),
)
