import { z } from 'zod'
import type { JsonObject } from '../../protocol/types.ts'
import type { Fields } from '../../shared/json.ts'
import { choicesOf, type KeyRow, type Rows, type RowTable } from '../../shared/rows.ts'
import { toSnakeCase } from '../../shared/text.ts'
import type { Unplaced } from './locate.ts'

/** A text that says something. */
export const filledText: z.ZodType<string, string> = z.string().min(1, 'must not be empty')

/** A table of texts under names of one's own. */
const words: z.ZodType<Record<string, string>, Record<string, string>> = z.record(
  z.string(),
  z.string(),
)

const mustBeNumber = 'must be a number, such as 3 or 0.5'

/** A number, or a string that holds one: files write numbers both ways. */
export const numberLike: z.ZodType<number, number | string> = z.union(
  [
    z.number(),
    z
      .string()
      // bounded: it is anchored, and each character can be read in one way only
      .regex(/^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/, mustBeNumber)
      .transform(Number),
  ],
  mustBeNumber,
)

/** Whether a table of TOML is JSON: dates are not. */
export function isJsonTable(value: Readonly<Record<string, unknown>>): value is JsonObject {
  const isJson = (one: unknown): boolean => {
    if (typeof one !== 'object' || one === null) return typeof one !== 'bigint'
    return !(one instanceof Date) && Object.values(one).every(isJson)
  }
  return isJson(value)
}

/** A property where there is a value, nothing where there is none. */
export function whenGiven<K extends string, V>(
  key: K,
  value: V | undefined,
): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V }) // one key, one value
}

/** What people are told of a key of the file: editors show it, and docs/configuration.md is made of it. */
export type KeyFacts = Pick<KeyRow, 'description' | 'default' | 'examples' | 'deprecated'>

/** How the keys of a table, and of tables inside it, are read for which it does not follow from the kinds of their rows. */
type OwnSchemas<T> = { readonly [K in keyof T]?: z.ZodType }

/** `maxRounds` as files write it: `max_rounds`. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name

/** Keys as files write them, with what each may hold. */
type Keys<T> = { readonly [K in keyof T & string as SnakeCase<K>]-?: z.ZodType }

/** Reads a table by its rows: the keys are in snake case there, and in camel case in the value. */
export function tableOf<T>(rows: Rows<T>, own: OwnSchemas<T> = {}): z.ZodType<T> {
  return z.strictObject(keysOf(rows, own)).transform((given) => toCamelCase<T>(given))
}

/** The keys of a table by its rows, for a table that has others beside them. */
export function keysOf<T>(rows: Rows<T>, own: OwnSchemas<T> = {}): Keys<T> {
  return schemasOf(rows, own) as Keys<T> // made of the names of the rows
}

/** Like `keysOf`, for rows without a TypeScript type. */
export function schemasOf(
  rows: RowTable,
  own: Readonly<Record<string, z.ZodType | undefined>> = {},
): Readonly<Record<string, z.ZodType>> {
  const inFiles = Object.entries(rows).filter(([, { inCode }]) => !inCode)
  return Object.fromEntries(
    inFiles.map(([key, row]) => {
      const { description, examples, required, deprecated } = row
      const schema = own[key] ?? schemaOf(row, own)
      // Zod drops defaults and examples of what it transforms, so they stand apart.
      const facts: KeyFacts = {
        description,
        default: row.default,
        examples,
        ...(deprecated && { deprecated }),
      }
      return [toSnakeCase(key), (required ? schema : schema.optional()).meta({ facts })]
    }),
  )
}

/** The members of a table that are given, by their names in code. */
export function toCamelCase<T>(table: object): T {
  const given = Object.entries(table).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([key, value]) => [key.replace(/_(.)/g, (_, next) => next.toUpperCase()), value]),
  ) as T // by the rows of the table
}

/** What a file may hold where a row stands for a key. */
function schemaOf(row: KeyRow, own: OwnSchemas<Fields>): z.ZodType {
  const { kind, of, oneOf, spellings = [], min = 1, max } = row
  if (kind === 'table' || kind === 'tables') {
    const inside = tableOf(of as Rows<Partial<Fields>>, own) // the kind says so
    const one = oneOf ? inside.refine((value) => says(value, oneOf), needsOne(oneOf)) : inside
    return kind === 'table' ? one : z.array(one)
  }
  if (kind === 'word') return word(choicesOf(row), spellings)
  if (kind === 'choice') return z.enum(choicesOf(row))
  if (kind === 'choices') return z.array(z.enum(choicesOf(row)))
  if (kind === 'count') return max === undefined ? z.int().min(min) : z.int().min(min).max(max)
  return simple[kind]
}

