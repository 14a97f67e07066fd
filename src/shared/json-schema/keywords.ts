import { inOnePiece, type PausableWork } from '../async.ts'
import { type Fields, isFields } from '../json.ts'
import type { Pattern } from '../pattern/pattern.ts'
import {
  type CheckRun,
  clipPattern,
  formats,
  isSchema,
  type KeywordCheck,
  longestFormat,
  type Misfit,
  misfitText,
  type Schema,
  type SchemaNode,
  type Site,
} from './schema.ts'

/** One word of JSON Schema. */
interface Keyword {
  /** What is wrong with what the schema says under this word; undefined where nothing is. */
  faultOf(rule: unknown): string | undefined
  /** The schemas that stand in it, each with its place. */
  innerOf(rule: unknown): readonly (readonly [string, Schema])[]
  /** The check of a valid rule; undefined where another keyword handles this one. */
  compile(rule: unknown, scope: KeywordScope): KeywordCheck | undefined
}

/** What a keyword is compiled with. */
interface KeywordScope {
  /** The schema that the keyword is part of. */
  readonly schema: Fields
  /** The node of a schema that stands in this one. */
  nodeOf(schema: Schema | undefined): SchemaNode
  /** The node that a reference names. @throws SchemaFault where there is none. */
  target(ref: string): SchemaNode
  /** A pattern, read once for the whole schema. @throws SchemaFault for one that cannot be checked. */
  pattern(source: string): Pattern
}

/** A form that the rule of a word has. */
interface RuleShape<T> {
  /** What it must be. */
  readonly words: string
  is(rule: unknown): rule is T
  innerOf(rule: T): readonly (readonly [string, Schema])[]
}

type ByName<T> = Readonly<Record<string, T>>

type Is<T> = (value: unknown) => value is T

const isAny: Is<unknown> = (_value): _value is unknown => true

const isText: Is<string> = (value) => typeof value === 'string'

const isNumber: Is<number> = (value) => typeof value === 'number'

/** The forms of rules. */
const shapes = {
  schema: shape('a schema', isSchema, (rule) => [['', rule]]),
  schemas: shape('a list of schemas', listOf(isSchema, 1), (rule) =>
    rule.map((inner, index) => [`[${index}]`, inner]),
  ),
  named: shape('an object of schemas', namedOf(isSchema), (rule) =>
    Object.entries(rule).map(([name, inner]) => [`.${name}`, inner]),
  ),
  count: shape(
    'a whole number of at least 0',
    (rule): rule is number => isNumber(rule) && Number.isInteger(rule) && rule >= 0,
  ),
  number: shape('a number', isNumber),
  positive: shape('a number above 0', (rule): rule is number => isNumber(rule) && rule > 0),
  flag: shape('true or false', (rule): rule is boolean => typeof rule === 'boolean'),
  names: shape('a list of names', listOf(isText)),
  lists: shape('an object of lists of names', namedOf(listOf(isText))),
  values: shape('a list of values', listOf(isAny, 1)),
  any: shape('a value', isAny),
  text: shape('a text', isText),
}

const kinds: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['object', isFields],
  ['array', Array.isArray],
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => typeof value === 'number'],
  ['integer', Number.isInteger],
  ['boolean', (value) => typeof value === 'boolean'],
  ['null', (value) => value === null],
])

const isType = (type: unknown): type is string => isText(type) && kinds.has(type)

const areTypes = listOf(isType, 1)

const types = shape(
  `one or several of ${[...kinds.keys()].join(', ')}`,
  (rule): rule is string | readonly string[] => isType(rule) || areTypes(rule),
)

