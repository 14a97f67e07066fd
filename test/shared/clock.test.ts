import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/shared/clock.ts'

const longest = 2 ** 31 - 1

/** Notes the delays of all timers, and lets a test end them. */
function watchTimers(): { readonly delays: number[]; end(): void } {
  const { setTimeout: real } = globalThis
  onTestFinished(() => void Reflect.set(globalThis, 'setTimeout', real))
  const delays: number[] = []
  let due = (): void => {}
  Reflect.set(globalThis, 'setTimeout', (callback: () => void, ms: number) => {
    delays.push(ms)
    due = callback
  })
  return { delays, end: () => due() }
}

test.each([2 ** 31, 2 ** 33, Number.POSITIVE_INFINITY])(
  'a wait of %d ms does not end early',
  (ms) => {
    const { delays, end } = watchTimers()
    let calls = 0
    systemClock.after(ms, () => calls++)
    end()
    expect(delays[0]).toBe(longest)
    expect(delays[1]).toBeGreaterThan(longest - 60_000)
    expect(calls).toBe(0)
  },
)

test('a wait of which the platform tells the end takes one timer', () => {
  const { delays, end } = watchTimers()
  let calls = 0
  systemClock.after(longest, () => calls++)
  end()
  expect([delays, calls]).toEqual([[longest], 1])
})

test('a long wait can be called off', () => {
  const handles = (): number =>
    process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
  const before = handles()
  const callOff = systemClock.after(2 ** 40, () => {})
  expect(handles()).toBe(before + 1)
  callOff()
  expect(handles()).toBe(before)
})
