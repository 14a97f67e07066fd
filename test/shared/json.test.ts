import { expect, test } from 'vitest'
import { copyOf, isLongerThan, isSame, isShallow } from '../../src/shared/json.ts'

test('a copy shares nothing that can be changed', () => {
  const original = { list: [{ a: 1 }, [2]], deep: { er: { b: null } }, text: 'x' }
  const copy = copyOf(original)
  expect(copy).toEqual(original)
  expect(copy.list).not.toBe(original.list)
  expect(copy.list[0]).not.toBe(original.list[0])
  expect(copy.list[1]).not.toBe(original.list[1])
  expect(copy.deep.er).not.toBe(original.deep.er)
})

test('a member named __proto__ is a member like any other', () => {
  const original = JSON.parse('{"__proto__": {"admin": true}, "a": 1}')
  const copy = copyOf(original)
  expect(JSON.stringify(copy)).toBe(JSON.stringify(original))
  expect(copy.admin).toBeUndefined()
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
})

test('what is not plain stays as it is', () => {
  const at = new Date()
  expect(copyOf({ at, nothing: undefined })).toEqual({ at, nothing: undefined })
  expect(copyOf({ at }).at).toBe(at)
  expect(copyOf('text')).toBe('text')
})

test('the same JSON is the same, whatever the order of its members', () => {
  expect(isSame({ a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 })).toBe(true)
  expect(isSame({}, JSON.parse('{"__proto__":{}}'))).toBe(false)
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

test('a value is shallow up to 64 levels, and its length is measured as deep', () => {
  const nest = (levels: number): unknown => {
    let value: unknown = 'x'.repeat(1_000)
    for (let i = 0; i < levels; i++) value = [value]
    return value
  }
  expect([isShallow(nest(64)), isShallow(nest(65))]).toEqual([true, false])
  expect([isLongerThan(nest(64), 500), isLongerThan(nest(65), 500)]).toEqual([true, false])
})
