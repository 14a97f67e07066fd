import { describe, expect, test } from 'vitest'
import { createFakeClock, createInstantClock } from '../../src/testing/index.ts'

describe('a fake clock', () => {
  test('stands still until it is moved', () => {
    const clock = createFakeClock(1_000)
    expect([clock.now(), clock.elapsed()]).toEqual([1_000, 0])
    clock.advance(5)
    expect([clock.now(), clock.elapsed()]).toEqual([1_005, 5])
  })

  test('calls what falls due in order, each at its own moment, and what is set on the way', () => {
    const clock = createFakeClock(0)
    const calls: string[] = []
    const note = (name: string) => () => void calls.push(`${name} at ${clock.now()}`)
    clock.after(20, note('second'))
    clock.after(20, note('third'))
    clock.after(10, () => {
      note('first')()
      clock.after(15, note('set on the way'))
    })
    clock.after(31, note('late'))
    clock.advance(30)
    expect(calls).toEqual(['first at 10', 'second at 20', 'third at 20', 'set on the way at 25'])
    expect([clock.now(), clock.pending()]).toEqual([30, [31]])
  })

  test('calls nobody back who has called it off, were it in the same moment', () => {
    const clock = createFakeClock()
    const calls: string[] = []
    clock.after(10, () => {
      calls.push('first')
      callOff()
    })
    const callOff = clock.after(10, () => void calls.push('second'))
    clock.advance(10)
    expect(calls).toEqual(['first'])
  })

  test('brings no timer nearer when the time of day is set', () => {
    const clock = createFakeClock(0)
    let called = false
    clock.after(10, () => {
      called = true
    })
    clock.jump(3_600_000)
    expect([clock.now(), clock.elapsed(), called]).toEqual([3_600_000, 0, false])
  })

  test('waits for a timer to be set, and lets its time pass', async () => {
    const clock = createFakeClock()
    const calls: string[] = []
    const found = clock.timer((ms) => ms > 100)
    const passed = clock.elapse(50)
    clock.after(50, () => void calls.push('short'))
    clock.after(200, () => void calls.push('long'))
    expect(await found).toBe(200)
    await passed
    expect([calls, clock.pending()]).toEqual([['short'], [200]])
  })
})

describe('an instant clock', () => {
  test('ends every wait at once, and its time passes by it', async () => {
    const clock = createInstantClock()
    await new Promise<void>((resolve) => clock.after(60_000, resolve))
    expect([clock.now(), clock.elapsed(), clock.waits]).toEqual([60_000, 60_000, [60_000]])
  })

  test('takes its time where it is told to', async () => {
    const clock = createInstantClock({ real: (ms) => ms === 15_000 })
    const calls: number[] = []
    const callOff = clock.after(15_000, () => void calls.push(15_000))
    await new Promise<void>((resolve) => clock.after(20, resolve))
    callOff()
    expect([calls, clock.waits]).toEqual([[], [20]])
  })

  test('forgets what is called off', async () => {
    const clock = createInstantClock()
    const calls: number[] = []
    clock.after(10, () => void calls.push(10))()
    await new Promise<void>((resolve) => clock.after(20, resolve))
    expect(calls).toEqual([])
  })
})
