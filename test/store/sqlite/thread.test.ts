import { describe, expect, test } from 'vitest'
import {
  CommitGroup,
  type Request,
  type Thread,
  type ThreadAnswer,
} from '../../../src/store/sqlite/thread.ts'
import type { CommitEvents } from '../../../src/store/upkeep.ts'
import { scope, write } from '../../contracts/store/samples.ts'

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

  test('tells how many writes were stored, and that a commit failed', async () => {
    const thread = createHeldThread()
    const events: (number | string)[] = []
    const group = new CommitGroup(
      thread,
      { committed: (writes) => events.push(writes), failed: () => events.push('failed') },
      1_000_000,
    )
    const first = group.commit([write('a')])
    const later = [group.commit([write('b'), write('c')]), group.commit([write('d')])]
    thread.answer({ ok: [{ version: 1 }] })
    await first
    thread.answer({ ok: [{ version: 1 }, { version: 1 }, { version: 1 }] })
    await Promise.all(later)
    const failing = group.commit([write('e')])
    thread.answer({ fault: { code: 13, message: 'full' } })
    await expect(failing).rejects.toThrow()
    expect(events).toEqual([1, 3, 'failed'])
  })

  test.each([11, 26])(
    'takes no more writes once its file was found to be damaged: %i',
    async (code) => {
      const thread = createHeldThread()
      const group = new CommitGroup(thread, silent, 1_000_000)
      const failing = group.commit([write('a')])
      const behind = group.commit([write('b')])
      thread.answer({ fault: { code, message: 'malformed' } })
      await expect(failing).rejects.toMatchObject({ code: 'unavailable' })
      const damaged = group.health()
      expect(damaged).toMatchObject({ writable: false })
      // What was on its way may still be answered; it makes nothing sound.
      thread.answer({ ok: [{ version: 1 }] })
      await behind
      group.recovered()
      expect(group.health()).toEqual(damaged)
      group.damaged('another reason')
      expect(group.health()).toEqual(damaged)
      await expect(group.commit([write('c')])).rejects.toThrow('damaged')
      expect(thread.asked).toHaveLength(2)
    },
  )

  test('keeps saying that its file is damaged where a later commit fails for another reason', async () => {
    const thread = createHeldThread()
    const group = new CommitGroup(thread, silent, 1_000_000)
    const failing = group.commit([write('a')])
    group.damaged('found to be damaged')
    thread.answer({ fault: { code: 13, message: 'full' } })
    await expect(failing).rejects.toThrow()
    expect(group.health().reason).toContain('found to be damaged')
  })

  test('refuses what is too large before it is sent, and the rest is stored', async () => {
    const thread = createHeldThread()
    const group = new CommitGroup(thread, silent, 10_000)
    const value = 'x'.repeat(10_001)
    const place = { type: 'contextValue', scope, contextId: 'c', key: 'k' } as const
    void group.commit([
      { ...place, value },
      { ...place, value: 'x'.repeat(9_998) },
    ])
    const [request] = thread.asked
    expect(request?.type === 'commit' && request.rows.map(([type]) => type)).toEqual([
      'refused',
      'contextValue',
    ])
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
