import { isFields, isSame, isShallow } from '../json.ts'
import { PatternFault } from '../pattern/parse.ts'
import { compilePattern, type Pattern } from '../pattern/pattern.ts'
import { readUrl } from '../text.ts'
import {
  isSchema,
  type Keyword,
  type KeywordSite,
  keyword,
  refTarget,
  type Schema,
  SchemaFault,
  type Site,
  shapes,
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

const kinds: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['object', isFields],
  ['array', Array.isArray],
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => typeof value === 'number'],
  ['integer', Number.isInteger],
  ['boolean', (value) => typeof value === 'boolean'],
  ['null', (value) => value === null],
])

const types = {
  words: `one or several of ${[...kinds.keys()].join(', ')}`,
  is: (rule: unknown): rule is string | readonly string[] =>
    isType(rule) || (Array.isArray(rule) && rule.length > 0 && rule.every(isType)),
}

const isType = (type: unknown): type is string => typeof type === 'string' && kinds.has(type)

/** The formats of texts that can be checked, by their names in JSON Schema. */
const formats: ReadonlyMap<string, (text: string) => boolean> = new Map(
  Object.entries({
    date: isDate,
    time: isTime,
    'date-time': isDateTime,
    duration: (text: string) =>
      /^P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/.test(
        text,
      ),
    email: (text: string) => /^[^\s@]+@[^\s@]+$/.test(text),
    hostname: isHostname,
    ipv4: isIpv4,
    ipv6: (text: string) =>
      /^[\da-f:.]+$/i.test(text) && readUrl(`http://[${text}]/`) !== undefined,
    uri: (text: string) => /^[a-z][a-z\d+.-]*:\S*$/i.test(text) && readUrl(text) !== undefined,
    uuid: (text: string) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text),
  }).map(([name, is]) => [name, (text: string) => text.length <= longest && is(text)]),
)

/** Longer than a text of these formats is. */
const longest = 2_048

/** The words that concern a value by itself. */
const plainKeywords: Readonly<Record<string, Keyword>> = {
  type: keyword(types, (rule, value, { path }) => {
    const wanted = typeof rule === 'string' ? [rule] : rule
    if (wanted.some((type) => kinds.get(type)?.(value))) return undefined
    return `${path} must be of type ${wanted.join(' or ')}`
  }),
  enum: keyword(shapes.values, (rule, value, site) => {
    spend(site, rule.length * sizeOf(value))
    if (rule.some((one) => isSame(one, value))) return undefined
    return `${site.path} must be one of ${clip(JSON.stringify(rule))}`
  }),
  const: keyword(shapes.any, (rule, value, site) => {
    spend(site, sizeOf(value))
    return isSame(rule, value) ? undefined : `${site.path} must be ${clip(JSON.stringify(rule))}`
  }),
  minimum: number((rule, value) => value >= rule, 'at least'),
  maximum: number((rule, value) => value <= rule, 'at most'),
  exclusiveMinimum: number((rule, value) => value > rule, 'above'),
  exclusiveMaximum: number((rule, value) => value < rule, 'below'),
  multipleOf: keyword(shapes.positive, (rule, value, { path }) => {
    if (typeof value !== 'number' || isMultiple(value, rule)) return undefined
    return `${path} must be a multiple of ${rule}`
  }),
  minLength: keyword(shapes.count, (rule, value, site) => {
    if (typeof value !== 'string' || lengthOf(value, site) >= rule) return undefined
    return `${site.path} must have at least ${rule} characters`
  }),
  maxLength: keyword(shapes.count, (rule, value, site) => {
    if (typeof value !== 'string' || lengthOf(value, site) <= rule) return undefined
    return `${site.path} must have at most ${rule} characters`
  }),
  format: keyword(
    {
      words: `one of the formats that can be checked: ${[...formats.keys()].join(', ')}`,
      is: (rule: unknown): rule is string => typeof rule === 'string' && formats.has(rule),
    },
    (rule, value, { path }) => {
      if (typeof value !== 'string' || formats.get(rule)?.(value)) return undefined
      return `${path} must have the format ${rule}`
    },
  ),
}

