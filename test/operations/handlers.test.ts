import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fromPageToken,
  toPageToken,
  trimHistory,
  trimStream,
} from '../../src/operations/handlers.ts'
import type { Sequenced } from '../../src/protocol/operations.ts'
import { userMessage } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'

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

const history = ['one', 'two', 'three'].map((text) => userMessage(text))

const task: Task = {
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_WORKING', timestamp: '2026-11-15T00:00:00.000Z' },
  history,
}

describe('history', () => {
  test('is cut at its beginning', () => {
    expect(trimHistory(task, 2).history).toEqual(history.slice(1))
    expect(trimHistory(task, 3)).toBe(task)
    expect(trimHistory(task, 99)).toBe(task)
    expect(trimHistory(task, undefined)).toBe(task)
  })

  test('of length nothing leaves the field out, and the task as it was', () => {
    expect(trimHistory(task, 0)).not.toHaveProperty('history')
    expect(task.history).toHaveLength(3)
  })

  test('is cut in the tasks of a stream, and who leaves it leaves its source', async () => {
    let left = false
    async function* source(): AsyncGenerator<readonly Sequenced[]> {
      try {
        yield [{ seq: 1, event: { task } }]
        yield [{ seq: 2, event: { message: userMessage('hi') } }]
      } finally {
        left = true
      }
    }
    for await (const [first] of trimStream(source(), 1)) {
      expect(first).toMatchObject({ seq: 1, event: { task: { history: [history[2]] } } })
      break
    }
    expect(left).toBe(true)
  })
})
