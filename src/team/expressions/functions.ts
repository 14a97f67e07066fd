import { isFields } from '../../shared/json.ts'
import type { ExpressionSite } from './fault.ts'
import { toInt } from './operators.ts'
import type { EvaluationRun } from './run.ts'
import { countCharacters, findText, splitText, unitOf } from './search.ts'
import { inWords } from './values.ts'

/** A function that expressions may call; of a method the value before the dot is the first argument. */
type CelFunction = (values: readonly unknown[], at: FunctionSite) => unknown

/** The evaluation that a call is part of, its place and its name. */
interface FunctionSite {
  readonly run: EvaluationRun
  readonly site: ExpressionSite
  readonly name: string
}

/** Functions that are called with their value in brackets: `size(x)`. */
export const functions: ReadonlyMap<string, CelFunction> = new Map<string, CelFunction>([
  ['size', sizeOfValue],
  ['int', toWhole],
  ['double', toDouble],
  ['string', toWords],
  ['bool', toBoolean],
  ['dyn', ([value]) => value],
])

/** Functions that are called behind a dot: `x.size()`. */
export const methods: ReadonlyMap<string, CelFunction> = new Map<string, CelFunction>([
  ['size', sizeOfValue],
  ['contains', ([text, part], at) => indexOf([text, part], at) >= 0],
  ['startsWith', (values, at) => textAt(values, 0, at).startsWith(textAt(values, 1, at))],
  ['endsWith', (values, at) => textAt(values, 0, at).endsWith(textAt(values, 1, at))],
  ['indexOf', (values, at) => BigInt(indexOf(values, at))],
  ['lowerAscii', (values, at) => textAt(values, 0, at).toLowerCase()],
  ['upperAscii', (values, at) => textAt(values, 0, at).toUpperCase()],
  ['trim', (values, at) => textAt(values, 0, at).trim()],
  ['substring', substring],
  ['split', split],
  ['join', join],
])

function textAt(
  values: readonly unknown[],
  index: number,
  { run, site, name }: FunctionSite,
): string {
  const value = values[index]
  if (typeof value !== 'string')
    return site.fail(`${name} needs a text, and this is ${inWords(value)}`)
  run.chargeText(value.length, site)
  return value
}

/** A whole number, of JSON's as well. */
function countAt(values: readonly unknown[], index: number, { site, name }: FunctionSite): number {
  const value = values[index]
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value)))
    return Number(value)
  return site.fail(`${name} needs a whole number, and this is ${inWords(value)}`)
}

function sizeOfValue(values: readonly unknown[], at: FunctionSite): bigint {
  const [value] = values
  if (Array.isArray(value)) return BigInt(value.length)
  if (isFields(value)) return BigInt(Object.keys(value).length)
  const text = textAt(values, 0, at)
  chargeSlow(text, at)
  return BigInt(countCharacters(text))
}

/** What looks at each character itself takes several times as long as what copies them. */
function chargeSlow(text: string, { run, site }: FunctionSite): void {
  run.charge(Math.floor(text.length / 8), site)
}

function indexOf(values: readonly unknown[], at: FunctionSite): number {
  const [text, part] = [textAt(values, 0, at), textAt(values, 1, at)]
  const from = values.length > 2 ? countAt(values, 2, at) : 0
  chargeSlow(text, at)
  const begin = unitOf(text, Math.max(0, from))
  const found = begin < 0 ? -1 : findText(text, part, begin)
  return found < 0 ? -1 : countCharacters(text, found)
}

function substring(values: readonly unknown[], at: FunctionSite): string {
  const text = textAt(values, 0, at)
  chargeSlow(text, at)
  const size = countCharacters(text)
  const start = countAt(values, 1, at)
  const end = values.length > 2 ? countAt(values, 2, at) : size
  if (start < 0 || end < start || end > size)
    at.site.fail(`the text has ${size} characters; there is no part from ${start} to ${end}`)
  return size === text.length
    ? text.slice(start, end)
    : text.slice(unitOf(text, start), unitOf(text, end))
}

function split(values: readonly unknown[], at: FunctionSite): readonly string[] {
  const [text, separator] = [textAt(values, 0, at), textAt(values, 1, at)]
  const limit = values.length > 2 ? countAt(values, 2, at) : -1
  chargeSlow(text, at)
  at.run.charge(
    separator === '' ? text.length : Math.floor(text.length / separator.length),
    at.site,
  )
  return splitText(text, separator, limit)
}

function join([list, separator = '']: readonly unknown[], at: FunctionSite): string {
  const { run, site } = at
  if (!Array.isArray(list)) return site.fail(`join needs a list, and this is ${inWords(list)}`)
  const between = textAt([separator], 0, at)
  run.charge(list.length, site)
  run.chargeText(list.length * between.length, site)
  return list.map((_, index) => textAt(list, index, at)).join(between)
}

function toWhole([value]: readonly unknown[], { site }: FunctionSite): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isFinite(value))
    return toInt(BigInt(Math.trunc(value)), site)
  if (typeof value === 'string' && /^[+-]?\d{1,19}$/.test(value)) return toInt(BigInt(value), site)
  return site.fail(`int makes no whole number of this, which is ${inWords(value)}`)
}

function toDouble([value]: readonly unknown[], { site }: FunctionSite): number {
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value)
  if (typeof value === 'string' && value.length < 400 && value.trim() === value && value !== '') {
    const number = Number(value)
    if (Number.isFinite(number)) return number
  }
  return site.fail(`double makes no number of this, which is ${inWords(value)}`)
}

function toWords([value]: readonly unknown[], { site }: FunctionSite): string {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean')
    return String(value)
  return site.fail(`string makes no text of ${inWords(value)}`)
}

function toBoolean([value]: readonly unknown[], { site }: FunctionSite): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^(?:1|t|true|TRUE|True)$/.test(value)) return true
  if (typeof value === 'string' && /^(?:0|f|false|FALSE|False)$/.test(value)) return false
  return site.fail(`bool makes neither true nor false of this, which is ${inWords(value)}`)
}
