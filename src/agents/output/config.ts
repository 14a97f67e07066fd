import type { AgentConfig } from '../config.ts'
import { checkRetries } from '../config-checks.ts'
import { ConfigConversionError, invalidValue } from '../config-error.ts'
import { toDataSchema } from '../schema.ts'
import type { OutputRules } from './rules.ts'

/**
 * What a configuration asks of an agent's answers; undefined where any will do.
 * @throws ConfigConversionError that names what is wrong.
 */
export function toOutputRules(config: AgentConfig): OutputRules | undefined {
  const { outputSchema, maxOutputRetries, metadata } = config
  if (maxOutputRetries !== undefined) checkRetries('max_output_retries', maxOutputRetries)
  if (!outputSchema) {
    if (maxOutputRetries === undefined) return undefined
    const reason = 'without output_schema every answer will do'
    throw invalidValue('max_output_retries', maxOutputRetries, reason)
  }
  if (/^return/i.test(String(metadata?.task_handling ?? '')))
    throw invalidValue('output_schema', '…', 'of a task that is not waited for there is no answer')
  try {
    return { schema: toDataSchema(outputSchema, { at: 'the schema' }), maxOutputRetries }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const fault = { variant: 'InvalidValue', field: 'output_schema', value: '…' } as const
    throw new ConfigConversionError({ ...fault, reason: error.message }, { cause: error })
  }
}