/** The words that concern a value by itself. */
const plainKeywords: Readonly<Record<string, Keyword>> = {
  type: keyword(types, (rule) => {
    const wanted = typeof rule === 'string' ? [rule] : rule
    const tests = [...new Set(wanted)].flatMap((type) => kinds.get(type) ?? [])
    return plain(
      (value) => tests.some((is) => is(value)),
      () => ` must be of type ${wanted.join(' or ')}`,
    )
  }),
  enum: keyword(shapes.values, (rule) =>
    oneOfValues(rule, () => ` must be one of ${clip(JSON.stringify(rule))}`),
  ),
  const: keyword(shapes.any, (rule) =>
    oneOfValues([rule], () => ` must be ${clip(JSON.stringify(rule))}`),
  ),
  minimum: number((rule, value) => value >= rule, 'at least'),
  maximum: number((rule, value) => value <= rule, 'at most'),
  exclusiveMinimum: number((rule, value) => value > rule, 'above'),
  exclusiveMaximum: number((rule, value) => value < rule, 'below'),
  multipleOf: keyword(shapes.positive, (rule) =>
    plain(
      (value) => typeof value !== 'number' || isMultiple(value, rule),
      () => ` must be a multiple of ${rule}`,
    ),
  ),
  minLength: keyword(shapes.count, (rule) =>
    plain(
      (value, site) => typeof value !== 'string' || lengthOf(value, rule, site) >= rule,
      () => ` must have at least ${rule} characters`,
    ),
  ),
  maxLength: keyword(shapes.count, (rule) =>
    plain(
      (value, site) => typeof value !== 'string' || lengthOf(value, rule, site) <= rule,
      () => ` must have at most ${rule} characters`,
    ),
  ),
  format: keyword(
    shape(
      `one of the formats that can be checked: ${[...formats.keys()].join(', ')}`,
      (rule): rule is string => isText(rule) && formats.has(rule),
    ),
    (rule) => {
      const is = formats.get(rule)
      return plain(
        (value, { run }) => {
          if (typeof value !== 'string') return true
          run.spend(10 + Math.min(value.length, longestFormat) / 4)
          return value.length <= longestFormat && is?.(value) === true
        },
        () => ` must have the format ${rule}`,
      )
    },
  ),
  required: keyword(shapes.names, (rule) => ({ plain: missing(rule) })),
  dependentRequired: keyword(shapes.lists, (rule) => {
    const lists = Object.entries(rule).map(([name, names]) => [name, missing(names)] as const)
    const cost = costOf(Object.keys(rule))
    return {
      plain(value, site) {
        if (!isFields(value)) return undefined
        site.run.spend(cost)
        for (const [name, check] of lists) {
          const misfit = Object.hasOwn(value, name) ? check(value, site) : undefined
          if (misfit) return misfit
        }
        return undefined
      },
    }
  }),
  minProperties: count(membersOf, (rule, size) => size >= rule, 'at least # members'),
  maxProperties: count(membersOf, (rule, size) => size <= rule, 'at most # members'),
  minItems: count(itemsOf, (rule, size) => size >= rule, 'at least # items'),
  maxItems: count(itemsOf, (rule, size) => size <= rule, 'at most # items'),
}

