import { describe, expect, test } from 'vitest'
import { readVerdict } from '../../src/agents/tools.ts'
import type { Json, Part } from '../../src/protocol/types.ts'

const said = (text: string): readonly Part[] => [{ text }]
const data = (value: Json): Part => ({ data: value })

const yes = [
  ...['yes', 'y', 'yes please', 'ok', 'okay', 'approve', 'approved', 'go', 'go ahead'],
  ...['ja', 'j', 'ja bitte', 'jawohl', 'genehmigt', 'freigegeben', 'einverstanden'],
]
const no = [
  ...['no', 'n', 'no thanks', 'reject', 'rejected', 'stop', 'cancel'],
  ...['nein', 'nein danke', 'abgelehnt', 'ablehnen', 'stopp', 'abbrechen'],
]

describe('the answer to an approval', () => {
  test.each(yes)('is yes: %s', (word) => {
    for (const text of [word, word.toUpperCase(), ` ${word}.\n`, `${word}!!`, `${word} …`])
      expect(readVerdict(said(text))).toBe('yes')
  })

  test.each(no)('is no: %s', (word) => {
    for (const text of [word, word.toUpperCase(), ` ${word}.\n`, `${word}!!`, `${word} …`])
      expect(readVerdict(said(text))).toBe('no')
  })

  test.each([
    ...['No, don’t publish it', 'nope', 'not yet', 'yes, but …', 'yes and no', 'yes?', 'okay then'],
    ...['', ' ', '...', '!', 'ja, aber', 'y e s', 'yes\nno', `${'.'.repeat(1_000)}yes`],
    ...[`yes${' '.repeat(1_000)}`, `yes${'!'.repeat(1_000_000)}x`],
  ])('is unclear otherwise: %s', (text) => {
    expect(readVerdict(said(text))).toBe('unclear')
  })

  test('may be data', () => {
    expect(readVerdict([data({ approved: true })])).toBe('yes')
    expect(readVerdict([data({ approved: false })])).toBe('no')
    expect(readVerdict([...said('Yes.'), data({ approved: true })])).toBe('yes')
    expect(readVerdict([...said('Pressed the button'), data({ approved: true })])).toBe('yes')
    expect(readVerdict([data({ seen: 'all' }), data({ approved: false })])).toBe('no')
  })

  test.each<Json>([
    ...[{}, [], null, true, 'yes', { approved: 'true' }, { approved: 1 }, { approved: null }],
    ...[{ approved: true, condition: 'on Monday' }, [{ approved: true }]],
  ])('is unclear where the data is something else: %j', (value) => {
    expect(readVerdict([data(value)])).toBe('unclear')
  })

  test('is unclear where it says both', () => {
    expect(readVerdict([...said('no'), data({ approved: true })])).toBe('unclear')
    expect(readVerdict([data({ approved: true }), data({ approved: false })])).toBe('unclear')
    expect(readVerdict([])).toBe('unclear')
  })
})
