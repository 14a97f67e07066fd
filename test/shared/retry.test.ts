import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs, wait } from '../../src/shared/retry.ts'
import { createFakeClock } from '../support/clock.ts'

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