/** The words that look into a value, or ask further schemas of it. */
const nestedKeywords: Readonly<Record<string, Keyword>> = {
  properties: keyword(shapes.named, (rule, { nodeOf }) => {
    const members = Object.keys(rule).map((name) => [name, nodeOf(rule[name])] as const)
    const cost = costOf(Object.keys(rule))
    return {
      *nested(value, site) {
        if (!isFields(value)) return undefined
        site.run.spend(cost)
        for (const [name, node] of members) {
          if (!Object.hasOwn(value, name)) continue
          const misfit = yield* checkBelow(node, value[name], site.below(name))
          if (misfit) return misfit
        }
        return undefined
      },
    }
  }),
  additionalProperties: keyword(shapes.schema, (rule, { schema, nodeOf, pattern }) => {
    const { properties, patternProperties } = schema
    const known = new Set(isFields(properties) ? Object.keys(properties) : [])
    const sources = shapes.named.is(patternProperties) ? Object.keys(patternProperties) : []
    const patterns = sources.map((source) => pattern(source))
    const node = nodeOf(rule)
    return eachMember(function* (name, member, site) {
      if (known.has(name)) return undefined
      for (const pattern of patterns) if (yield* isIn(pattern, name, site)) return undefined
      return yield* checkBelow(node, member, site)
    })
  }),
  propertyNames: keyword(shapes.schema, (rule, { nodeOf }) => {
    const node = nodeOf(rule)
    return eachMember((name, _member, site) => checkBelow(node, name, site))
  }),
  patternProperties: keyword(shapes.named, (rule, { nodeOf, pattern }) => {
    const rows = Object.keys(rule).map((source) => [pattern(source), nodeOf(rule[source])] as const)
    return eachMember(function* (name, member, site) {
      for (const [pattern, node] of rows) {
        if (!(yield* isIn(pattern, name, site))) continue
        const misfit = yield* checkBelow(node, member, site)
        if (misfit) return misfit
      }
      return undefined
    })
  }),
  pattern: keyword(shapes.text, (rule, { pattern }) => {
    const compiled = pattern(rule)
    return {
      *nested(value, site) {
        if (typeof value !== 'string' || (yield* isIn(compiled, value, site))) return undefined
        return { site, words: () => ` must match ${clipPattern(rule)}` }
      },
    }
  }),
  prefixItems: keyword(shapes.schemas, (rule, { nodeOf }) => {
    const nodes = rule.map(nodeOf)
    return eachItem(0, nodes.length, (index) => nodes[index])
  }),
  items: keyword(shapes.schema, (rule, { schema, nodeOf }) => {
    const { prefixItems } = schema
    const node = nodeOf(rule)
    const first = Array.isArray(prefixItems) ? prefixItems.length : 0
    return eachItem(first, Number.POSITIVE_INFINITY, () => node)
  }),
  contains: keyword(shapes.schema, (rule, { schema, nodeOf }) => {
    const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = schema
    const node = nodeOf(rule)
    return {
      *nested(value, site) {
        const items = itemsOf(value)
        if (!items) return undefined
        let found = 0
        for (const item of items) if (!(yield* checkBelow(node, item, site))) found++
        if (found >= Number(minContains) && found <= Number(maxContains)) return undefined
        return { site, words: () => ` has ${found} items of the kind that it must contain` }
      },
    }
  }),
  minContains: keyword(shapes.count),
  maxContains: keyword(shapes.count),
  uniqueItems: keyword(shapes.flag, (rule) => (rule ? { nested: checkUnique } : undefined)),
  allOf: keyword(shapes.schemas, (rule, { nodeOf }) => {
    const nodes = rule.map(nodeOf)
    return {
      *nested(value, site) {
        for (const node of nodes) {
          const misfit = yield* checkBelow(node, value, site)
          if (misfit) return misfit
        }
        return undefined
      },
    }
  }),
  anyOf: keyword(shapes.schemas, (rule, { nodeOf }) => {
    const nodes = rule.map(nodeOf)
    return {
      *nested(value, site) {
        let first: Misfit | undefined
        for (const node of nodes) {
          const misfit = yield* checkBelow(node, value, site)
          if (!misfit) return undefined
          first ??= misfit
        }
        if (!first || nodes.length === 1) return first
        const text = first
        return { site, words: () => ` fits none of anyOf; of the first: ${misfitText(text)}` }
      },
    }
  }),
  oneOf: keyword(shapes.schemas, (rule, { nodeOf }) => {
    const nodes = rule.map(nodeOf)
    return {
      *nested(value, site) {
        let found = 0
        for (const node of nodes) if (!(yield* checkBelow(node, value, site))) found++
        if (found === 1) return undefined
        return { site, words: () => ` must fit one of oneOf, and fits ${found}` }
      },
    }
  }),
  not: keyword(shapes.schema, (rule, { nodeOf }) => {
    const node = nodeOf(rule)
    return {
      *nested(value, site) {
        if (yield* checkBelow(node, value, site)) return undefined
        return { site, words: () => ' is what it must not be' }
      },
    }
  }),
  if: keyword(shapes.schema, (rule, { schema, nodeOf }) => {
    const node = nodeOf(rule)
    const [yes, no] = [schema.then, schema.else].map((next) =>
      shapes.schema.is(next) ? nodeOf(next) : undefined,
    )
    return {
      *nested(value, site) {
        const next = (yield* checkBelow(node, value, site)) ? no : yes
        return next && (yield* checkBelow(next, value, site))
      },
    }
  }),
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
  then: keyword(shapes.schema),
  else: keyword(shapes.schema),
  $ref: keyword(shapes.text, (rule, { target }) => {
    const node = target(rule)
    return { nested: (value, site) => node.nested(value, site) }
  }),
  $defs: keyword(shapes.named),
  definitions: keyword(shapes.named),
}

