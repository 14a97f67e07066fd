import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inOnePiece } from '../../../src/shared/async.ts'
import { compilePattern, type Pattern } from '../../../src/shared/pattern/pattern.ts'

describe('a pattern', () => {
  it.each([
    ['guarantee', 'we guarantee it', 'we # it'],
    ['(?i)guarantee', 'We GUARANTEE it', 'We # it'],
    ['(?i:a)b', 'Ab aB', '# aB'],
    ['a(?i)b|c', 'aB C', '# #'],
    ['(?i)(?-i:A)b', 'AB aB', '# aB'],
    ['[a-c]+', 'xabcx', 'x#x'],
    ['[^a-c]+', 'xabcx', '#abc#'],
    ['[\\d-]+', '555-1234 x', '# x'],
    ['[\\]a]', ']a', '##'],
    ['[-a]', '-a', '##'],
    ['\\d{3}-\\d{4}', 'call 555-1234 now', 'call # now'],
    ['\\d{2,}', '1 12 123', '1 # #'],
    ['a{2}', 'aaaaa', '##a'],
    ['a{1,2}?', 'aaa', '###'],
    ['<.+?>', '<a><b>', '##'],
    ['<.+>', '<a><b>', '#'],
    ['^a|b$', 'aab', '#a#'],
    ['(?m)^a', 'a\na', '#\n#'],
    ['(?m)a$', 'a\na', '#\n#'],
    ['a.b', 'a\nb a-b', 'a\nb #'],
    ['(?s)a.b', 'a\nb', '#'],
    ['\\bcat\\b', 'cat concat cat', '# concat #'],
    ['\\Bcat', 'cat concat', 'cat con#'],
    ['\\Aa', 'aa', '#a'],
    ['a\\z', 'aa', 'a#'],
    ['(foo|bar)+', 'foobarbaz', '#baz'],
    ['(?:ab)+', 'ababa', '#a'],
    ['(?<year>\\d+)(?P<rest>x)', '12x', '#'],
    ['\\.\\*\\{', '.*{', '#'],
    ['{a}', '{a}', '#'],
    ['a{,2}', 'a{,2}', '#'],
    ['\\x41\\u0042\\x{43}\\u{1F600}', 'ABC😀', '#'],
    ['.', '😀', '#'],
    ['[😀-😂]', 'a😁', 'a#'],
    ['^.$', '😀', '#'],
    ['\\p{L}+', 'über 12', '# 12'],
    ['\\P{L}+', 'ü12', 'ü#'],
    ['\\p{Script=Greek}', 'aλ', 'a#'],
    ['(?i)ü', 'Ü', '#'],
    ['\\s+', 'a\u00a0\tb', 'a#b'],
    ['b*', 'abc', '#a##c#'],
    ['', 'ab', '#a#b#'],
    ['a|', 'ba', '#b##'],
    ['(a*)*', 'aab', '##b#'],
    ['$', 'ab', 'ab#'],
  ])('%s', (source, text, replaced) => {
    const pattern = compilePattern(source)
    expect(pattern.replace(text, '#')).toBe(replaced)
    expect(isIn(pattern, text)).toBe(true)
  })

  it.each([
    ['^a$', 'ab'],
    ['a+b', 'aaac'],
    ['(?i)x', 'abc'],
    ['[^a]', 'aaa'],
    ['a{3}', 'aa'],
    ['\\bb', 'ab'],
    ['(?:ab){2}', 'abab'.slice(1)],
  ])('%s is not in %s', (source, text) => {
    const pattern = compilePattern(source)
    expect(isIn(pattern, text)).toBe(false)
    expect(pattern.replace(text, '#')).toBe(text)
  })

  it('puts the text in as it is', () => {
    expect(compilePattern('a').replace('a', '$&$1')).toBe('$&$1')
  })

  it('can be used again and again', () => {
    const pattern = compilePattern('a+')
    expect(['ba', 'b', 'ba'].map((text) => isIn(pattern, text))).toEqual([true, false, true])
  })

  it('finds what the expressions of JavaScript find', () => {
    fc.assert(
      fc.property(patterns, texts, ({ source }, text) => {
        expect(isIn(compilePattern(source), text)).toBe(new RegExp(source, 'u').test(text))
      }),
      { numRuns: 1_500 },
    )
  })

  it('replaces what the expressions of JavaScript replace', () => {
    const exact = patterns.filter(({ repeatsNothing }) => !repeatsNothing)
    fc.assert(
      fc.property(exact, texts, ({ source }, text) => {
        expect(compilePattern(source).replace(text, '#')).toBe(
          text.replace(new RegExp(source, 'gu'), '#'),
        )
      }),
      { numRuns: 1_500 },
    )
  })
})

/** A pattern, and what decides whether both engines agree on where its matches end. */
interface Sample {
  readonly source: string
  readonly canBeNothing: boolean
  /** Something that can be nothing is repeated: JavaScript then prefers another way, as RE2 does not. */
  readonly repeatsNothing: boolean
}

const texts = fc.string({
  // A pattern remembers é and ǩ in the same place.
  unit: fc.constantFrom('a', 'b', 'c', 'A', ' ', '\n', '1', 'é', 'ǩ'),
  maxLength: 24,
})

const atoms = fc
  .constantFrom(
    ...[
      'a',
      'b',
      'c',
      '.',
      '[ab]',
      '[^a]',
      '\\d',
      '\\w',
      '\\s',
      '\\S',
      '[b-c1]',
      '😀',
      'é',
      '[ǩ]',
      '[^é]',
      '\\u{1F600}',
    ],
    ...['^', '$', '\\b', '\\B'],
  )
  .map((source): Sample => {
    const canBeNothing = /^(?:\^|\$|\\b|\\B)$/.test(source)
    return { source, canBeNothing, repeatsNothing: false }
  })

const { pattern: patterns } = fc.letrec<{ pattern: Sample }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atoms,
    fc.array(tie('pattern'), { maxLength: 3 }).map(
      (parts): Sample => ({
        source: parts.map(({ source }) => `(?:${source})`).join(''),
        canBeNothing: parts.every(({ canBeNothing }) => canBeNothing),
        repeatsNothing: parts.some(({ repeatsNothing }) => repeatsNothing),
      }),
    ),
    fc.array(tie('pattern'), { minLength: 1, maxLength: 3 }).map(
      (parts): Sample => ({
        source: `(${parts.map(({ source }) => source).join('|')})`,
        canBeNothing: parts.some(({ canBeNothing }) => canBeNothing),
        repeatsNothing: parts.some(({ repeatsNothing }) => repeatsNothing),
      }),
    ),
    fc
      .tuple(
        tie('pattern'),
        fc.constantFrom('*', '+', '?', '{2}', '{1,2}', '{0,2}', '{2,}'),
        fc.boolean(),
      )
      .map(
        ([part, times, lazy]): Sample => ({
          source: `(?:${part.source})${times}${lazy ? '?' : ''}`,
          canBeNothing: part.canBeNothing || /^[*?]|^\{0/.test(times),
          repeatsNothing: part.repeatsNothing || part.canBeNothing,
        }),
      ),
  ),
}))

function isIn(pattern: Pattern, text: string): boolean {
  return inOnePiece(pattern.testing(text))
}
