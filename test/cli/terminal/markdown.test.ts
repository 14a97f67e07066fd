import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createProse } from '../../../src/cli/terminal/markdown.ts'
import { codesOf, type Piece } from '../../../src/cli/terminal/text.ts'
import { screenAfter } from '../emulator.ts'

/** Shows these bits on a screen that shows styles; gives what was written at each bit, and in all. */
function show(bits: readonly string[], columns = 40): { written: string[]; all: string } {
  const written: string[] = []
  let now = ''
  const write = (...pieces: readonly Piece[]): void => {
    for (const piece of pieces) {
      const [on, off] = typeof piece === 'string' ? ['', ''] : codesOf(piece.style)
      now += `${on}${typeof piece === 'string' ? piece : piece.text}${off}`
    }
  }
  const prose = createProse({ hasStyles: true, columns, write })
  const bit = (): void => {
    written.push(now)
    now = ''
  }
  for (const text of bits) {
    prose.write(text)
    bit()
  }
  prose.end()
  bit()
  return { written, all: written.join('') }
}

const toScreen = (text: string, columns = 40): string =>
  screenAfter(show([text], columns).all, columns)
    .join('\n')
    .trimEnd()

describe('markdown in a terminal', () => {
  test.each([
    ['# Title', '\u001b[1;4mTitle\u001b[22;24m\n'],
    ['### Part', '\u001b[1mPart\u001b[22m\n'],
    ['a **b** c', 'a \u001b[1mb\u001b[22m c\n'],
    ['a __b__ c', 'a \u001b[1mb\u001b[22m c\n'],
    ['a *b* c', 'a \u001b[3mb\u001b[23m c\n'],
    ['*a **b***', '*a **b***\n'],
    ['***a***', '\u001b[1;3ma\u001b[22;23m\n'],
    ['**a *b* c**', '\u001b[1ma \u001b[22m\u001b[1;3mb\u001b[22;23m\u001b[1m c\u001b[22m\n'],
    ['~~a~~', '\u001b[2ma\u001b[22m\n'],
    ['use `x*y*`', 'use \u001b[38;5;37mx*y*\u001b[39m\n'],
    ['``a ` b``', '\u001b[38;5;37ma ` b\u001b[39m\n'],
    ['[a](https://x.y)', '\u001b[4ma\u001b[24m\u001b[2m (https://x.y)\u001b[22m\n'],
    ['![a](https://x.y)', '\u001b[4ma\u001b[24m\u001b[2m (https://x.y)\u001b[22m\n'],
    ['- a', '\u001b[2m•\u001b[22m a\n'],
    ['  3. a', '  \u001b[2m3.\u001b[22m a\n'],
    ['> a', '\u001b[2m│ \u001b[22m\u001b[3ma\u001b[23m\n'],
    ['\\*a\\*', '*a*\n'],
  ])('%s', (text, expected) => {
    expect(show([text]).all).toBe(expected)
  })

  test.each([
    'snake_case_name and 2 * 3 * 4',
    'an open **bold',
    'an open `code',
    'an open [link](http',
    '[x] and (y)',
    '#hashtag',
    '-5 degrees',
    '3.14',
    '**',
  ])('what is no mark stays: %s', (text) => {
    expect(show([text]).all).toBe(`${text}\n`)
  })

  test('fences keep their lines, marks and all', () => {
    const text = '```ts\nconst a = **b**\n\n  # c\n```\nafter'
    expect(toScreen(text)).toBe('  ts\n  const a = **b**\n\n    # c\nafter')
  })

  test('tables are aligned by what is seen of their cells', () => {
    const text = '| a | **b** |\n|---|:-:|\n| 審査 | `x` |\n| long cell | y \\| z |\n\nafter'
    const lines = ['a         │ b', '──────────┼──────', '審査      │ x', 'long cell │ y | z']
    expect(toScreen(text)).toBe([...lines, '', 'after'].join('\n'))
  })

  test('a table that does not fit, and rows that are none, are shown as they were written', () => {
    const wide = `| ${'a'.repeat(30)} | ${'b'.repeat(30)} |\n|---|---|\n| c | d |`
    expect(toScreen(wide)).toContain('| c | d |')
    expect(toScreen('| only a row |')).toBe('| only a row |')
  })

  test('lines are broken between words, lists and quotes below their words', () => {
    expect(toScreen('- one two three four', 14)).toBe('• one two\n  three four')
    expect(toScreen('> one two three', 12)).toBe('│ one two\n│ three')
    expect(toScreen('漢字 漢字 漢字', 12)).toBe('漢字 漢字\n漢字')
  })

  test('words leave as they come, and nothing that has left is written again', () => {
    const { written } = show(['One wo', 'rd, and **bo', 'ld** text', '\n'])
    expect(written).toEqual(['One', ' word, and', ' \u001b[1mbold\u001b[22m', ' text\n', ''])
  })

  test('ends of lines and characters that come in halves are put together', () => {
    expect(show(['a\r', '\nb\ud83d', '\ude00 c']).all).toBe('a\nb\u{1f600} c\n')
  })

  test('what could steer the terminal is written out', () => {
    expect(show(['**a\u001b[2J**\u202e \ud800']).all).toBe(
      '\u001b[1ma\\u001b[2J\u001b[22m\\u202e \\ud800\n',
    )
  })

  test('shows the same in whatever bits it comes', () => {
    const marks = fc.constantFrom(
      ...[
        '**',
        '*',
        '_',
        '`',
        '```',
        '\n',
        '\n\n',
        '# ',
        '- ',
        '> ',
        '| ',
        ' |',
        '|---|',
        '[',
        '](',
        ')',
      ],
      ...[' ', 'word', '1. ', '\\', '漢', '😀', '\r\n', '!', '~~', '---'],
    )
    fc.assert(
      fc.property(fc.array(marks, { maxLength: 40 }), (bits) => {
        const clean = (text: string): string => screenAfter(text, 40).join('\n')
        expect(clean(show(bits).all)).toBe(clean(show([bits.join('')]).all))
      }),
      { numRuns: 300 },
    )
  })

  test.each(['*', '**a ', '[', '`', '_', '[](', '> ', '|', '\\', '#', '- ', '~~', ' ', 'a', '漢'])(
    'holds back a bounded part of a line without end, also of %s',
    (mark) => {
      let written = 0
      const write = (...pieces: readonly Piece[]): void => {
        for (const piece of pieces)
          written += (typeof piece === 'string' ? piece : piece.text).length
      }
      const prose = createProse({ hasStyles: true, columns: 80, write })
      for (let count = 0; count < 8_000; count++) prose.write(mark)
      const before = written
      for (let count = 0; count < 4_000; count++) prose.write(mark)
      prose.write('x ')
      // Marks themselves are not shown where they mean something; spaces not before a word.
      expect(written - before).toBeGreaterThan(1_500)
    },
  )
})
