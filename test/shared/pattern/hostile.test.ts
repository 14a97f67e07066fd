import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inOnePiece } from '../../../src/shared/async.ts'
import { PatternFault } from '../../../src/shared/pattern/parse.ts'
import { compilePattern, type Pattern } from '../../../src/shared/pattern/pattern.ts'

describe('a pattern that is refused', () => {
  it.each([
    ['a(?=b)', 1, 'looking ahead or behind is not offered'],
    ['a(?!b)', 1, 'looking ahead or behind is not offered'],
    ['(?<=a)b', 0, 'looking ahead or behind is not offered'],
    ['(?<!a)b', 0, 'looking ahead or behind is not offered'],
    ['(a)\\1', 3, 'references back to a group are not offered'],
    ['(?<n>a)\\k<n>', 7, 'references back to a group are not offered'],
    ['(?>a)', 0, 'this kind of group is not known'],
    ['(?#a)', 0, 'this kind of group is not known'],
    ['(?x)a', 0, 'the flag x is not known: i, s and m are'],
    ['(?ix:a)', 1, 'the flag x is not known'],
    ['ab(', 2, 'the bracket ( is not closed'],
    ['(a', 0, 'the bracket ( is not closed'],
    ['a)', 1, 'the bracket ) closes nothing'],
    ['x[ab', 1, 'the bracket [ is not closed'],
    ['[]', 0, 'the set of characters is empty'],
    ['[^]', 0, 'the set of characters is empty'],
    ['[z-a]', 1, 'the range ends before it begins'],
    ['[\\d-z]', 1, 'a range goes from one character to another'],
    ['[[:alpha:]]', 1, '[: is not known'],
    ['*a', 0, 'there is nothing to repeat'],
    ['a|+', 2, 'there is nothing to repeat'],
    ['^*', 1, 'there is nothing to repeat'],
    ['\\b+', 2, 'there is nothing to repeat'],
    ['a**', 1, 'it is already repeated'],
    ['a++', 1, 'it is already repeated'],
    ['a{2}{3}', 1, 'it is already repeated'],
    ['a{3,2}', 1, 'the numbers are in the wrong order'],
    ['a{1001}', 1, 'nothing is repeated more than 1000 times'],
    ['a{1,100000}', 1, 'nothing is repeated more than 1000 times'],
    ['a{1000}', 1, 'the pattern is too large'],
    ['((a{30}){30}){30}', 3, 'the pattern is too large'],
    [`${'('.repeat(20)}a*${')+'.repeat(20)}`, 25, 'the pattern is too large'],
    [`${'('.repeat(60)}a${')'.repeat(60)}`, 51, 'the groups nest too deep'],
    ['a'.repeat(1_001), 1_000, 'the pattern is longer than 1000 characters'],
    ['a\\', 2, 'the pattern ends too early'],
    ['\\q', 0, 'the escape \\q is not known'],
    ['\\cA', 0, 'the escape \\c is not known'],
    ['\\x4', 0, 'the escape \\x is not known'],
    ['\\u{110000}', 0, 'there is no such character'],
    ['\\p{Nonsense}', 0, 'the property Nonsense is not known'],
    ['\\p{L', 0, 'a property is written \\p{L}'],
    ['\\p{}}^(a+)+$', 0, 'a property is written \\p{L}'],
  ])('%s', (source, position, words) => {
    const fault = faultOf(source)
    expect(fault.message).toContain(words)
    expect(fault.position).toBe(position)
  })
})

describe('the steps of a match', () => {
  const length = 2_000

  it.each([
    ['^(a+)+$', 'a'],
    ['(a+)+b', 'a'],
    ['(a|aa)+$', 'a'],
    ['(a|a?)+$', 'a'],
    ['(.*a){12}$', 'a'],
    ['(x+x+)+y', 'x'],
    ['.*.*.*=.*', 'x'],
    ['\\s+$', ' '],
    ['(a*)*b', 'a'],
    ['((a*)*)*b', 'a'],
    ['(a?){50}a{50}b', 'a'],
    ['([a-z]+)*\\d', 'ab'],
    ['(?i)(\\w+\\s?)*$', 'ab!'],
    ['a(.*b)?', 'a'],
    ['(a|b|ab)*c', 'ab'],
    ['a.*?b.*?c', 'ab'],
  ])('grow with the text, not with its square: %s', (source, unit) => {
    const pattern = compilePattern(source)
    const text = `${unit.repeat(length)}!`
    expect(stepsOfAll(pattern, text)).toBeLessThanOrEqual(4 * pattern.size * (text.length + 1))
    const twice = `${unit.repeat(2 * length)}!`
    expect(stepsOfAll(pattern, twice)).toBeLessThan(2.1 * stepsOfAll(pattern, text) + 1_000)
  })

  it('are refused where the text is too long to remember them', () => {
    const pattern = compilePattern('(?:a?b?){240}')
    expect(() => inOnePiece(pattern.testing('a'.repeat(3_000_000)))).toThrow(
      'the text is too long for the pattern',
    )
  })
})

it('whatever stands there, it is a pattern or a fault with a place in it', () => {
  const words = fc.constantFrom(
    ...[
      'a',
      'b',
      '.',
      '*',
      '+',
      '?',
      '{2}',
      '{1,}',
      '{',
      '}',
      '(',
      ')',
      '(?:',
      '(?i)',
      '(?i:',
      '(?<n>',
    ],
    ...[
      '[',
      ']',
      '[^',
      '-',
      '\\',
      '\\d',
      '\\b',
      '\\p{L}',
      '\\u{1F600}',
      '^',
      '$',
      '|',
      '😀',
      '\ud83d',
      '(?',
    ],
  )
  fc.assert(
    fc.property(fc.string({ unit: words, maxLength: 20 }), fc.string(), (source, text) => {
      try {
        const pattern = compilePattern(source)
        const replaced = pattern.replace(text.replaceAll('#', ''), '#')
        expect(inOnePiece(pattern.testing(text.replaceAll('#', '')))).toBe(replaced.includes('#'))
      } catch (thrown) {
        if (!(thrown instanceof PatternFault)) throw thrown
        expect(thrown.position).toBeLessThanOrEqual(source.length)
      }
    }),
    { numRuns: 3_000 },
  )
})

/** The steps of looking for all matches, as replacing does. */
function stepsOfAll(pattern: Pattern, text: string): number {
  const matcher = pattern.search(text)
  for (let from = 0; from <= text.length; ) {
    const found = inOnePiece(matcher.finding(from))
    if (!found) break
    matcher.forget(found.end)
    from = found.end === found.start ? found.end + 1 : found.end
  }
  return matcher.steps
}

function faultOf(source: string): PatternFault {
  try {
    compilePattern(source)
  } catch (thrown) {
    if (thrown instanceof PatternFault) return thrown
    throw thrown
  }
  throw new Error('there was no fault')
}
