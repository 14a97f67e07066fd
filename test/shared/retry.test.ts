import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs, retry, retryAfterMs, wait } from '../../src/shared/async.ts'
import { createFakeClock } from '../../src/testing/index.ts'

describe('backoff', () => {
  test('doubles with each failure up to its limit', () => {
    const random = (): number => 1
    const waits = [1, 2, 3, 4, 5].map((n) => backoffMs(n, { baseMs: 100, maxMs: 800, random }))
    expect(waits).toEqual([100, 200, 400, 800, 800])
  })

  test('lies between half of the wait and the whole of it, whatever chance says', () => {
    const chance = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), chance, (failures, value) => {
        const whole = Math.min(30_000, 250 * 2 ** (failures - 1))
        const ms = backoffMs(failures, { random: () => value })
        return ms >= whole / 2 && ms <= whole
      }),
    )
  })
})

describe('wait', () => {
  test('ends when the time is over', async () => {
    const clock = createFakeClock()
    const waiting = wait(clock, 50)
    await clock.elapse(50)
    await expect(waiting).resolves.toBeUndefined()
  })

  test('rejects with the reason of the signal and leaves no timer', async () => {
    const clock = createFakeClock()
    const controller = new AbortController()
    const waiting = wait(clock, 50, controller.signal)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(clock.pending()).toEqual([])
  })
})

describe('retry', () => {
  const failing =
    (failures: number) =>
    async (attempt: number): Promise<number> => {
      if (attempt <= failures) throw new Error(`failure ${attempt}`)
      return attempt
    }

  test('waits after each failure and gives what the work gives at last', async () => {
    const clock = createFakeClock()
    const asked: unknown[] = []
    const delay = (error: unknown, failures: number): number => {
      asked.push([error instanceof Error ? error.message : error, failures])
      return 100 * failures
    }
    const done = retry(failing(2), { tries: 3, delay, clock })
    await clock.elapse(100)
    await clock.elapse(200)
    expect(await done).toBe(3)
    expect(asked).toEqual([
      ['failure 1', 1],
      ['failure 2', 2],
    ])
  })

  test('rejects with the last failure when tries run out, without asking for another wait', async () => {
    const clock = createFakeClock()
    let asked = 0
    const delay = (): number => {
      asked++
      return 10
    }
    const done = retry(failing(9), { tries: 2, delay, clock })
    done.catch(() => {})
    await clock.elapse(10)
    await expect(done).rejects.toThrow('failure 2')
    expect(asked).toBe(1)
  })

  test('rejects at once with a failure that is final', async () => {
    const clock = createFakeClock()
    const done = retry(failing(1), { delay: () => undefined, clock })
    await expect(done).rejects.toThrow('failure 1')
  })

  test('rejects with the reason of a signal that fires between two tries', async () => {
    const clock = createFakeClock()
    const controller = new AbortController()
    const delay = (): number => {
      queueMicrotask(() => controller.abort(new Error('enough')))
      return 50
    }
    const done = retry(failing(1), { delay, clock, signal: controller.signal })
    await expect(done).rejects.toThrow('enough')
    expect(clock.pending()).toEqual([])
  })
})

describe('Retry-After', () => {
  const now = Date.parse('2026-11-17T10:00:00Z')

  test.each([
    ['120', 120_000],
    [' 2 ', 2_000],
    ['0.5', 500],
    ['0', 0],
    ['Tue, 17 Nov 2026 10:00:30 GMT', 30_000],
    ['Tue, 17 Nov 2026 09:59:30 GMT', 0],
  ])('reads %j', (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms)
  })

  test.each([undefined, '', '  ', 'soon', 'NaN', 'Infinity', '1h'])(
    'takes %j for no wish',
    (header) => {
      expect(retryAfterMs(header, now)).toBeUndefined()
    },
  )
})
