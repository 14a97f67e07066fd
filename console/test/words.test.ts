import { describe, expect, test } from 'vitest'
import {
  ago,
  colourOf,
  countInWords,
  duration,
  figure,
  firstWords,
  homeHeadline,
  money,
} from '../logic/words.ts'

describe('Words of the console', () => {
  test.each([
    [0, '$0'],
    [0.000_000_2, '<$0.000001'],
    [0.000_04, '$0.00004'],
    [0.004_213, '$0.0042'],
    [0.005, '$0.005'],
    [0.125, '$0.13'],
    [12, '$12.00'],
    [12_345.6, '$12,346'],
  ])('%d dollars are %s', (usd, words) => {
    expect(money(usd)).toBe(words)
  })

  test.each([
    [0, '0 ms'],
    [340, '340 ms'],
    [7_600, '7.6 s'],
    [59_999, '1 min'],
    [240_000, '4 min'],
    [7_440_000, '2 h 4 min'],
    [7_200_000, '2 h'],
    [260_000_000, '3 d'],
  ])('%i milliseconds are %s', (ms, words) => {
    expect(duration(ms)).toBe(words)
  })

  test('numbers are short enough to be read at once', () => {
    expect([0, 1_284, 99_999, 412_345, 3_140_000].map(figure)).toEqual([
      '0',
      '1,284',
      '99,999',
      '412k',
      '3.1M',
    ])
  })

  test('the headline says the one thing that matters now', () => {
    const quiet = { needsYou: 0, running: 0, failed: 0, completed: 0 }
    expect(homeHeadline(quiet)).toBe('Ready for a first question')
    expect(homeHeadline({ ...quiet, completed: 1_284 })).toBe('All quiet; 1,284 tasks done')
    expect(homeHeadline({ ...quiet, completed: 5, failed: 1 })).toBe('All quiet; one task failed')
    expect(homeHeadline({ ...quiet, running: 3, failed: 1 })).toBe('Three tasks at work')
    expect(homeHeadline({ ...quiet, needsYou: 1, running: 3 })).toBe('One task needs you')
    expect(homeHeadline({ ...quiet, needsYou: 2 })).toBe('Two tasks need you')
    expect(countInWords(14, 'task')).toBe('14 tasks')
  })

  test('the past is told from now', () => {
    const now = Date.parse('2026-01-01T01:00:00.000Z')
    expect(ago('2026-01-01T00:59:58.000Z', now)).toBe('now')
    expect(ago('2026-01-01T00:59:30.000Z', now)).toBe('30 s ago')
    expect(ago('2026-01-01T00:00:00.000Z', now)).toBe('1 h ago')
    expect(ago('no time', now)).toBe('')
  })

  test('first words are one line, cut at a word, without marks', () => {
    expect(firstWords('## The **Lighthouse**\nrest')).toBe('The Lighthouse')
    expect(firstWords('one two three four', 10)).toBe('one two…')
  })

  test('a member has one colour of eight, always the same', () => {
    const names = Array.from({ length: 200 }, (_, i) => `member ${i}`)
    const colours = new Set(names.map(colourOf))
    expect([...colours].sort()).toEqual(Array.from({ length: 8 }, (_, i) => `member-${i}`))
    expect(colourOf('editor')).toBe(colourOf('editor'))
  })
})
