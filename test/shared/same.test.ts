import { expect, test } from 'vitest'
import { isSame } from '../../src/shared/same.ts'

test('the same JSON is the same, whatever the order of its members', () => {
  expect(isSame({ a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 })).toBe(true)
  expect(isSame({ a: undefined }, {})).toBe(true)
})

test.each([
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { a: 1, b: 1 }],
  [
    [1, 2],
    [2, 1],
  ],
  [[1], [1, 2]],
  [[], {}],
  [null, {}],
  ['1', 1],
])('%j is not %j', (a, b) => {
  expect(isSame(a, b)).toBe(false)
  expect(isSame(b, a)).toBe(false)
})
