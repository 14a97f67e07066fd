import type { Kinds, OptionTable } from './options.ts'

/*
 * A key of a configuration is written once, as a row beside the type that has it. From the row follow how TOML files
 * write the key, the JSON Schema, its line in docs/configuration.md, its default, and the checks of what programs give.
 */

/** What a key may hold. */
type Kind =
  /** Text that is not empty. */
  | 'text'
  | 'anyText'
  /** A number; files may write it as a string too. */
  | 'number'
  /** Such a number that is whole, from `min` to `max`. */
  | 'whole'
  /** Such a number of seconds: more than 0, and ten years at most. */
  | 'seconds'
  /** A whole number from `min`, which is 1 if absent. */
  | 'count'
  | 'positive'
  | 'boolean'
  /** A list of texts that are not empty. */
  | 'texts'
  /** One of the texts `of`. */
  | 'choice'
  /** The same, in any case. */
  | 'word'
  /** A list of such texts. */
  | 'choices'
  /** An expression or a template; a program may give a function. Where it has rows `of`, a table with these too. */
  | 'rule'
  /** A JSON Schema; a program may give the schema of a library. */
  | 'schema'
  /** A list of steps of a workflow. */
  | 'steps'
  /** Texts under names of your own. */
  | 'textTable'
  /** A table with the rows `of`. */
  | 'table'
  /** A list of such tables. */
  | 'tables'
  /** Anything else; the code that reads it knows what. */
  | 'any'

/** What a program may give for a key of each kind. */
const kinds: Readonly<Record<Kind, Kinds>> = {
  text: 'string',
  anyText: 'string',
  number: 'number',
  whole: 'number',
  seconds: 'number',
  count: 'number',
  positive: 'number',
  boolean: 'boolean',
  texts: 'array',
  choice: 'any',
  word: 'any',
  choices: 'array',
  rule: 'any',
  schema: 'any',
  steps: 'array',
  textTable: 'object',
  table: 'object',
  tables: 'array',
  any: 'any',
}

/** What a row says besides its kind and what the key does. */
interface RowFacts {
  /** Values as a file may have them. */
  readonly examples: readonly [unknown, ...unknown[]]
  /** What holds where the key is absent. */
  readonly default?: unknown
  /** Whether the key must be given. */
  readonly required?: true
  /** What a number may be. */
  readonly min?: number
  readonly max?: number
  /** What a choice or word may be, or which rows a table has. */
  readonly of?: readonly string[] | RowTable
  /** Keys of the table of which exactly one is given. */
  readonly oneOf?: readonly string[]
  /** Further spellings of a word that the published schema shows. */
  readonly spellings?: readonly string[]
  /** What a program may give, where its kind does not say it. */
  readonly option?: Kinds
  /** Programs must not give an empty text, as files never may. */
  readonly filled?: true
  /** Set where programs alone may give it. */
  readonly inCode?: true
  /** Set where another key is to be used instead. */
  readonly deprecated?: true
}

/** One key of a configuration. */
export interface KeyRow extends RowFacts {
  readonly kind: Kind
  /** What it does, in which unit, and what happens at its end: one or two sentences. */
  readonly description: string
}

/** Rows by the names of their keys in code; files write these in snake case. */
export type RowTable = Readonly<Record<string, KeyRow>>

/** The rows of a configuration: a key without its row does not compile, nor one of `Defaults` without its default. */
export type Rows<T, Defaults extends keyof T = never> = {
  readonly [K in keyof T]-?: KeyRow &
    (K extends Defaults ? { readonly default: NonNullable<T[K]> } : { readonly default?: T[K] }) &
    (object extends Pick<T, K> ? { readonly required?: never } : { readonly required: true })
}

type MakeRow = <const Facts extends RowFacts>(
  facts: Facts,
  description: string,
) => Facts & Pick<KeyRow, 'kind' | 'description'>

/** Makes rows: `row.number({ default: 10, examples: [5] }, 'What it does.')`. */
export const row: { readonly [K in Kind]: MakeRow } = Object.fromEntries(
  Object.keys(kinds).map((kind) => [
    kind,
    (facts: RowFacts, description: string) => ({ ...facts, kind, description }),
  ]),
) as { readonly [K in Kind]: MakeRow } // one for each kind

/** What a program may give for each key, in the order in which errors name them: the order of the rows but for the `first`. */
export function optionsOf<T>(
  rows: Rows<T>,
  first: readonly (keyof T & string)[] = [],
): OptionTable<T> {
  const options: Readonly<Record<string, string>> = Object.fromEntries(
    Object.entries<KeyRow>(rows).map(([key, { kind, option = kinds[kind], required }]) => [
      key,
      required ? `${option}!` : option,
    ]),
  )
  const named = Object.fromEntries(first.map((key) => [key, options[key]]))
  return { ...named, ...options } as OptionTable<T> // it has the keys of the rows
}

const tenYears = 10 * 365 * 24 * 60 * 60

/** Why a row does not allow a number; undefined where it does. Bounds are included. */
export function numberFault({ kind, min, max }: KeyRow, value: number): string | undefined {
  if (kind === 'seconds') {
    if (value > 0 && value <= tenYears) return undefined
    return `must be > 0 and <= ${tenYears} seconds (10 years)`
  }
  if (kind === 'number' && min !== undefined && max !== undefined) {
    if (value >= min && value <= max) return undefined
    return `must be a number from ${min.toFixed(1)} to ${max.toFixed(1)}`
  }
  if (kind !== 'whole') return undefined
  const { least, most } = { least: min ?? 0, most: max ?? Number.MAX_SAFE_INTEGER }
  if (Number.isInteger(value) && value >= least && value <= most) return undefined
  if (max === undefined) return `must be a whole number${least === 1 ? ' above 0' : ''}`
  return `must be a whole number from ${least} to ${most}`
}

/** What a choice or word may be. */
export function choicesOf({ of }: KeyRow): readonly string[] {
  return Array.isArray(of) ? of : []
}

/** `a, b or c`. */
export function eitherOf(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

/** How a file names the variable that holds a secret. */
export function fromVariable(name: string): string {
  return `\${${name}}`
}