/** The words that look into a value, or ask further schemas of it. */
const nestedKeywords: Readonly<Record<string, Keyword>> = {
  properties: keyword(shapes.named, (rule, value, site) => {
    if (!isFields(value)) return undefined
    spend(site, Object.keys(rule).length)
    return firstFault(Object.keys(rule), (name) =>
      Object.hasOwn(value, name)
        ? within(below(site, `.${name}`), rule[name], value[name])
        : undefined,
    )
  }),
  required: keyword(shapes.names, (rule, value, site) => {
    if (!isFields(value)) return undefined
    spend(site, rule.length)
    const missing = rule.find((name) => !Object.hasOwn(value, name))
    return missing === undefined ? undefined : `${site.path}.${missing} is missing`
  }),
  additionalProperties: keyword(shapes.schema, (rule, value, site) => {
    const known = isFields(site.schema.properties) ? site.schema.properties : {}
    return eachMember(value, site, (name, member) =>
      Object.hasOwn(known, name) || isPatternProperty(name, site)
        ? undefined
        : within(below(site, `.${name}`), rule, member),
    )
  }),
  propertyNames: keyword(shapes.schema, (rule, value, site) =>
    eachMember(value, site, (name) => within(below(site, `.${name}`), rule, name)),
  ),
  dependentRequired: keyword(shapes.lists, (rule, value, site) =>
    eachMember(value, site, (name) => {
      const needed = Object.hasOwn(rule, name) ? (rule[name] ?? []) : []
      spend(site, needed.length)
      const missing = needed.find((one) => isFields(value) && !Object.hasOwn(value, one))
      return missing === undefined ? undefined : `${site.path}.${missing} is missing`
    }),
  ),
  minProperties: count(membersOf, (rule, size) => size >= rule, 'at least # members'),
  maxProperties: count(membersOf, (rule, size) => size <= rule, 'at most # members'),
  minItems: count(itemsOf, (rule, size) => size >= rule, 'at least # items'),
  maxItems: count(itemsOf, (rule, size) => size <= rule, 'at most # items'),
  prefixItems: keyword(shapes.schemas, (rule, value, site) =>
    firstFault(itemsOf(value)?.slice(0, rule.length) ?? [], (item, index) =>
      within(below(site, `[${index}]`), rule[index], item),
    ),
  ),
  items: keyword(shapes.schema, (rule, value, site) => {
    const { prefixItems } = site.schema
    const first = Array.isArray(prefixItems) ? prefixItems.length : 0
    return firstFault(itemsOf(value)?.slice(first) ?? [], (item, index) =>
      within(below(site, `[${first + index}]`), rule, item),
    )
  }),
  contains: keyword(shapes.schema, (rule, value, site) => {
    const items = itemsOf(value)
    if (!items) return undefined
    const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = site.schema
    const found = items.filter((item) => within(site, rule, item) === undefined).length
    if (found >= Number(minContains) && found <= Number(maxContains)) return undefined
    return `${site.path} has ${found} items of the kind that it must contain`
  }),
  minContains: keyword(shapes.count),
  maxContains: keyword(shapes.count),
  uniqueItems: keyword(shapes.flag, (rule, value, site) => {
    const items = itemsOf(value)
    if (!rule || !items) return undefined
    spend(site, sizeOf(items))
    const isUnique = new Set(items.map(inOneOrder)).size === items.length
    return isUnique ? undefined : `${site.path} must not have the same item twice`
  }),
  allOf: keyword(shapes.schemas, (rule, value, site) =>
    firstFault(rule, (schema) => within(site, schema, value)),
  ),
  anyOf: keyword(shapes.schemas, (rule, value, site) => {
    const faults: string[] = []
    for (const schema of rule) {
      const fault = within(site, schema, value)
      if (fault === undefined) return undefined
      faults.push(fault)
    }
    return rule.length === 1
      ? faults[0]
      : `${site.path} fits none of anyOf; of the first: ${faults[0]}`
  }),
  oneOf: keyword(shapes.schemas, (rule, value, site) => {
    const found = rule.filter((schema) => within(site, schema, value) === undefined).length
    return found === 1 ? undefined : `${site.path} must fit one of oneOf, and fits ${found}`
  }),
  not: keyword(shapes.schema, (rule, value, site) =>
    within(site, rule, value) === undefined ? `${site.path} is what it must not be` : undefined,
  ),
  if: keyword(shapes.schema, (rule, value, site) => {
    const fitting = within(site, rule, value) === undefined
    const next = fitting ? site.schema.then : site.schema.else
    return shapes.schema.is(next) ? within(site, next, value) : undefined
  }),
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
  then: keyword(shapes.schema),
  else: keyword(shapes.schema),
  $ref: keyword(shapes.text, (rule, value, site) =>
    within(site, refTarget(site.run.root, rule), value),
  ),
  $defs: keyword(shapes.named),
  definitions: keyword(shapes.named),
}

