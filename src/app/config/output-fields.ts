import type { z } from 'zod'
import { defaultOutputRetries } from '../../agents/output/check.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { described } from './described.ts'
import { outputSchemaField } from './schema-files.ts'
import { numberLike } from './values.ts'

/** What is asked of answers, of an agent or of a step. */
export const outputFields: {
  readonly output_schema: z.ZodOptional<z.ZodType<JsonObject>>
  readonly max_output_retries: z.ZodOptional<z.ZodType<number, number | string>>
} = {
  output_schema: described(outputSchemaField.optional(), {
    description:
      'A JSON Schema as a table, or the file that holds it, relative to this one: answers must fit it, and become data.',
    examples: [
      { type: 'object', properties: { score: { type: 'number' } }, required: ['score'] },
      './schemas/review.json',
    ],
  }),
  max_output_retries: described(numberLike.optional(), {
    description:
      'How often an answer that does not fit `output_schema` is asked for again, 0 to 10; then the task fails.',
    default: defaultOutputRetries,
    examples: [1],
  }),
}
