import { Environment } from '@marcbachmann/cel-js'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Json } from '../../../src/protocol/types.ts'
import { compileExpression } from '../../../src/team/expressions/compile.ts'
import { ExpressionFault } from '../../../src/team/expressions/values.ts'
import { scope } from './scope.ts'

const cel = new Environment({ homogeneousAggregateLiterals: false }).registerVariable('item', 'dyn')

const item = {
  n: 3,
  half: 0.5,
  text: 'abc',
  yes: true,
  list: [1, 2, 3],
  words: ['a', 'b'],
  none: null,
}

it('gives what CEL gives, and fails where CEL fails', () => {
  let results = 0
  fc.assert(
    fc.property(expressions, (source) => {
      const expected = celResult(source)
      const given = ownResult(source)
      if (expected !== fault) results++
      expect(given).toEqual(expected)
    }),
    { numRuns: 3_000 },
  )
  // Not all of them fail.
  expect(results).toBeGreaterThan(300)
})

const fault = 'a fault'

function celResult(source: string): unknown {
  try {
    return plain(cel.evaluate(source, { item }))
  } catch {
    return fault
  }
}

function ownResult(source: string): Json {
  try {
    return compileExpression(source, { steps: [], item: true }).evaluate({ ...scope, item })
  } catch (thrown) {
    if (thrown instanceof ExpressionFault) return fault
    throw thrown
  }
}

/** Whole numbers as numbers; what JSON has no number for is a fault of ours. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : fault
  return Array.isArray(value) ? value.map(plain) : value
}

const leaves = fc.constantFrom(
  ...['0', '1', '2', '3', '0.5', '1.0', '"a"', '"abc"', 'true', 'false', 'null', '[]', '[1, 2]'],
  ...['item.n', 'item.half', 'item.text', 'item.yes', 'item.list', 'item.words', 'item.none'],
  ...['item.missing', 'item', 'x'],
)

const operators = ['+', '-', '*', '/', '%', '==', '!=', '<', '<=', '>', '>=', '&&', '||', 'in']

const { expression: expressions } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 3, arbitrary: leaves },
    {
      weight: 3,
      arbitrary: fc
        .tuple(tie('expression'), fc.constantFrom(...operators), tie('expression'))
        .map(([a, sign, b]) => `(${a} ${sign} ${b})`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie('expression'), tie('expression'), tie('expression'))
        .map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          tie('expression'),
          fc.constantFrom('all', 'exists', 'exists_one', 'filter', 'map'),
          tie('expression'),
        )
        .map(([list, macro, body]) => `(${list}).${macro}(x, ${body})`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          fc.constantFrom('size', 'int', 'double', 'string', 'bool', '!', '-'),
          tie('expression'),
        )
        .map(([name, a]) => `${name}(${a})`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          tie('expression'),
          fc.constantFrom('contains', 'startsWith', 'endsWith', 'split', 'indexOf'),
          tie('expression'),
        )
        .map(([a, name, b]) => `(${a}).${name}(${b})`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(${a})[${b}]`),
    },
  ),
}))
