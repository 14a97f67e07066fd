/**
 * What tau2's `calculate` does with `eval`: numbers, `+ - * / // **`, signs and parentheses, as Python understands them,
 * ints of any size included. A number before a parenthesis is a call, with an argument to be unpacked or without, which
 * raises as in Python. Only a power of floats may differ in its last digit: V8 and C round it differently.
 */
import { add, multiply, type Numeric, subtract, toFloat } from './arithmetic.ts'
import { PythonError, typeError } from './error.ts'
import { roundHalfEven } from './float.ts'
import { repr } from './text.ts'

/** `str(round(float(eval(expression)), 2))`, of the characters that a tool lets through. */
export function calculate(expression: string): string {
  const result = evaluate(expression)
  if (result === 'tuple')
    throw typeError("float() argument must be a string or a real number, not 'tuple'")
  return repr(roundHalfEven(toFloat(result), 2))
}

type Result = Numeric | 'tuple'

interface Parser {
  readonly tokens: readonly string[]
  at: number
}

function evaluate(expression: string): Result {
  const tokens = tokenize(expression)
  if (tokens.length === 0) throw syntaxError('invalid syntax', 0)
  const parser: Parser = { tokens, at: 0 }
  const run = parseSum(parser, 0)
  if (parser.at < tokens.length) throw stuck(parser, 0)
  return run()
}

/** The work of an expression, done only when all of it has been read: a fault of syntax comes before any other. */
type Evaluate = () => Result

function tokenize(expression: string): string[] {
  const tokens = expression.match(/\d+\.?\d*|\.\d+|\*\*|\/\/|[-+*/().]/g) ?? []
  let depth = 0
  for (const token of tokens) {
    if (/^0+[1-9]\d*$/.test(token)) {
      const advice = 'use an 0o prefix for octal integers'
      throw syntaxError(`leading zeros in decimal integer literals are not permitted; ${advice}`)
    }
    if (token === '(' && ++depth > 200) throw syntaxError('too many nested parentheses')
    if (token === ')' && --depth < 0) throw syntaxError("unmatched ')'")
  }
  if (depth > 0) throw syntaxError("'(' was never closed")
  return tokens
}

function parseSum(parser: Parser, depth: number): Evaluate {
  let left = parseProduct(parser, depth)
  for (let token = peek(parser); token === '+' || token === '-'; token = peek(parser)) {
    parser.at++
    left = binary(token, left, parseProduct(parser, depth))
  }
  return left
}

function parseProduct(parser: Parser, depth: number): Evaluate {
  let left = parseFactor(parser, depth)
  for (let token = peek(parser); isProduct(token); token = peek(parser)) {
    parser.at++
    left = binary(token, left, parseFactor(parser, depth))
  }
  return left
}

function isProduct(token: string | undefined): token is string {
  return token === '*' || token === '/' || token === '//'
}

function parseFactor(parser: Parser, depth: number): Evaluate {
  const token = peek(parser)
  if (token !== '+' && token !== '-') return parsePower(parser, depth)
  parser.at++
  const operand = parseFactor(parser, depth)
  return () => sign(token, operand())
}

function parsePower(parser: Parser, depth: number): Evaluate {
  const base = parseCalls(parser, depth)
  if (peek(parser) !== '**') return base
  parser.at++
  return binary('**', base, parseFactor(parser, depth))
}

function parseCalls(parser: Parser, depth: number): Evaluate {
  let callee = parseAtom(parser, depth)
  while (peek(parser) === '(') {
    const [called, give] = [callee, parseArgument(parser, depth)]
    callee = () => {
      const value = called()
      give(value)
      throw typeError(`'${typeOf(value)}' object is not callable`)
    }
  }
  return callee
}

/** The argument of a call: none, a value, or one to be unpacked, which raises before the call does. */
function parseArgument(parser: Parser, depth: number): (callee: Result) => void {
  const stars = parser.tokens[parser.at + 1]
  if (stars !== '*' && stars !== '**') return parseAtom(parser, depth)
  parser.at += 2
  const inner = parseSum(parser, depth + 1)
  if (peek(parser) !== ')') throw stuck(parser, depth + 1)
  parser.at++
  return (callee) => {
    const given = inner()
    if (stars === '*' && given === 'tuple') return
    const wanted = stars === '*' ? 'an iterable' : 'a mapping'
    const who = callee === 'tuple' ? '()' : repr(callee)
    throw typeError(`${who} argument after ${stars} must be ${wanted}, not ${typeOf(given)}`)
  }
}

function parseAtom(parser: Parser, depth: number): Evaluate {
  const token = peek(parser)
  if (token !== undefined && /\d/.test(token)) {
    parser.at++
    return () => (token.includes('.') ? Number(token) : BigInt(token))
  }
  if (token !== '(') throw stuck(parser, depth)
  parser.at++
  if (peek(parser) === ')') {
    parser.at++
    return () => 'tuple'
  }
  const inner = parseSum(parser, depth + 1)
  if (peek(parser) !== ')') throw stuck(parser, depth + 1)
  parser.at++
  return inner
}

