import { valueError } from './python/error.ts'
import { calculate } from './python/expression.ts'
import { iterate } from './python/methods.ts'
import type { Value } from './python/value.ts'

/** The calculator that retail and airline have: only these characters, then Python's own arithmetic. */
export function calculateFor(expression: Value): string {
  const characters = iterate(expression)
  const isAllowed = (one: Value): boolean => typeof one === 'string' && /^[-0-9+*/(). ]*$/.test(one)
  if (!characters.every(isAllowed)) throw valueError('Invalid characters in expression')
  return calculate(typeof expression === 'string' ? expression : characters.join(''))
}