/** One of some words, case aside; the published schema shows these and other spellings in use. */
function word<const T extends string>(
  words: readonly T[],
  spellings: readonly string[],
): z.ZodType<T> {
  const lower = (value: unknown): unknown =>
    typeof value === 'string' ? value.toLowerCase() : value
  return z.preprocess(lower, z.enum(words)).meta({ type: 'string', enum: [...words, ...spellings] })
}

type WithFacts = 'table' | 'tables' | 'word' | 'choice' | 'choices' | 'count'

const simple: Readonly<Record<Exclude<KeyRow['kind'], WithFacts>, z.ZodType>> = {
  text: filledText,
  anyText: z.string(),
  number: numberLike,
  whole: numberLike,
  seconds: numberLike,
  positive: z.number().positive(),
  boolean: z.boolean(),
  texts: z.array(filledText),
  textTable: words,
  rule: filledText,
  schema: z.unknown(),
  steps: z.unknown(),
  any: z.unknown(),
}

/** Whether exactly one of the keys is given. */
function says(value: Fields, keys: readonly string[]): boolean {
  return keys.filter((key) => value[key] !== undefined).length === 1
}

function needsOne(keys: readonly string[]): string {
  return `needs exactly one of ${keys.map(toSnakeCase).join(', ')}`
}

/** What holds where the `[server]` table of a file does not say. */
export const serverDefaults = {
  host: '127.0.0.1',
  port: 3000,
  /** Below the directory in which the command is started. */
  store: '.corral/tasks.db',
  hasConsole: true,
  hasWebhooks: true,
} as const

/** Variables that a configuration may name as `${NAME}`: `process.env`, or anything in tests. */
export type ConfigVariables = Readonly<Record<string, string | undefined>>

/** A value with its variables filled in, and what is missing. */
interface Filled {
  readonly value: unknown
  readonly problems: readonly Unplaced[]
}

const variable = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/**
 * Puts variables in place of `${NAME}` in every string of a parsed file. It works on values, not on text, so that a
 * secret with a quote in it stays a string. `$${NAME}` stands for itself.
 */
export function fillEnvironment(value: unknown, environment: ConfigVariables): Filled {
  const problems: Unplaced[] = []
  const fill = (item: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof item === 'string') return fillText(item, path)
    if (Array.isArray(item)) return item.map((inner, i) => fill(inner, [...path, i]))
    if (!isTable(item)) return item
    const entries = Object.entries(item).map(([key, inner]) => [key, fill(inner, [...path, key])])
    return Object.fromEntries(entries)
  }
  const fillText = (text: string, path: readonly PropertyKey[]): string =>
    text.replace(variable, (whole, literal: string, name: string) => {
      const known = literal ? whole.slice(1) : variableOf(name, environment)
      if (known === undefined) problems.push(notSet(name, path))
      return known ?? whole
    })
  return { value: fill(value, []), problems }
}

/** Whether a value that is no list is a table: dates are objects too, but not tables. */
export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Date)
}

function variableOf(name: string, environment: ConfigVariables): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined
}

function notSet(name: string, path: readonly PropertyKey[]): Unplaced {
  const hint = `set it where the command runs, ${name}=…, or write $$\{${name}} for the text itself`
  return { path, message: `the variable ${name} is not set`, hint }
}

/** Where a character of a text with its variables filled in stands in the text that names them. */
export function unfilledOffset(text: string, environment: ConfigVariables, offset: number): number {
  let longer = 0
  for (const { 0: whole, 1: literal, 2: name = '', index } of text.matchAll(variable)) {
    if (index + longer >= offset) break
    const value = literal ? whole.slice(1) : (variableOf(name, environment) ?? whole)
    if (index + longer + value.length > offset) return index
    longer += value.length - whole.length
  }
  return offset - longer
}

/** What stands at a place of a value. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : inner),
    value,
  )
}
