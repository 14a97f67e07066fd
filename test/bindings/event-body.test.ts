import { describe, expect, test } from 'vitest'
import { EventBody, type EventWriter } from '../../src/bindings/sse.ts'
import type { EventStream, Sequenced } from '../../src/protocol/operations.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { task } from './scripted.ts'

const writer: EventWriter = {
  write: (batch) => {
    if (batch.some(({ seq }) => seq === 13)) throw new Error('unspeakable')
    return batch.map(({ seq }) => `${seq};`).join('')
  },
  fail: (error) => `failed: ${error instanceof Error ? error.message : ''}`,
}

const item = (seq: number): Sequenced => ({ seq, event: { task } })

/** A source fed by hand, and a clock moved by hand. */
function scene() {
  let give: ((result: IteratorResult<readonly Sequenced[]>) => void) | undefined
  let fail: ((error: unknown) => void) | undefined
  let returned = 0
  const source: EventStream = {
    [Symbol.asyncIterator]: () => ({
      next: () =>
        new Promise((resolve, reject) => {
          give = resolve
          fail = reject
        }),
      return: async () => {
        returned += 1
        return { done: true, value: undefined }
      },
    }),
  }
  const clock = createFakeClock()
  let retryMs: number | undefined
  const body = new EventBody(source, { writer, heartbeatMs: 100, clock, retryMs: () => retryMs })
  return {
    body,
    timers: clock.pending,
    reader: body[Symbol.asyncIterator](),
    push: (...seqs: number[]) => give?.({ done: false, value: seqs.map(item) }),
    finish: () => give?.({ done: true, value: undefined }),
    fail: (message: string) => fail?.(new Error(message)),
    returned: () => returned,
    goAway: (ms: number) => {
      retryMs = ms
    },
    jump: clock.jump,
    pass: clock.advance,
  }
}

describe('an event body', () => {
  test('opens with the first batch and loses none', async () => {
    const { body, reader, push, finish } = scene()
    const opened = body.opened()
    push(1, 2)
    await opened
    expect(await reader.next()).toEqual({ done: false, value: '1;2;' })
    const next = reader.next()
    finish()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })

  test('rejects its opening when the source fails before any event', async () => {
    const { body, fail } = scene()
    const opened = body.opened()
    fail('no task')
    await expect(opened).rejects.toThrow('no task')
  })

  test('writes a failure after the first event and ends', async () => {
    const { reader, push, fail } = scene()
    const first = reader.next()
    push(1)
    await first
    const second = reader.next()
    fail('broken')
    expect(await second).toEqual({ done: false, value: 'failed: broken' })
    expect((await reader.next()).done).toBe(true)
  })

  test('opens with a comment when the source is quiet, and keeps beating', async () => {
    const { body, reader, pass, push } = scene()
    const opened = body.opened()
    pass(100)
    await opened
    expect((await reader.next()).value).toBe(': heartbeat\n\n')
    const next = reader.next()
    pass(100)
    expect((await next).value).toBe(': heartbeat\n\n')
    push(7)
    expect((await reader.next()).value).toBe('7;')
  })

  test('keeps beating when the time of day is set back or forth', async () => {
    const { reader, pass, jump } = scene()
    for (const ms of [-3_600_000, 7_200_000]) {
      const next = reader.next()
      jump(ms)
      pass(99)
      expect(await Promise.race([next, 'quiet'])).toBe('quiet')
      pass(1)
      expect((await next).value).toBe(': heartbeat\n\n')
    }
  })

  test('has one timer, which a busy stream does not touch', async () => {
    const { reader, pass, push, timers } = scene()
    for (const seq of [1, 2, 3]) {
      const next = reader.next()
      push(seq)
      await next
      expect(timers()).toHaveLength(1)
      pass(30)
    }
    const next = reader.next()
    // 100 ms after the start, but only 40 ms after the last event: no comment yet.
    pass(10)
    pass(90)
    expect((await next).value).toBe(': heartbeat\n\n')
  })

  test('closes its source and its timer when the reader leaves, and sets the waiting read free', async () => {
    const { reader, returned, timers } = scene()
    const next = reader.next()
    expect(await reader.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    expect([returned(), timers()]).toEqual([1, []])
  })

  test('passes over an empty batch', async () => {
    const { reader, push, finish } = scene()
    const next = reader.next()
    push()
    await Promise.resolve()
    finish()
    expect((await next).done).toBe(true)
  })
})

describe('a stream of a server that goes away', () => {
  test('says last when to come back', async () => {
    const { reader, push, finish, goAway } = scene()
    const first = reader.next()
    push(1)
    expect(await first).toEqual({ done: false, value: '1;' })
    const last = reader.next()
    goAway(2_000)
    finish()
    expect(await last).toEqual({ done: false, value: 'retry: 2000\n\n' })
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })

  test('says so after the fault that ends it', async () => {
    const { reader, push, fail, goAway } = scene()
    const first = reader.next()
    push(1)
    await first
    const last = reader.next()
    goAway(500)
    fail('closing')
    expect(await last).toEqual({ done: false, value: 'failed: closingretry: 500\n\n' })
  })

  test('ends with the failure, and leaves its source, where an event cannot be written', async () => {
    const { reader, push, returned } = scene()
    const first = reader.next()
    push(1)
    expect(await first).toEqual({ done: false, value: '1;' })
    const second = reader.next()
    push(13)
    expect(await second).toEqual({ done: false, value: 'failed: unspeakable' })
    expect(await reader.next()).toEqual({ done: true, value: undefined })
    expect(returned()).toBe(1)
  })
})
