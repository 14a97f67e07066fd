import type { z } from 'zod'
import type { Guards } from '../../agents/guards/guard.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { teamDefaults } from '../../team/defaults.ts'
import type { CallRules } from '../../team/schedulers/scheduler.ts'
import type { AskRules } from '../../team/team-config.ts'
import { described } from './described.ts'
import { guardsSchema } from './guards.ts'
import { outputFields } from './output-fields.ts'
import { filledText, numberLike, whenGiven } from './values.ts'

type Optional<Output, Input = unknown> = z.ZodOptional<z.ZodType<Output, Input>>

/** What a step, a join or a map asks of its member and of the answer. */
export const askFields: {
  readonly input: Optional<string, string>
  readonly output_schema: Optional<JsonObject>
  readonly max_output_retries: Optional<number, number | string>
} = {
  input: described(filledText.optional(), {
    description:
      'What the member is asked instead of the previous answer: a text in which `{{ expression }}` stands for its value.',
    examples: ['Make this shorter: {{ previous.text }}'],
  }),
  ...outputFields,
}

/** How a step, a join or a map calls its member. */
export const callFields: {
  readonly timeout_seconds: Optional<number, number | string>
  readonly max_retries: Optional<number, number | string>
  readonly fallback_agent_id: Optional<string, string>
  readonly guards: Optional<Guards>
} = {
  timeout_seconds: described(numberLike.optional(), {
    description:
      'How long the member may take, in seconds, less than 300; then it has failed. No limit if absent.',
    examples: [120],
  }),
  max_retries: described(numberLike.optional(), {
    description: 'How often the member is asked again after it has failed, 0 to 10.',
    default: teamDefaults.maxRetries,
    examples: [1],
  }),
  fallback_agent_id: described(filledText.optional(), {
    description: 'The member that is asked instead when all tries have failed.',
    examples: ['reviewer'],
  }),
  guards: described(guardsSchema.optional(), {
    description:
      'What looks at the question to the member and at its answer, beside its own guards.',
    examples: [{ output: ['secrets'] }],
  }),
}

interface Asked {
  readonly input?: string | undefined
  readonly output_schema?: JsonObject | undefined
  readonly max_output_retries?: number | undefined
}

/** What is asked, by its names in code. */
export function toAskRules(fields: Asked): AskRules {
  return {
    ...whenGiven('input', fields.input),
    ...whenGiven('outputSchema', fields.output_schema),
    ...whenGiven('maxOutputRetries', fields.max_output_retries),
  }
}

interface Called {
  readonly timeout_seconds?: number | undefined
  readonly max_retries?: number | undefined
  readonly fallback_agent_id?: string | undefined
  readonly guards?: Guards | undefined
}

/** How the member is called, by its names in code. */
export function toCallRules(fields: Called): CallRules {
  return {
    ...whenGiven('timeoutSeconds', fields.timeout_seconds),
    ...whenGiven('maxRetries', fields.max_retries),
    ...whenGiven('fallbackAgentId', fields.fallback_agent_id),
    ...whenGiven('guards', fields.guards),
  }
}
