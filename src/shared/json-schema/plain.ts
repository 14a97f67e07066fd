import { isFields, isSame } from '../json.ts'
import { formats } from './formats.ts'
import { type Keyword, type KeywordSite, keyword, shapes } from './keyword.ts'
import { sizeOf, spend } from './schema.ts'

const kinds: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['object', isFields],
  ['array', Array.isArray],
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => typeof value === 'number'],
  ['integer', Number.isInteger],
  ['boolean', (value) => typeof value === 'boolean'],
  ['null', (value) => value === null],
])

const isType = (type: unknown): type is string => typeof type === 'string' && kinds.has(type)

const types = {
  words: `one or several of ${[...kinds.keys()].join(', ')}`,
  is: (rule: unknown): rule is string | readonly string[] =>
    isType(rule) || (Array.isArray(rule) && rule.length > 0 && rule.every(isType)),
}

/** The words that concern a value by itself. */
export const plainKeywords: Readonly<Record<string, Keyword>> = {
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
