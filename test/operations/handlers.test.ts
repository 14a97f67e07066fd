import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CheckedCall, Service } from '../../src/operations/gate.ts'
import { handlers, trimHistory, trimStream } from '../../src/operations/handlers.ts'
import type { Sequenced } from '../../src/protocol/operations.ts'
import { userMessage } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import type { TaskCursor } from '../../src/store/store.ts'

const moment = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())

/** Asks for a page; the pages after it begin at `next`. Gives the token of those, and where this one began. */
async function listFrom(pageToken: string, next?: TaskCursor) {
  let cursor: TaskCursor | undefined
  const engine = {
    scopeOf: () => undefined,
    async list(filter: { readonly cursor?: TaskCursor }) {
      cursor = filter.cursor
      return { tasks: [], total: 0, next }
    },
  }
  // true: listing needs nothing else of them
  const [service, call] = [{ engine } as unknown as Service, {} as CheckedCall]
  const { nextPageToken } = await handlers.ListTasks(service, { pageToken }, call)
  return { cursor, token: nextPageToken }
}

describe('a page token', () => {
  test('gives its cursor back, whatever the id', async () => {
    await fc.assert(
      fc.asyncProperty(moment, fc.string({ unit: 'grapheme' }), async (timestamp, id) => {
        const { token } = await listFrom('', { timestamp, id })
        expect(token).toMatch(/^[\w-]+$/)
        expect((await listFrom(token)).cursor).toEqual({ timestamp, id })
      }),
    )
  })

  test('that is not ours is refused, never misread', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), async (text) => {
        try {
          const { cursor } = await listFrom(text)
          expect(cursor).toBeDefined()
          expect(cursor?.timestamp).not.toBe('')
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