function peek({ tokens, at }: Parser): string | undefined {
  return tokens[at]
}

function stuck(parser: Parser, depth: number): PythonError {
  const token = peek(parser)
  const follows = token !== undefined && /\d/.test(token) && depth > 0
  const before = parser.tokens[parser.at - 1] ?? ''
  const comma = follows && /\d|\)/.test(before) ? '. Perhaps you forgot a comma?' : ''
  return syntaxError(`invalid syntax${comma}`)
}

function binary(symbol: string, left: Evaluate, right: Evaluate): Evaluate {
  return () => {
    const [a, b] = [left(), right()]
    if (a === 'tuple' || b === 'tuple') return tupleResult(symbol, a, b)
    return operations[symbol]?.(a, b) ?? 0n
  }
}

/** A tuple can be repeated and joined; it stays one either way, and `float` refuses it. */
function tupleResult(symbol: string, a: Result, b: Result): Result {
  const repeated = symbol === '*' && (typeof a === 'bigint' || typeof b === 'bigint')
  if (repeated || (symbol === '+' && a === b)) return 'tuple'
  if (symbol === '+' && a === 'tuple')
    throw typeError(`can only concatenate tuple (not "${typeOf(b)}") to tuple`)
  if (symbol === '*') {
    const other = typeOf(a === 'tuple' ? b : a)
    throw typeError(`can't multiply sequence by non-int of type '${other}'`)
  }
  const name = symbol === '**' ? '** or pow()' : symbol
  throw typeError(`unsupported operand type(s) for ${name}: '${typeOf(a)}' and '${typeOf(b)}'`)
}

const operations: Readonly<Record<string, (a: Numeric, b: Numeric) => Numeric>> = {
  '+': (a, b) => add(a, b),
  '-': (a, b) => subtract(a, b),
  '*': (a, b) => product(a, b),
  '/': divide,
  '//': floorDivide,
  '**': power,
}

function product(a: Numeric, b: Numeric): Numeric {
  const result = multiply(a, b)
  return typeof result === 'string' ? 0n : result
}

function divide(a: Numeric, b: Numeric): Numeric {
  const ints = typeof a === 'bigint' && typeof b === 'bigint'
  if (Number(b) === 0) throw arithmetic(ints ? 'division by zero' : 'float division by zero')
  if (!ints) return toFloat(a) / toFloat(b)
  const quotient = Number(a) / Number(b)
  if (Number.isFinite(quotient)) return quotient
  // Both may be too large for a float while their quotient is not: keep 64 bits of it.
  const shift = BigInt(Math.max(0, bits(b) + 64 - bits(a)))
  const scaled = Number((a << shift) / b) / 2 ** Number(shift)
  if (!Number.isFinite(scaled)) throw arithmetic('integer division result too large for a float')
  return scaled
}

function floorDivide(a: Numeric, b: Numeric): Numeric {
  if (typeof a === 'bigint' && typeof b === 'bigint') {
    if (b === 0n) throw arithmetic('integer division or modulo by zero')
    const quotient = a / b
    return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient
  }
  const [x, y] = [toFloat(a), toFloat(b)]
  if (y === 0) throw arithmetic('float floor division by zero')
  // The quotient of what is left after the remainder is whole; the plain quotient may round up to the next one.
  const rest = x % y
  const whole = (x - (rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest)) / y
  return Math.round(whole)
}

function power(a: Numeric, b: Numeric): Numeric {
  if (typeof a === 'bigint' && typeof b === 'bigint' && b >= 0n) {
    // Python would work for hours or fill the memory; nothing beyond this fits into a float anyway.
    if (Number(b) * bits(a) > 1_000_000) throw arithmetic('int too large to convert to float')
    return a ** b
  }
  const [x, y] = [toFloat(a), toFloat(b)]
  if (x === 0 && y < 0) throw arithmetic('0.0 cannot be raised to a negative power')
  if (x < 0 && !Number.isInteger(y))
    throw typeError("float() argument must be a string or a real number, not 'complex'")
  const result = x ** y
  if (!Number.isFinite(result) && Number.isFinite(x) && Number.isFinite(y))
    throw arithmetic("(34, 'Numerical result out of range')")
  return result
}

function sign(token: '+' | '-', operand: Result): Result {
  if (operand === 'tuple') throw typeError(`bad operand type for unary ${token}: 'tuple'`)
  return token === '-' ? -operand : operand
}

function bits(value: bigint): number {
  return (value < 0n ? -value : value).toString(2).length
}

function typeOf(value: Result): string {
  if (value === 'tuple') return 'tuple'
  return typeof value === 'bigint' ? 'int' : 'float'
}

function arithmetic(message: string): PythonError {
  return new PythonError('ArithmeticError', message)
}

function syntaxError(message: string, line = 1): PythonError {
  return new PythonError('SyntaxError', `${message} (<string>, line ${line})`)
}
