import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toPrintable, trimEnd } from '../../src/shared/text.ts'

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
