import { describe, expect, test } from 'vitest'
import {
  CommitGroup,
  type Request,
  type Thread,
  type ThreadAnswer,
} from '../../../src/store/sqlite/thread.ts'
import type { CommitEvents } from '../../../src/store/upkeep.ts'
import { write } from '../../contracts/store/samples.ts'

describe('a group of commits', () => {
  test('is one request for all that arrived while the last one ran, each with its own results', async () => {
    const thread = createHeldThread()
    const group = new CommitGroup(thread, silent, 1_000_000)
    const first = group.commit([write('first')])
    const later = ['a', 'b', 'c'].map((id) => group.commit([write(id), write(`${id}2`)]))
    expect(thread.asked).toHaveLength(1)
    thread.answer({ ok: [{ version: 1 }] })
    expect(await first).toEqual([{ version: 1 }])
    expect(thread.asked).toHaveLength(2)
    const versions = [1, 2, 3, 4, 5, 6].map((version) => ({ version }))
    thread.answer({ ok: versions })
    expect(await Promise.all(later)).toEqual([
      [{ version: 1 }, { version: 2 }],
      [{ version: 3 }, { version: 4 }],
      [{ version: 5 }, { version: 6 }],
    ])
    await group.idle()
    expect(thread.asked).toHaveLength(2)
  })

  test('that fails refuses all of them, and the next one is tried again', async () => {
    const thread = createHeldThread()
    const group = new CommitGroup(thread, silent, 1_000_000)
    const failed = group.commit([write('a')])
    thread.answer({ fault: { code: 13, message: 'database or disk is full' } })
    await expect(failed).rejects.toMatchObject({ code: 'unavailable' })
    expect(group.health()).toMatchObject({ writable: false })
    const next = group.commit([write('b')])
    thread.answer({ ok: [{ version: 1 }] })
    expect(await next).toEqual([{ version: 1 }])
    expect(group.health()).toEqual({ writable: true })
  })

  test('has a bound: a disk that does not answer cannot fill the memory', async () => {
    const thread = createHeldThread()
    const group = new CommitGroup(thread, silent, 1_000_000)
    const running = group.commit([write('first')])
    const many = Array.from({ length: 20_000 }, () => ({ type: 'deleteTask', id: 't' }) as const)
    const waiting = group.commit(many)
    await expect(group.commit([write('one more')])).rejects.toThrow(/overloaded/)
    thread.answer({ ok: [{ version: 1 }] })
    await running
    thread.answer({ ok: many.map(() => ({ version: 0 })) })
    expect(await waiting).toHaveLength(20_000)
  })
})

const silent: CommitEvents = { committed: () => {}, failed: () => {} }

/** A thread whose answers the test gives. */
function createHeldThread(): Thread & {
  readonly asked: Request[]
  answer(answer: ThreadAnswer): void
} {
  const asked: Request[] = []
  const waiting: ((answer: ThreadAnswer) => void)[] = []
  return {
    asked,
    ask(request) {
      asked.push(request)
      return new Promise((resolve) => waiting.push(resolve))
    },
    answer: (answer) => waiting.shift()?.(answer),
    ended: async () => {},
  }
}
