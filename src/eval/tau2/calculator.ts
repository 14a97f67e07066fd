import { typeError, valueError } from './python/error.ts'
import { calculate } from './python/expression.ts'
import { iterate } from './python/methods.ts'
import { typeName, type Value } from './python/value.ts'

const allowed = '0123456789+-*/(). '

/** The calculator that retail and airline have: only these characters, then Python's own arithmetic. */
export function calculateFor(expression: Value): string {
  for (const character of iterate(expression)) {
    if (typeof character !== 'string') {
      const words = "'in <string>' requires string as left operand"
      throw typeError(`${words}, not ${typeName(character)}`)
    }
    if (!allowed.includes(character)) throw valueError('Invalid characters in expression')
  }
  if (typeof expression === 'string') return calculate(expression)
  throw typeError('eval() arg 1 must be a string, bytes or code object')
}
