import type { DataSchema } from '../data-schema.ts'

/** What is asked of an answer. */
export interface OutputRules {
  readonly schema: DataSchema
  /** How often an answer that does not fit is asked for again; 2 if absent. */
  readonly maxOutputRetries?: number | undefined
}
