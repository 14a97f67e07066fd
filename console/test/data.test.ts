import { describe, expect, test } from 'vitest'
import { askedTool } from '../logic/asked-tool.ts'
import { dataIn, toBranches } from '../logic/json-branches.ts'

describe('Data as a tree', () => {
  test('has a line per member, and says of what is within how much there is', () => {
    const { branches } = toBranches({ score: 0.9, ok: true, why: 'good', tags: ['a'], none: {} })
    expect(branches).toEqual([
      { key: 'score', words: '0.9', kind: 'number' },
      { key: 'ok', words: 'true', kind: 'word' },
      { key: 'why', words: '"good"', kind: 'string' },
      { key: 'tags', words: '[1]', kind: 'word', inner: ['a'] },
      { key: 'none', words: '{}', kind: 'word' },
    ])
  })

  test('shows a hundred members, and as much of a text as somebody reads', () => {
    const { branches, left } = toBranches(Array.from({ length: 350 }, () => 'x'.repeat(5_000)))
    expect(branches).toHaveLength(100)
    expect(left).toBe(250)
    expect(branches[0]?.words.length).toBe(2_000)
  })

  test.each([
    ['{"a":1}', { a: 1 }],
    [' [1]', [1]],
    ['{"a":', undefined],
    ['[link](x)', undefined],
    ['12', undefined],
    ['words', undefined],
  ])('%s says %o', (text, data) => {
    expect(dataIn(text)).toEqual(data)
  })
})

describe('A question about a tool', () => {
  test('names the tool and what it would be given', () => {
    const approval = { agent: 'clerk', tool: 'pay', arguments: { sum: 3 } }
    expect(askedTool([{ text: 'May it?' }, { data: { approval } }])).toEqual({
      ...{ agent: 'clerk', tool: 'pay', arguments: { sum: 3 }, notShown: 0 },
    })
  })

  test.each([[{ text: 'pay' }], [{ data: { approval: 'pay' } }], [{ data: { approval: {} } }]])(
    'is none where the data do not say so, %#',
    (part) => {
      expect(askedTool([part])).toBe(undefined)
    },
  )
})
