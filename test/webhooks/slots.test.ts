import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSlots } from '../../src/webhooks/slots.ts'

const idle = new AbortController().signal

/** Lets everything that is ready run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('slots', () => {
  test('never give more than the limits, and serve everybody', async () => {
    const hosts = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(hosts, async (names) => {
        const slots = createSlots({ total: 4, perHost: 2 })
        const running = new Map<string, number>()
        const work = names.map(async (name) => {
          const free = await slots.take(name, idle)
          running.set(name, (running.get(name) ?? 0) + 1)
          expect(running.get(name)).toBeLessThanOrEqual(2)
          expect([...running.values()].reduce((a, b) => a + b)).toBeLessThanOrEqual(4)
          await turn()
          running.set(name, (running.get(name) ?? 0) - 1)
          free()
          free()
        })
        await Promise.all(work)
      }),
      { numRuns: 30 },
    )
  })

  test('let hosts take turns, whoever queued first', async () => {
    const slots = createSlots({ total: 1, perHost: 1 })
    const order: string[] = []
    const first = await slots.take('a', idle)
    const work = ['a', 'a', 'a', 'b', 'c'].map(async (name) => {
      const free = await slots.take(name, idle)
      order.push(name)
      free()
    })
    first()
    await Promise.all(work)
    expect(order.slice(0, 3).sort()).toEqual(['a', 'b', 'c'])
  })

  test('forget a waiter whose signal fires, and refuse one whose signal has fired', async () => {
    const slots = createSlots({ total: 1, perHost: 1 })
    const free = await slots.take('a', idle)
    const leaving = new AbortController()
    const waiting = slots.take('a', leaving.signal)
    leaving.abort('gone')
    await expect(waiting).rejects.toBe('gone')
    await expect(slots.take('a', leaving.signal)).rejects.toBe('gone')
    free()
    const next = await slots.take('a', idle)
    next()
  })
})