/** The words that have regular expressions. */
const patternKeywords: Readonly<Record<'pattern' | 'patternProperties', Keyword>> = {
  pattern: {
    faultOf: (rule) => (shapes.text.is(rule) ? undefined : `must be ${shapes.text.words}`),
    innerOf: () => [],
    check(rule, value, site) {
      if (typeof value !== 'string' || site.run.patterns.test(String(rule), value, site))
        return undefined
      return `${site.path} must match ${clipPattern(String(rule))}`
    },
  },
  patternProperties: {
    faultOf: (rule) => (shapes.named.is(rule) ? undefined : `must be ${shapes.named.words}`),
    innerOf: (rule) => (shapes.named.is(rule) ? (shapes.named.innerOf?.(rule) ?? []) : []),
    check(rule, value, site) {
      if (!shapes.named.is(rule) || !isFields(value)) return undefined
      for (const name of Object.keys(value))
        for (const schema of schemasFor(name, rule, site)) {
          const { depth, run } = site
          const fault = run.fits(schema, value[name], { path: `${site.path}.${name}`, depth, run })
          if (fault !== undefined) return fault
        }
      return undefined
    },
  },
}

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

interface SchemaWalk {
  readonly root: Schema
  readonly seen: Set<Schema>
  readonly patterns: SchemaPatterns
}

/** Goes through a schema and all that it refers to; what is not known in it is a fault. */
function mustBeChecked(schema: Schema, path: string, walk: SchemaWalk): void {
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

function targetOf(ref: unknown, path: string, { root }: SchemaWalk): Schema {
  const target = typeof ref === 'string' ? refTarget(root, ref) : undefined
  if (target === undefined)
    throw new SchemaFault(
      path,
      `cannot be followed: only references within the schema can, such as #/$defs/name`,
    )
  return target
}

function within(site: Site, schema: Schema | undefined, value: unknown): string | undefined {
  return site.run.fits(schema ?? true, value, site)
}

function below({ path, depth, run }: Site, step: string): Site {
  return { path: `${path}${step}`, depth, run }
}

function eachMember(
  value: unknown,
  site: KeywordSite,
  faultOf: (name: string, member: unknown) => string | undefined,
): string | undefined {
  if (!isFields(value)) return undefined
  const names = Object.keys(value)
  spend(site, names.length)
  return firstFault(names, (name) => faultOf(name, value[name]))
}

function firstFault<T>(
  list: readonly T[],
  faultOf: (one: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, one] of list.entries()) {
    const fault = faultOf(one, index)
    if (fault !== undefined) return fault
  }
  return undefined
}

