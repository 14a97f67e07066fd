import type { z } from 'zod'
import type { Json } from '../../protocol/types.ts'

/** What people are told of a key of the file: editors show it, and docs/configuration.md is made of it. */
export interface KeyFacts {
  /** What it does, in which unit, and what happens at its end: one or two sentences. */
  readonly description: string
  /** What holds where the key is absent. */
  readonly default?: Json
  /** Values as a file may have them. */
  readonly examples: readonly [Json, ...Json[]]
  /** Set where another key is to be used instead. */
  readonly deprecated?: true
}

/** A key with what people are told of it. Zod drops defaults and examples of what it transforms, so they stand apart. */
export function described<Schema extends z.ZodType>(schema: Schema, facts: KeyFacts): Schema {
  return schema.meta({ facts })
}

/** How a file names the variable that holds a secret. */
export function fromVariable(name: string): string {
  return `\${${name}}`
}
