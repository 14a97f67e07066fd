import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toPrintable, toPrintableLine, trimEnd } from '../../src/shared/text.ts'

test('drops the characters at the end alone', () => {
  expect(trimEnd('https://a/b//', '/')).toBe('https://a/b')
  expect(trimEnd('..a.b..', '.')).toBe('..a.b')
  expect(trimEnd('Yes!!.', '.!')).toBe('Yes')
  expect(trimEnd('...', '.')).toBe('')
  expect(trimEnd('', '.')).toBe('')
})

test('does what the regular expression does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '.', '!', '\n'), maxLength: 40 })
  fc.assert(
    fc.property(text, (one) => {
      expect(trimEnd(one, '.!')).toBe(one.replace(/[.!]+$/, ''))
    }),
  )
})

test('what a stranger wrote cannot steer a terminal', () => {
  expect(toPrintable('a\u001b]52;c;eA==\u0007b\u009b2J\u202ec\td\n')).toBe(
    'a\\u001b]52;c;eA==\\u0007b\\u009b2J\\u202ec\td\n',
  )
})

test.each([
  ['C0', 'a\u0000\u001f', 'a\\u0000\\u001f'],
  ['DEL and C1', '\u007f\u0080\u009f', '\\u007f\\u0080\\u009f'],
  ['what turns the direction', '\u061c\u200e\u202a\u2069', '\\u061c\\u200e\\u202a\\u2069'],
  ['separators of lines', '\u2028\u2029', '\\u2028\\u2029'],
  ['half of a character', '\ud83d!\ude00', '\\ud83d!\\ude00'],
  ['a carriage return that ends no line', 'a\rb\r\n', 'a\\rb\r\n'],
  ['nothing else', 'é 中 😀 \u00a0 👩\u200d🚀 \\u001b', 'é 中 😀 \u00a0 👩\u200d🚀 \\u001b'],
])('writes out %s', (_what, text, shown) => {
  expect(toPrintable(text)).toBe(shown)
  expect(toPrintable(shown)).toBe(shown)
})

test('a place of one line stays one line', () => {
  expect(toPrintableLine('a\tb\r\nc\u001b')).toBe('a\\tb\\r\\nc\\u001b')
})

test('JSON stays JSON and means the same', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = JSON.stringify(value, null, 2)
      expect(JSON.parse(toPrintable(text))).toEqual(JSON.parse(text))
    }),
  )
})