function count(
  partsOf: (value: unknown) => readonly unknown[] | undefined,
  holds: (rule: number, size: number) => boolean,
  words: string,
): Keyword {
  return keyword(shapes.count, (rule, value, site) => {
    const parts = partsOf(value)
    spend(site, 1 + (parts?.length ?? 0))
    if (!parts || holds(rule, parts.length)) return undefined
    return `${site.path} must have ${words.replace('#', String(rule))}`
  })
}

function membersOf(value: unknown): readonly unknown[] | undefined {
  return isFields(value) ? Object.keys(value) : undefined
}

function itemsOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** Equal values give equal texts. */
function inOneOrder(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOneOrder).join(',')}]`
  if (!isFields(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${inOneOrder(value[name])}`).join(',')}}`
}

function number(holds: (rule: number, value: number) => boolean, words: string): Keyword {
  return keyword(shapes.number, (rule, value, { path }) => {
    if (typeof value !== 'number' || holds(rule, value)) return undefined
    return `${path} must be ${words} ${rule}`
  })
}

/** 0.3 is a multiple of 0.1 though no binary fraction is. */
function isMultiple(value: number, of: number): boolean {
  const ratio = value / of
  return Math.abs(ratio - Math.round(ratio)) <= Math.abs(ratio) * 1e-12
}

/** Characters, not halves of them. */
function lengthOf(text: string, site: KeywordSite): number {
  spend(site, 1 + Math.floor(text.length / 64))
  let length = 0
  for (const _ of text) length++
  return length
}

function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}

/** How large the patterns of a schema may be together. */
const maxSize = 10_000

/** The patterns of a schema by their sources: each is read once. */
class SchemaPatterns {
  readonly #patterns = new Map<string, Pattern>()
  #size = 0

  /** Reads the patterns under a word. @throws SchemaFault for one that cannot be checked. */
  add(name: string, rule: unknown, path: string): void {
    for (const source of sourcesOf(name, rule)) {
      if (this.#patterns.has(source)) continue
      const pattern = readPattern(source, path)
      this.#size += pattern.size
      if (this.#size > maxSize) throw new SchemaFault(path, 'makes the schema too large')
      this.#patterns.set(source, pattern)
    }
  }

  /** Whether a pattern is in a text. */
  test(source: string, text: string, site: Site): boolean {
    const pattern = this.#patterns.get(source)
    // Without a pattern the schema would not have been taken.
    if (!pattern) throw new SchemaFault('', `has a pattern that was not read: ${source}`)
    spend(site, 1 + Math.floor((text.length * pattern.size) / 64))
    return pattern.test(text)
  }
}

/** Whether a member is one that `patternProperties` speaks of. */
function isPatternProperty(name: string, site: KeywordSite): boolean {
  const { patternProperties: rule } = site.schema
  return shapes.named.is(rule) && schemasFor(name, rule, site).length > 0
}

function schemasFor(
  name: string,
  rule: Readonly<Record<string, Schema>>,
  site: Site,
): readonly Schema[] {
  return Object.keys(rule)
    .filter((source) => site.run.patterns.test(source, name, site))
    .map((source) => rule[source] ?? true)
}

function sourcesOf(name: string, rule: unknown): readonly string[] {
  if (name === 'pattern') return [String(rule)]
  return name === 'patternProperties' && isFields(rule) ? Object.keys(rule) : []
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

function clipPattern(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year === undefined) return false
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}

function isTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i.test(
    text,
  )
}

function isDateTime(text: string): boolean {
  const separator = text.charAt(10)
  return (
    (separator === 'T' || separator === 't') && isDate(text.slice(0, 10)) && isTime(text.slice(11))
  )
}

function isHostname(text: string): boolean {
  const labels = text.split('.')
  return (
    text.length <= 253 &&
    labels.every((label) => /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i.test(label))
  )
}

function isIpv4(text: string): boolean {
  const numbers = text.split('.')
  return (
    numbers.length === 4 &&
    numbers.every((one) => /^(?:0|[1-9]\d{0,2})$/.test(one) && Number(one) < 256)
  )
}
