import { PythonError, typeError } from './error.ts'
import { toNumber, typeName, type Value } from './value.ts'

/** A number as Python calculates with it. */
export type Numeric = bigint | number

/** `a + b`; `symbol` is what the error names, `+=` for an assignment. */
export function add(a: Value, b: Value, symbol = '+'): Numeric {
  const [x, y] = operands(a, b, symbol)
  return typeof x === 'bigint' && typeof y === 'bigint' ? x + y : toFloat(x) + toFloat(y)
}

/** `a - b`. */
export function subtract(a: Value, b: Value, symbol = '-'): Numeric {
  const [x, y] = operands(a, b, symbol)
  return typeof x === 'bigint' && typeof y === 'bigint' ? x - y : toFloat(x) - toFloat(y)
}

/** `a * b`; an int times a string repeats it, as in Python. */
export function multiply(a: Value, b: Value): Numeric | string {
  const times = toNumber(a)
  if (typeof times === 'bigint' && typeof b === 'string')
    return b.repeat(Math.max(0, Number(times)))
  const [x, y] = operands(a, b, '*')
  return typeof x === 'bigint' && typeof y === 'bigint' ? x * y : toFloat(x) * toFloat(y)
}

/** `a < b`, for numbers and for strings. */
export function isLess(a: Value, b: Value, symbol = '<'): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a < b
  const [x, y] = [toNumber(a), toNumber(b)]
  if (x !== undefined && y !== undefined) return x < y
  const types = `'${typeName(a)}' and '${typeName(b)}'`
  throw typeError(`'${symbol}' not supported between instances of ${types}`)
}

/** An int as a float. */
export function toFloat(value: Numeric): number {
  const float = Number(value)
  if (typeof value === 'bigint' && !Number.isFinite(float))
    throw new PythonError('ArithmeticError', 'int too large to convert to float')
  return float
}

function operands(a: Value, b: Value, symbol: string): [Numeric, Numeric] {
  const [x, y] = [toNumber(a), toNumber(b)]
  if (x !== undefined && y !== undefined) return [x, y]
  const types = `'${typeName(a)}' and '${typeName(b)}'`
  throw typeError(`unsupported operand type(s) for ${symbol}: ${types}`)
}
