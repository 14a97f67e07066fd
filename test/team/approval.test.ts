import { describe, expect, test } from 'vitest'
import type { Json, Part } from '../../src/protocol/types.ts'
import { toQuestion } from '../../src/team/workflow/steps.ts'

const said = (text: string): readonly Part[] => [{ text }]

const data = (value: Json): Part => ({ data: value })

describe('the question of an approval', () => {
  test('shows the answer so far as it is', () => {
    const answer: Part[] = [{ text: 'a draft' }, data({ n: 1 }), { raw: 'aGk=', filename: 'a.png' }]
    expect(toQuestion(answer, 'Good?')).toEqual([...answer, { text: '\n\nGood?' }])
  })

  test('cuts a long one, and says how much is not shown', () => {
    const [first, second, last] = toQuestion(
      [{ text: 'x'.repeat(25_000) }, ...said('end')],
      'Good?',
    )
    expect(first).toEqual({
      text: `${'x'.repeat(20_000)}\n[… 5000 characters of text are not shown]`,
    })
    expect(second).toEqual({ text: '\n[… 3 characters of text are not shown]' })
    expect(last).toEqual({ text: '\n\nGood?' })
  })

  test('shows exactly so much, and counts text and data together, files apart', () => {
    const raw: Part = { raw: 'x'.repeat(1_000_000) }
    const string = 'x'.repeat(19_998)
    const left = { text: '\n[… 1 characters of text are not shown]' }
    expect(toQuestion([...said('x'.repeat(20_000)), raw], 'Good?').slice(0, 2)).toEqual([
      ...said('x'.repeat(20_000)),
      raw,
    ])
    expect(toQuestion([data(string), raw, ...said('y')], 'Good?').slice(0, 3)).toEqual([
      data(string),
      raw,
      left,
    ])
    expect(toQuestion([raw, { raw: 'x' }], 'Good?')[1]).toEqual({
      text: '\n[… 1 characters of a file are not shown]',
    })
    expect(toQuestion([...said('xy'), data(string)], 'Good?')[1]).toEqual({
      text: '\n[… 20000 characters of data are not shown]',
    })
  })

  test('names data and files that are too large to be shown', () => {
    const large = 'x'.repeat(1_000_001)
    const url: Part = { url: 'https://example.com/a.pdf' }
    const parts = toQuestion([{ raw: large, filename: 'a.bin' }, data(large), url], 'Good?')
    expect(parts.slice(0, 3)).toEqual([
      { text: '\n[… 1000001 characters of a.bin are not shown]' },
      { text: '\n[… 1000003 characters of data are not shown]' },
      url,
    ])
  })
})
