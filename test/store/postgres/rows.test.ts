import { describe, expect, it } from 'vitest'
import { parseNotice } from '../../../src/store/postgres/rows.ts'

describe('a notice between replicas', () => {
  it.each([
    [
      '{"grown":[["a",1],["b : , \\"",2]]}',
      {
        kind: 'grown',
        tasks: [
          ['a', 1],
          ['b : , "', 2],
        ],
      },
    ],
    ['{"mail":["t","agent"]}', { kind: 'mail', taskId: 't', agent: 'agent' }],
    ['{"deliveries":"t"}', { kind: 'deliveries', taskId: 't' }],
    ['{"orphans":true}', { kind: 'orphans' }],
  ])('says %s', (payload, notice) => {
    expect(parseNotice(payload)).toEqual(notice)
  })

  it.each([
    '',
    '{',
    'null',
    '7',
    '[]',
    '{"newer":1}',
    '{"mail":["t"]}',
    '{"mail":[1,2]}',
    '{"orphans":1}',
  ])('of another version, or of somebody else, is passed over: %s', (payload) => {
    expect(parseNotice(payload)).toBeUndefined()
  })

  it('tells of the tasks that it can name, where some entries are not of this version', () => {
    const payload = '{"grown":[["a",1],["b"],7,[1,"c"],["d",4,"more"]]}'
    expect(parseNotice(payload)).toEqual({
      kind: 'grown',
      tasks: [
        ['a', 1],
        ['d', 4, 'more'],
      ],
    })
  })
})
