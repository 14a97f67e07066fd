import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromPageToken, toPageToken } from '../../src/operations/page-token.ts'

const moment = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())

describe('a page token', () => {
  test('gives its cursor back, whatever the id', () => {
    fc.assert(
      fc.property(moment, fc.string({ unit: 'grapheme' }), (timestamp, id) => {
        const token = toPageToken({ timestamp, id })
        expect(token).toMatch(/^[\w-]+$/)
        expect(fromPageToken(token)).toEqual({ timestamp, id })
      }),
    )
  })

  test('that is not ours is refused, never misread', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(fromPageToken(text).timestamp).not.toBe('')
        } catch (refusal) {
          expect(refusal).toMatchObject({
            code: 'invalidParams',
            details: { violations: [{ field: 'pageToken' }] },
          })
        }
      }),
    )
  })
})
