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
