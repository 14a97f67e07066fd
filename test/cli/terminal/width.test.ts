import { describe, expect, test } from 'vitest'
import { clipPieces, clipText, pad, widthOf } from '../../../src/cli/terminal/width.ts'

describe('the width of text', () => {
  test.each([
    ['plain', 5],
    ['', 0],
    ['é', 1],
    ['e\u0301', 1],
    ['漢字', 4],
    ['ｆｕｌｌ', 8],
    ['한글', 4],
    ['😀', 2],
    ['👨‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['→ │ …', 5],
    ['\u200b', 0],
  ])('%s takes %i columns', (text, columns) => {
    expect(widthOf(text)).toBe(columns)
  })

  test('of a word that never ends is found piece by piece', () => {
    expect(widthOf('é'.repeat(80_000))).toBe(80_000)
    expect(widthOf(`${'漢'.repeat(80_000)}a`)).toBe(160_001)
  })

  test('is what text is clipped to, never in the middle of a character', () => {
    expect(clipText('abcdef', 6)).toBe('abcdef')
    expect(clipText('abcdef', 5)).toBe('abcd…')
    expect(clipText('漢字漢字', 5)).toBe('漢字…')
    expect(clipText('漢字漢字', 4)).toBe('漢…')
    expect(clipText('a👨‍👩‍👧b', 3)).toBe('a…')
    expect(clipText('e\u0301'.repeat(4), 3)).toBe('e\u0301e\u0301…')
    expect(clipText('abc', 0)).toBe('')
    expect(clipText('漢'.repeat(100_000), 9)).toBe('漢漢漢漢…')
  })

  test('is what text is padded to', () => {
    expect(pad('漢', 4)).toBe('漢  ')
    expect(pad('12', 4, 'start')).toBe('  12')
    expect(pad('long', 2)).toBe('long')
  })

  test('of several pieces is clipped as one', () => {
    const bold = { text: 'cdef', style: { bold: true } }
    expect(clipPieces(['ab', bold, 'gh'], 5)).toEqual(['ab', { ...bold, text: 'cd…' }, ''])
  })
})
