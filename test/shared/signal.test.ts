import { expect, test } from 'vitest'
import { LinkedSignal } from '../../src/shared/async.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createFakeClock } from '../../src/testing/index.ts'

const enough = new Error('enough')

test('a signal that is asked for late has fired for the reason of then', () => {
  const link = new LinkedSignal(new AbortController().signal)
  expect(link.aborted).toBe(false)
  link.abort(enough)
  link.abort(new Error('later'))
  expect(link.aborted).toBe(true)
  expect(link.signal.reason).toBe(enough)
  expect(() => link.throwIfAborted()).toThrow('enough')
})

test('the parent is followed, whether it fires before or after the signal is asked for', () => {
  for (const askFirst of [true, false]) {
    const parent = new AbortController()
    const link = new LinkedSignal(parent.signal)
    if (askFirst) expect(link.signal.aborted).toBe(false)
    parent.abort(enough)
    expect(link.aborted).toBe(true)
    expect(link.signal.reason).toBe(enough)
    expect(() => link.throwIfAborted()).toThrow('enough')
  }
})

test('the reason of the parent stays, where that fired first', () => {
  const parent = new AbortController()
  const link = new LinkedSignal(parent.signal)
  parent.abort(enough)
  link.abort(new Error('later'))
  expect(link.signal.reason).toBe(enough)
  expect(() => link.throwIfAborted()).toThrow('enough')
})

test('a link of a link hears of both, and tells neither', () => {
  const root = new AbortController()
  const outer = new LinkedSignal(root.signal)
  const inner = new LinkedSignal(outer)
  const other = new LinkedSignal(outer)
  inner.abort(new Error('only this one'))
  expect(inner.signal.aborted).toBe(true)
  expect(outer.aborted).toBe(false)
  const { signal } = other
  outer.abort(enough)
  expect(signal.reason).toBe(enough)
  expect(root.signal.aborted).toBe(false)
})

test('a released link follows no more', () => {
  const parent = new AbortController()
  const link = new LinkedSignal(parent.signal)
  const { signal } = link
  link.release()
  parent.abort(enough)
  expect(signal.aborted).toBe(false)
})

test('a deadline fires, unless the link is released', () => {
  const clock = createFakeClock()
  const deadline = { clock, ms: 50, reason: () => enough }
  const link = new LinkedSignal(new AbortController().signal, deadline)
  const released = new LinkedSignal(new AbortController().signal, deadline)
  released.release()
  clock.advance(50)
  expect(link.signal.reason).toBe(enough)
  expect(released.aborted).toBe(false)
  expect(clock.pending()).toEqual([])
  const without = new LinkedSignal(new AbortController().signal, {
    clock: systemClock,
    ms: undefined,
    reason: () => enough,
  })
  expect(without.aborted).toBe(false)
})
