import { isFields, isShallow } from '../json.ts'
import type { Keyword } from './keyword.ts'
import { nestedKeywords } from './nested.ts'
import { patternKeywords, SchemaPatterns } from './patterns.ts'
import { plainKeywords } from './plain.ts'
import {
  isSchema,
  refTarget,
  type Schema,
  SchemaFault,
  type Site,
  sizeOf,
  spend,
} from './schema.ts'

/**
 * JSON Schema (2020-12), as much of it as can be checked exactly and in bounded time. A schema that says more than we
 * check, such as a remote reference, a regular expression that looks ahead or a word that we do not know, is refused when it is parsed:
 * a value that fits does fit. A library that leaves out what it does not know would say yes too often.
 */

/** What of a value does not fit, in words that name the place; undefined where it fits. @throws SchemaFault. */
export type SchemaCheck = (value: unknown) => string | undefined

/** How many values a schema may consist of. */
const maxNodes = 10_000

/** How many steps a check may take. */
const maxSteps = 1_000_000

/** The check of a schema that somebody else wrote. @throws SchemaFault for one that cannot be checked. */
export function parseJsonSchema(given: unknown, name = 'value'): SchemaCheck {
  if (!isSchema(given)) throw new SchemaFault('', 'must be a JSON Schema')
  if (!isShallow(given)) throw new SchemaFault('', 'nests too deep')
  if (sizeOf(given) > maxNodes) throw new SchemaFault('', 'is too large')
  mustBeJson(given, '')
  const patterns = new SchemaPatterns()
  mustBeChecked(given, '', { root: given, seen: new Set(), patterns })
  return (value) => {
    if (!isShallow(value)) return `${name} nests too deep`
    const run = { root: given, patterns, fits, steps: maxSteps }
    return fits(given, value, { path: name, depth: 0, run })
  }
}

/** Files of TOML have dates and numbers without an end, programs have functions: no value of JSON equals them. */
function mustBeJson(value: unknown, path: string): void {
  if (isFields(value) || Array.isArray(value)) {
    if (value instanceof Date)
      throw new SchemaFault(path, 'is a date, and JSON has none: write it as a text')
    const isList = Array.isArray(value)
    for (const [key, inner] of Object.entries(value)) {
      const below = path === '' ? key : `${path}.${key}`
      mustBeJson(inner, isList ? `${path}[${key}]` : below)
    }
    return
  }
  const isNumber = typeof value === 'number'
  if (isNumber ? !Number.isFinite(value) : ['bigint', 'function', 'symbol'].includes(typeof value))
    throw new SchemaFault(path, `is no value of JSON, but ${isNumber ? value : typeof value}`)
}

/** Words that only describe. */
const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['$comment', '$schema', 'contentEncoding', 'contentMediaType'],
])

const keywords: ReadonlyMap<string, Keyword> = new Map(
  Object.entries({ ...plainKeywords, ...nestedKeywords, ...patternKeywords }),
)

/** References may lead in a circle that no value ends. */
const maxDepth = 256

function fits(schema: Schema, value: unknown, at: Site): string | undefined {
  const { path, depth, run } = at
  spend(at, 1)
  if (depth > maxDepth) throw new SchemaFault('', 'refers to itself without an end')
  if (typeof schema === 'boolean') return schema ? undefined : `${path} must not be there`
  const site = { path, depth: depth + 1, run, schema }
  for (const name of Object.keys(schema)) {
    const fault = keywords.get(name)?.check(schema[name], value, site)
    if (fault !== undefined) return fault
  }
  return undefined
}

interface Walk {
  readonly root: Schema
  readonly seen: Set<Schema>
  readonly patterns: SchemaPatterns
}

/** Goes through a schema and all that it refers to; what is not known in it is a fault. */
function mustBeChecked(schema: Schema, path: string, walk: Walk): void {
  if (typeof schema === 'boolean' || walk.seen.has(schema)) return
  walk.seen.add(schema)
  for (const [name, rule] of Object.entries(schema)) {
    if (isAnnotation(name, path)) continue
    const keyword = keywords.get(name)
    const here = path === '' ? name : `${path}.${name}`
    if (!keyword) throw new SchemaFault(here, 'cannot be checked')
    const wrong = keyword.faultOf(rule)
    if (wrong) throw new SchemaFault(here, wrong)
    walk.patterns.add(name, rule, here)
    for (const [inner, sub] of keyword.innerOf(rule)) mustBeChecked(sub, `${here}${inner}`, walk)
    if (name === '$ref') mustBeChecked(targetOf(rule, here, walk), here, walk)
  }
}

/** What only describes. A root's id names the whole; one further in would change what references mean. */
function isAnnotation(name: string, path: string): boolean {
  return annotations.has(name) || name.startsWith('x-') || (name === '$id' && path === '')
}

function targetOf(ref: unknown, path: string, { root }: Walk): Schema {
  const target = typeof ref === 'string' ? refTarget(root, ref) : undefined
  if (target === undefined)
    throw new SchemaFault(
      path,
      `cannot be followed: only references within the schema can, such as #/$defs/name`,
    )
  return target
}
