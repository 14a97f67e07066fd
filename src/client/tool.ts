import type { AgentCard, JsonObject } from '../protocol/types.ts'
import type { CallOptions } from './config.ts'

/** A remote agent as a tool of a model: a function with a name, words and a schema. */
export interface ClientTool {
  /** Letters, digits, `_` and `-` only, at most 64 of them, as model interfaces demand. */
  readonly name: string
  /** What the agent does, for the model. */
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject
  /** Sends the message to the agent and gives back the text of its answer. */
  run(input: { readonly message: string }, options?: CallOptions): Promise<string>
}

/** Describes an agent as a tool. */
export function toTool(
  card: AgentCard,
  run: (text: string, options: CallOptions) => Promise<string>,
): ClientTool {
  return {
    name: toToolName(card.name),
    description: describe(card),
    parameters: {
      type: 'object',
      properties: { message: { type: 'string', description: 'What to ask or tell the agent' } },
      required: ['message'],
      additionalProperties: false,
    },
    run: ({ message }, options = {}) => run(message, options),
  }
}

function toToolName(name: string): string {
  const words = name.toLowerCase().split(/[^a-z0-9]+/)
  const slug = words.filter((word) => word !== '').join('_')
  return slug.slice(0, 64) || 'agent'
}

function describe(card: AgentCard): string {
  const skills = card.skills.map((skill) => `- ${skill.name}: ${skill.description}`)
  return [card.description || card.name, ...(skills.length > 0 ? ['Skills:', ...skills] : [])].join(
    '\n',
  )
}