/** The words of JSON Schema that are checked, by their names. */
export const keywords: ReadonlyMap<string, Keyword> = new Map(
  Object.entries({ ...plainKeywords, ...nestedKeywords }),
)

function shape<T>(
  words: string,
  is: RuleShape<T>['is'],
  innerOf: RuleShape<T>['innerOf'] = () => [],
): RuleShape<T> {
  return { words, is, innerOf }
}

function listOf<T>(is: Is<T>, least = 0): Is<readonly T[]> {
  return (value): value is readonly T[] =>
    Array.isArray(value) && value.length >= least && value.every(is)
}

function namedOf<T>(is: Is<T>): Is<ByName<T>> {
  return (value): value is ByName<T> => isFields(value) && Object.values(value).every(is)
}

/** A keyword with the shape of its rule and its check. Without `compile` another keyword handles it. */
function keyword<T>(
  shape: RuleShape<T>,
  compile?: (rule: T, scope: KeywordScope) => KeywordCheck | undefined,
): Keyword {
  return {
    faultOf: (rule) => (shape.is(rule) ? undefined : `must be ${shape.words}`),
    innerOf: (rule) => (shape.is(rule) ? shape.innerOf(rule) : []),
    compile: (rule, scope) => (shape.is(rule) ? compile?.(rule, scope) : undefined),
  }
}

/** A check that is done at once. */
function plain(fits: (value: unknown, site: Site) => boolean, words: () => string): KeywordCheck {
  return { plain: (value, site) => (fits(value, site) ? undefined : { site, words }) }
}

/** How much text costs as much as a step to compare, to copy or to count. */
const textPerStep = 32

/** What it costs to look names up in an object. */
function costOf(names: readonly string[]): number {
  return names.reduce((cost, { length }) => cost + 1 + length / textPerStep, 0)
}

/** One of several values. Those that are no objects stand in a set, the others as texts, which are compared at once. */
function oneOfValues(values: readonly unknown[], words: () => string): KeywordCheck {
  const simple = new Set(values.filter((value) => !isContainer(value)))
  const texts = new Set<string>()
  for (const value of values) if (isContainer(value)) texts.add(inOnePiece(inOneOrder(value, {})))
  if (texts.size === 0)
    return plain((value, { run }) => {
      run.spend(typeof value === 'string' ? value.length / textPerStep : 0)
      return simple.has(value)
    }, words)
  const most = Math.max(...[...texts].map(({ length }) => length))
  return {
    *nested(value, site) {
      const { run } = site
      const fits = isContainer(value)
        ? texts.has(yield* inOneOrder(value, { run, most }))
        : simple.has(value)
      return fits ? undefined : { site, words }
    },
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** What the text of a value costs, and how long it may become: of a longer one no more is made. */
interface TextBounds {
  readonly run?: CheckRun
  readonly most?: number
}

/** Equal values give equal texts. */
function* inOneOrder(value: unknown, bounds: TextBounds): PausableWork<string> {
  const { run, most = Number.POSITIVE_INFINITY } = bounds
  if (!isContainer(value)) {
    run?.spend(1 + (typeof value === 'string' ? value.length / textPerStep : 0))
    return JSON.stringify(value) ?? ''
  }
  const isList = Array.isArray(value)
  const names = Object.keys(value)
  run?.spend(names.length)
  if (!isList) names.sort()
  let text = isList ? '[' : '{'
  for (const name of names) {
    const inner: unknown = Reflect.get(value, name)
    if (inner === undefined && !isList) continue // as if it were not there
    if (run?.isDue) yield
    const before = isList ? '' : `${JSON.stringify(name)}:`
    text += `${before}${yield* inOneOrder(inner, bounds)},`
    if (text.length > most) return text
  }
  return `${text}${isList ? ']' : '}'}`
}

function number(holds: (rule: number, value: number) => boolean, words: string): Keyword {
  return keyword(shapes.number, (rule) =>
    plain(
      (value) => typeof value !== 'number' || holds(rule, value),
      () => ` must be ${words} ${rule}`,
    ),
  )
}

/** 0.3 is a multiple of 0.1 though no binary fraction is. */
function isMultiple(value: number, of: number): boolean {
  const ratio = value / of
  return Math.abs(ratio - Math.round(ratio)) <= Math.abs(ratio) * 1e-12
}

/** Counts characters, with surrogate pairs as one, but only where the exact number can decide the rule. */
function lengthOf(text: string, rule: number, { run }: Site): number {
  if (text.length < rule || text.length > 2 * rule) return text.length
  run.spend(text.length / textPerStep)
  let { length } = text
  for (let at = 0; at < text.length - 1; at++)
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00)
      length--
  return length
}

function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}

