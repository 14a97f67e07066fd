import { z } from 'zod'
import { keyHeader } from '../../agents/auth.ts'
import type { AgentConfig } from '../../agents/config.ts'
import { fromVariable, type KeyFacts } from './described.ts'

/** Keys that are settings; any others may stand beside them. They are read where an agent becomes one of its kind. */
const settings: Readonly<Record<string, KeyFacts>> = {
  api_key: {
    description:
      'The key of the model service, where the variable `OPENAI_API_KEY` is not to be used; or that of an A2A agent.',
    examples: [fromVariable('OPENAI_API_KEY')],
  },
  task_handling: {
    description:
      'What becomes of an answer of an A2A agent that is a task: `poll_until_complete` waits for its end, `return_task_info` gives the task as it is, `reject_tasks` refuses it.',
    default: 'poll_until_complete',
    examples: ['return_task_info'],
  },
  agent_id: {
    description: "An A2A agent's own id; discovered if absent.",
    examples: ['reviewer'],
  },
  auth_header: {
    description: 'The header in which `api_key` goes to an A2A agent.',
    default: keyHeader,
    examples: ['X-Service-Key'],
  },
  bearer_token: {
    description:
      'A bearer token for an A2A agent that has no `api_key`; `[agents.auth]` can say it too.',
    examples: [fromVariable('REVIEWER_TOKEN')],
  },
  model: {
    description: 'Use `name` in `[agents.model]`; a setting may stand in one of the two places.',
    examples: ['gpt-4.1'],
    deprecated: true,
  },
  temperature: {
    description: 'Use `temperature` in `[agents.model]`.',
    examples: [0.7],
    deprecated: true,
  },
  max_tokens: {
    description: 'Use `max_tokens` in `[agents.model]`; here it is 4096 at most.',
    examples: [1000],
    deprecated: true,
  },
  system_prompt: {
    description: 'Use `system_prompt` in `[agents.model]`.',
    examples: ['You are a careful researcher.'],
    deprecated: true,
  },
}

const type = ['string', 'number', 'boolean'] as const

/** `[agents.metadata]`: settings of the agent's kind, and what its info is to show. */
export const metadataSchema: z.ZodType<NonNullable<AgentConfig['metadata']>> = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .meta({
    properties: Object.fromEntries(
      Object.entries(settings).map(([key, facts]) => [key, { ...facts, type }]),
    ),
  })
