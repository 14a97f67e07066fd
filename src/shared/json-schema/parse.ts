import { type PausableWork, runInSlices } from '../async.ts'
import { type Fields, isFields, isShallow } from '../json.ts'
import { PatternFault } from '../pattern/parse.ts'
import { compilePattern, type Pattern } from '../pattern/pattern.ts'
import { keywords } from './keywords.ts'
import {
  CheckRun,
  clipPattern,
  isSchema,
  misfitText,
  refTarget,
  type Schema,
  SchemaFault,
  SchemaNode,
  Site,
  sizeOf,
} from './schema.ts'

/**
 * JSON Schema (2020-12), as much of it as can be checked exactly and in bounded time. A schema that says more than we
 * check, such as a remote reference, a regular expression that looks ahead or a word that we do not know, is rejected when it is parsed:
 * a value that fits does fit. A library that leaves out what it does not know would say yes too often.
 *
 * A schema is compiled once: references are resolved and names stand in maps. A check counts its steps, by the length
 * of what it compares, and runs in slices, so that neither a schema nor a value can hold the process.
 */

/**
 * What of a value does not fit, in words that name the place; undefined where it fits. A promise where the check takes
 * longer than a moment; callers take turns by their principals. @throws SchemaFault.
 */
export type SchemaCheck = (
  value: unknown,
  principal?: string,
) => string | undefined | Promise<string | undefined>

/** How many values a schema may consist of. */
const maxNodes = 10_000

/** The check of a schema that a stranger may have written. @throws SchemaFault for one that cannot be checked. */
export function parseJsonSchema(given: unknown, name = 'value'): SchemaCheck {
  if (!isSchema(given)) throw new SchemaFault('', 'must be a JSON Schema')
  if (!isShallow(given)) throw new SchemaFault('', 'nests too deep')
  if (sizeOf(given) > maxNodes) throw new SchemaFault('', 'is too large')
  mustBeJson(given, '')
  const root = new SchemaCompiler(given).compile()
  return (value, principal) => {
    if (!isShallow(value)) return `${name} nests too deep`
    return runInSlices(checkWhole(root, value, name), { principal })
  }
}

function* checkWhole(
  root: SchemaNode,
  value: unknown,
  name: string,
): PausableWork<string | undefined> {
  const site = new Site(new CheckRun(), name)
  const misfit = yield* root.nested(value, site)
  return misfit && misfitText(misfit)
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

/** How large the patterns of a schema may be together. */
const maxSize = 10_000

/** What a pattern costs to read, however small it is. */
const perPattern = 10

/** A schema with a node that is yet to be filled. */
interface PendingNode {
  readonly schema: Fields
  readonly node: SchemaNode
  readonly path: string
}

/** Compiles a schema and all that it refers to, each once; what is not known in it is a fault. */
class SchemaCompiler {
  readonly #root: Schema
  readonly #nodes = new Map<Schema, SchemaNode>()
  /** A list rather than calls within calls: references may make a chain as long as the schema. */
  readonly #pending: PendingNode[] = []
  readonly #patterns = new Map<string, Pattern>()
  #size = 0

  constructor(root: Schema) {
    this.#root = root
  }

  /** @throws SchemaFault for what cannot be checked. */
  compile(): SchemaNode {
    const node = this.#nodeOf(this.#root, '')
    for (const pending of this.#pending) this.#fill(pending)
    return node
  }

  #nodeOf(schema: Schema, path: string): SchemaNode {
    const known = this.#nodes.get(schema)
    if (known) return known
    const node = new SchemaNode()
    this.#nodes.set(schema, node)
    if (typeof schema !== 'boolean') this.#pending.push({ schema, node, path })
    else if (!schema)
      node.add({ plain: (_value, site) => ({ site, words: () => ' must not be there' }) })
    return node
  }

  #fill({ schema, node, path }: PendingNode): void {
    const known = Object.entries(schema).flatMap(([name, rule]) => {
      if (isAnnotation(name, path)) return []
      const keyword = keywords.get(name)
      const here = path === '' ? name : `${path}.${name}`
      if (!keyword) throw new SchemaFault(here, 'cannot be checked')
      const wrong = keyword.faultOf(rule)
      if (wrong) throw new SchemaFault(here, wrong)
      for (const [inner, sub] of keyword.innerOf(rule)) this.#nodeOf(sub, `${here}${inner}`)
      return [{ keyword, rule, here }]
    })
    for (const { keyword, rule, here } of known) {
      const check = keyword.compile(rule, {
        schema,
        nodeOf: (sub = true) => this.#nodeOf(sub, here),
        target: (ref) => this.#nodeOf(this.#targetOf(ref, here), here),
        pattern: (source) => this.#pattern(source, here),
      })
      if (check) node.add(check)
    }
  }

  #targetOf(ref: string, path: string): Schema {
    const target = refTarget(this.#root, ref)
    if (target !== undefined) return target
    const words = 'cannot be followed: only references within the schema can, such as #/$defs/name'
    throw new SchemaFault(path, words)
  }

  #pattern(source: string, path: string): Pattern {
    const known = this.#patterns.get(source)
    if (known) return known
    const pattern = readPattern(source, path)
    this.#size += pattern.size + perPattern
    if (this.#size > maxSize) throw new SchemaFault(path, 'makes the schema too large')
    this.#patterns.set(source, pattern)
    return pattern
  }
}

/** What only describes. A root's id names the whole; one further in would change what references mean. */
function isAnnotation(name: string, path: string): boolean {
  return annotations.has(name) || name.startsWith('x-') || (name === '$id' && path === '')
}

function readPattern(source: string, path: string): Pattern {
  try {
    return compilePattern(source)
  } catch (thrown) {
    if (!(thrown instanceof PatternFault)) throw thrown
    const place = `character ${thrown.position + 1} of ${clipPattern(source)}`
    throw new SchemaFault(path, `cannot be checked: ${thrown.message} (${place})`, thrown.position)
  }
}
