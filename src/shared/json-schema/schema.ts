import { type Fields, isFields } from '../json.ts'

/** A schema: true takes everything, false nothing. */
export type Schema = boolean | Fields

/** Why a schema cannot be used, and where in it. */
export class SchemaFault extends Error {
  override readonly name = 'SchemaFault'
  /** The place within the schema, such as `properties.age.pattern`; empty for the whole. */
  readonly path: string
  /** The character at which it begins, where a text stands there in which something is wrong. */
  readonly offset: number | undefined

  constructor(path: string, message: string, offset?: number) {
    super(message)
    this.path = path
    this.offset = offset
  }

  /** The place by its keys. Where a key has a dot in it they lead no further than there. */
  get keys(): readonly (string | number)[] {
    if (this.path === '') return []
    return this.path
      .split(/\.|(?=\[\d+\])/)
      .map((key) => (/^\[\d+\]$/.test(key) ? Number(key.slice(1, -1)) : key))
  }
}

/** The regular expressions of a schema. */
interface PatternTests {
  /** Whether a pattern is in a text. */
  test(source: string, text: string, site: Site): boolean
}

/** What one check shares. */
interface CheckRun {
  readonly root: Schema
  readonly patterns: PatternTests
  /** What of a value does not fit a schema; undefined where it fits. */
  readonly fits: (schema: Schema, value: unknown, site: Site) => string | undefined
  /** How much work is left. */
  steps: number
}

/** Where a check stands. */
export interface Site {
  /** The place within the value, such as `answer.items[2]`. */
  readonly path: string
  /** How many schemas are being looked into. */
  readonly depth: number
  readonly run: CheckRun
}

/** Whether a value has the outer form of a schema. */
export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isFields(value)
}

/** Counts work. @throws SchemaFault when there was too much of it. */
export function spend({ run }: Site, steps: number): void {
  run.steps -= steps
  if (run.steps < 0) throw new SchemaFault('', 'takes too long to check')
}

/** The schema that a reference within the root names; undefined where there is none, or the reference leads out. */
export function refTarget(root: Schema, ref: string): Schema | undefined {
  if (ref !== '#' && !ref.startsWith('#/')) return undefined
  let target: unknown = root
  for (const step of ref.split('/').slice(1)) {
    const name = toName(step)
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name))
      return undefined
    target = Reflect.get(target, name)
  }
  return isSchema(target) ? target : undefined
}

/** A step of a JSON Pointer in a fragment (RFC 6901 §6). */
function toName(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step
  }
}

/** How many values a value consists of. */
export function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  let size = 1
  for (const inner of Object.values(value)) size += sizeOf(inner)
  return size
}

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
interface RuleShape<T> {
  /** What it must be. */
  readonly words: string
  is(rule: unknown): rule is T
  innerOf?(rule: T): readonly (readonly [string, Schema])[]
}

/** A word whose rule has a form, and what it checks. Without a check it is read by another word. */
export function keyword<T>(
  shape: RuleShape<T>,
  check?: (rule: T, value: unknown, site: KeywordSite) => string | undefined,
): Keyword {
  return {
    faultOf: (rule) => (shape.is(rule) ? undefined : `must be ${shape.words}`),
    innerOf: (rule) => (shape.is(rule) ? (shape.innerOf?.(rule) ?? []) : []),
    check: (rule, value, site) => (shape.is(rule) ? check?.(rule, value, site) : undefined),
  }
}

type ByName<T> = Readonly<Record<string, T>>

interface RuleShapes {
  readonly schema: RuleShape<Schema>
  readonly schemas: RuleShape<readonly Schema[]>
  readonly named: RuleShape<ByName<Schema>>
  readonly count: RuleShape<number>
  readonly number: RuleShape<number>
  readonly positive: RuleShape<number>
  readonly flag: RuleShape<boolean>
  readonly names: RuleShape<readonly string[]>
  readonly lists: RuleShape<ByName<readonly string[]>>
  readonly values: RuleShape<readonly unknown[]>
  readonly any: RuleShape<unknown>
  readonly text: RuleShape<string>
}

/** The forms of rules. */
export const shapes: RuleShapes = {
  schema: { words: 'a schema', is: isSchema, innerOf: (rule) => [['', rule]] },
  schemas: {
    words: 'a list of schemas',
    is: (rule): rule is readonly Schema[] =>
      Array.isArray(rule) && rule.length > 0 && rule.every(isSchema),
    innerOf: (rule) => rule.map((inner, index) => [`[${index}]`, inner]),
  },
  named: {
    words: 'an object of schemas',
    is: (rule): rule is ByName<Schema> => isFields(rule) && Object.values(rule).every(isSchema),
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
    is: (rule): rule is ByName<readonly string[]> =>
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
