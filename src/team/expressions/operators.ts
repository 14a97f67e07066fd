import type { BinaryOperator } from '@marcbachmann/cel-js'
import { isFields } from '../../shared/json.ts'
import type { ExpressionSite } from './fault.ts'
import type { EvaluationRun } from './run.ts'
import { inWords, isEqual, isNumeric } from './values.ts'

/** An operator between two values. */
type BinaryOperation = (a: unknown, b: unknown, at: At) => unknown

/** The evaluation that an operator is part of, and its place. */
interface At {
  readonly run: EvaluationRun
  readonly site: ExpressionSite
}

/** The operators between two values, by their signs. */
export const binaryOperations: Readonly<Record<BinaryOperator, BinaryOperation>> = {
  '==': isEqual,
  '!=': (a, b, at) => !isEqual(a, b, at),
  '<': (a, b, at) => compare(a, b, at) < 0,
  '<=': (a, b, at) => compare(a, b, at) <= 0,
  '>': (a, b, at) => compare(a, b, at) > 0,
  '>=': (a, b, at) => compare(a, b, at) >= 0,
  in: isIn,
  '+': add,
  '-': (a, b, at) => calculate('-', [a, b], at),
  '*': (a, b, at) => calculate('*', [a, b], at),
  '/': (a, b, at) => calculate('/', [a, b], at),
  '%': (a, b, at) => calculate('%', [a, b], at),
}

/** The opposite of a number. */
export function negate(value: unknown, site: ExpressionSite): unknown {
  if (typeof value === 'bigint') return toInt(-value, site)
  return typeof value === 'number' ? -value : site.fail(`there is no minus of ${inWords(value)}`)
}

/** A whole number within CEL's range. */
export function toInt(value: bigint, site: ExpressionSite): bigint {
  return BigInt.asIntN(64, value) === value
    ? value
    : site.fail('the whole number has more than 64 bits')
}

/** The longest text that an evaluation makes. */
const maxText = 1_000_000

function add(a: unknown, b: unknown, at: At): unknown {
  const { run, site } = at
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length + b.length > maxText)
      site.fail(`the text is longer than ${maxText} characters`, true)
    run.chargeText(a.length + b.length, site)
    return a + b
  }
  if (!Array.isArray(a) || !Array.isArray(b)) return calculate('+', [a, b], at)
  run.charge(a.length + b.length, site)
  return [...a, ...b]
}

const calculations = {
  '+': { int: (a: bigint, b: bigint) => a + b, double: (a: number, b: number) => a + b },
  '-': { int: (a: bigint, b: bigint) => a - b, double: (a: number, b: number) => a - b },
  '*': { int: (a: bigint, b: bigint) => a * b, double: (a: number, b: number) => a * b },
  '/': { int: (a: bigint, b: bigint) => a / b, double: (a: number, b: number) => a / b },
  '%': { int: (a: bigint, b: bigint) => a % b, double: undefined },
} as const

function calculate(
  sign: keyof typeof calculations,
  [a, b]: readonly [unknown, unknown],
  { site }: At,
): unknown {
  const { int, double } = calculations[sign]
  if (typeof a === 'bigint' && typeof b === 'bigint') {
    if (b === 0n && (sign === '/' || sign === '%')) site.fail('it divides by zero')
    return toInt(int(a, b), site)
  }
  if (!isNumeric(a) || !isNumeric(b))
    return site.fail(`${sign} does not go between ${inWords(a)} and ${inWords(b)}`)
  if (!double) return site.fail('% needs whole numbers: write int(…) around numbers of JSON')
  if (typeof a === 'number' && typeof b === 'number') return double(a, b)
  return site.fail(
    `${sign} does not go between ${inWords(a)} and ${inWords(b)}; numbers of JSON are decimal: write 1.0 instead of 1, or double(…)`,
  )
}

/** Below, at or above zero as the first value is less than, equal to or greater than the second; NaN is neither. */
function compare(a: unknown, b: unknown, { run, site }: At): number {
  if (isNumeric(a) && isNumeric(b)) return a < b ? -1 : a > b ? 1 : a >= b ? 0 : Number.NaN
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (typeof a !== 'string' || typeof b !== 'string')
    return site.fail(`${inWords(a)} cannot be compared with ${inWords(b)}`)
  run.chargeText(Math.min(a.length, b.length), site)
  return a < b ? -1 : a > b ? 1 : 0
}

function isIn(value: unknown, list: unknown, at: At): boolean {
  if (Array.isArray(list)) return list.some((item) => isEqual(value, item, at))
  if (!isFields(list))
    return at.site.fail(`in needs a list or an object, and this is ${inWords(list)}`)
  return typeof value === 'string' && Object.hasOwn(list, value)
}
