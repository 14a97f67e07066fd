import { type Fields, isFields } from '../json.ts'
import { isSchema, type Schema, type Site } from './schema.ts'

/** One word of JSON Schema. */
export interface Keyword {
  /** What is wrong with what the schema says under this word; undefined where nothing is. */
  faultOf(rule: unknown): string | undefined
  /** The schemas that stand in it, each with its place. */
  innerOf(rule: unknown): readonly (readonly [string, Schema])[]
  /** What of the value does not fit; undefined where it fits. */
  check(rule: unknown, value: unknown, site: KeywordSite): string | undefined
}

/** Where a check stands, and the schema that the word is part of. */
export interface KeywordSite extends Site {
  readonly schema: Fields
}

/** A form that the rule of a word has. */
interface Shape<T> {
  /** What it must be. */
  readonly words: string
  is(rule: unknown): rule is T
  innerOf?(rule: T): readonly (readonly [string, Schema])[]
}

/** A word whose rule has a form, and what it checks. Without a check it is read by another word. */
export function keyword<T>(
  shape: Shape<T>,
  check?: (rule: T, value: unknown, site: KeywordSite) => string | undefined,
): Keyword {
  return {
    faultOf: (rule) => (shape.is(rule) ? undefined : `must be ${shape.words}`),
    innerOf: (rule) => (shape.is(rule) ? (shape.innerOf?.(rule) ?? []) : []),
    check: (rule, value, site) => (shape.is(rule) ? check?.(rule, value, site) : undefined),
  }
}

type Named<T> = Readonly<Record<string, T>>

interface Shapes {
  readonly schema: Shape<Schema>
  readonly schemas: Shape<readonly Schema[]>
  readonly named: Shape<Named<Schema>>
  readonly count: Shape<number>
  readonly number: Shape<number>
  readonly positive: Shape<number>
  readonly flag: Shape<boolean>
  readonly names: Shape<readonly string[]>
  readonly lists: Shape<Named<readonly string[]>>
  readonly values: Shape<readonly unknown[]>
  readonly any: Shape<unknown>
  readonly text: Shape<string>
}

/** The forms of rules. */
export const shapes: Shapes = {
  schema: { words: 'a schema', is: isSchema, innerOf: (rule) => [['', rule]] },
  schemas: {
    words: 'a list of schemas',
    is: (rule): rule is readonly Schema[] =>
      Array.isArray(rule) && rule.length > 0 && rule.every(isSchema),
    innerOf: (rule) => rule.map((inner, index) => [`[${index}]`, inner]),
  },
  named: {
    words: 'an object of schemas',
    is: (rule): rule is Named<Schema> => isFields(rule) && Object.values(rule).every(isSchema),
    innerOf: (rule) => Object.entries(rule).map(([name, inner]) => [`.${name}`, inner]),
  },
  count: {
    words: 'a whole number of at least 0',
    is: (rule): rule is number => isNumber(rule) && Number.isInteger(rule) && rule >= 0,
  },
  number: { words: 'a number', is: isNumber },
  positive: { words: 'a number above 0', is: (rule): rule is number => isNumber(rule) && rule > 0 },
  flag: { words: 'true or false', is: (rule) => typeof rule === 'boolean' },
  names: { words: 'a list of names', is: isNames },
  lists: {
    words: 'an object of lists of names',
    is: (rule): rule is Named<readonly string[]> =>
      isFields(rule) && Object.values(rule).every(isNames),
  },
  values: {
    words: 'a list of values',
    is: (rule): rule is readonly unknown[] => Array.isArray(rule) && rule.length > 0,
  },
  any: { words: 'a value', is: (_rule): _rule is unknown => true },
  text: { words: 'a text', is: (rule) => typeof rule === 'string' },
}

function isNumber(rule: unknown): rule is number {
  return typeof rule === 'number'
}

function isNames(rule: unknown): rule is readonly string[] {
  return Array.isArray(rule) && rule.every((name) => typeof name === 'string')
}
