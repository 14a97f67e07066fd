import { isFields } from '../json.ts'
import { type Keyword, type KeywordSite, keyword, shapes } from './keyword.ts'
import { isPatternProperty } from './patterns.ts'
import { refTarget, type Schema, type Site, sizeOf, spend } from './schema.ts'

/** The words that look into a value, or ask further schemas of it. */
export const nestedKeywords: Readonly<Record<string, Keyword>> = {
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