/** The first of these names that an object does not have. */
function missing(names: readonly string[]): (value: unknown, site: Site) => Misfit | undefined {
  const cost = costOf(names)
  return (value, site) => {
    if (!isFields(value)) return undefined
    site.run.spend(cost)
    const name = names.find((one) => !Object.hasOwn(value, one))
    return name === undefined ? undefined : { site, words: () => `.${name} is missing` }
  }
}

function count(
  partsOf: (value: unknown) => readonly unknown[] | undefined,
  holds: (rule: number, size: number) => boolean,
  words: string,
): Keyword {
  return keyword(shapes.count, (rule) =>
    plain(
      (value, { run }) => {
        const parts = partsOf(value)
        run.spend(parts ? 1 + parts.length / 4 : 0)
        return !parts || holds(rule, parts.length)
      },
      () => ` must have ${words.replace('#', String(rule))}`,
    ),
  )
}

function membersOf(value: unknown): readonly unknown[] | undefined {
  return isFields(value) ? Object.keys(value) : undefined
}

function itemsOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** What of a value does not fit a schema. */
function* checkBelow(
  node: SchemaNode,
  value: unknown,
  site: Site,
): PausableWork<Misfit | undefined> {
  if (site.run.isDue) yield
  return node.isPlain ? node.plain(value, site) : yield* node.nested(value, site)
}

function eachMember(
  check: (name: string, member: unknown, site: Site) => PausableWork<Misfit | undefined>,
): KeywordCheck {
  return {
    *nested(value, site) {
      if (!isFields(value)) return undefined
      const names = Object.keys(value)
      site.run.spend(names.length)
      for (const name of names) {
        const misfit = yield* check(name, value[name], site.below(name))
        if (misfit) return misfit
      }
      return undefined
    },
  }
}

function eachItem(
  first: number,
  end: number,
  nodeAt: (index: number) => SchemaNode | undefined,
): KeywordCheck {
  return {
    *nested(value, site) {
      const items = itemsOf(value) ?? []
      for (let index = first; index < items.length && index < end; index++) {
        const node = nodeAt(index)
        const misfit = node && (yield* checkBelow(node, items[index], site.below(index)))
        if (misfit) return misfit
      }
      return undefined
    },
  }
}

/** How many instructions of a pattern, and bits that it remembers, cost as much as a step. */
const instructionsPerStep = 4

const bitsPerStep = 1_024

/** Whether a pattern is in a text. */
function* isIn(pattern: Pattern, text: string, { run }: Site): PausableWork<boolean> {
  run.spend(4 + text.length / textPerStep + pattern.bitsFor(text.length) / bitsPerStep)
  const search = pattern.search(text)
  const finding = search.finding(0)
  let counted = 0
  while (true) {
    const next = finding.next()
    run.spend((search.steps - counted) / instructionsPerStep)
    counted = search.steps
    if (next.done) return next.value !== undefined
    yield
  }
}

function* checkUnique(value: unknown, site: Site): PausableWork<Misfit | undefined> {
  const texts = new Set<string>()
  for (const item of itemsOf(value) ?? []) {
    if (site.run.isDue) yield
    const { size } = texts
    if (texts.add(yield* inOneOrder(item, site)).size === size)
      return { site, words: () => ' must not have the same item twice' }
  }
  return undefined
}
