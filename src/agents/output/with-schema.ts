import type { Agent, AgentInfo, AgentOf } from '../agent.ts'
import type { DataSchema } from '../data-schema.ts'
import { acceptsTools } from '../tools.ts'
import { wrapAgent } from '../wrap.ts'
import { checkedAnswer } from './check.ts'
import { cancelTries } from './turn.ts'

/** What becomes of answers that do not fit their schema. */
export interface OutputOptions {
  /** How often an answer that does not fit is asked for again; 2 if absent. */
  readonly maxOutputRetries?: number | undefined
}

/** Makes an agent's answers fit a schema: each is checked, asked for again where it does not fit, and becomes data. */
export function withOutputSchema<Output>(
  agent: Agent,
  schema: DataSchema<Output>,
  { maxOutputRetries }: OutputOptions = {},
): AgentOf<Output> {
  const keepsState = acceptsTools(agent)
  const wrapped = wrapAgent(agent, {
    info: async () => withSchema(await agent.info(), schema),
    process: (ask, message, turn) =>
      checkedAnswer({ ask, message, turn, schema, maxOutputRetries, keepsState }),
    cancel: agent.cancel && ((task) => cancelTries(agent, task)),
    // Requests that the agent answers by itself would go past the check.
    dispatch: undefined,
    outputSchema: schema,
  })
  return wrapped as AgentOf<Output> // its schema has just been put there
}

function withSchema(info: AgentInfo, { jsonSchema }: DataSchema): AgentInfo {
  return { ...info, details: { ...info.details, outputSchema: jsonSchema } }
}
