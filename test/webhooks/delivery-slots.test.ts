import { setMaxListeners } from 'node:events'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FreePlace, Slots } from '../../src/webhooks/delivery-slots.ts'

const idle = new AbortController().signal

setMaxListeners(0, idle)

const at = (host: string, principal = 'ann') => ({ principal, host })

/** Lets everything that is ready run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('slots', () => {
  test('never give more than the limits, and serve everybody', async () => {
    const hosts = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(hosts, async (names) => {
        const slots = new Slots({ total: 4, perHost: 2 })
        const running = new Map<string, number>()
        const work = names.map(async (name) => {
          const free = await slots.take(at(name), idle)
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

  test.each([
    [1, 8],
    [3, 2],
    [20, 1],
  ])(
    'of %i replicas give one its part of a host, and one place at least',
    async (replicas, places) => {
      const slots = new Slots({ total: 64, perHost: 8 }, () => replicas)
      let given = 0
      for (let i = 0; i < 10; i++) void slots.take(at('a'), idle).then(() => given++)
      await turn()
      expect(given).toBe(places)
    },
  )

  test('let hosts take turns, whoever queued first', async () => {
    const slots = new Slots({ total: 1, perHost: 1 })
    const order: string[] = []
    const first = await slots.take(at('a'), idle)
    const work = ['a', 'a', 'a', 'b', 'c'].map(async (name) => {
      const free = await slots.take(at(name), idle)
      order.push(name)
      free()
    })
    first()
    await Promise.all(work)
    expect(order.slice(0, 3).sort()).toEqual(['a', 'b', 'c'])
  })

  test('forget a waiter whose signal fires, and refuse one whose signal has fired', async () => {
    const slots = new Slots({ total: 1, perHost: 1 })
    const free = await slots.take(at('a'), idle)
    const leaving = new AbortController()
    const waiting = slots.take(at('a'), leaving.signal)
    leaving.abort('gone')
    await expect(waiting).rejects.toBe('gone')
    await expect(slots.take(at('a'), leaving.signal)).rejects.toBe('gone')
    free()
    const next = await slots.take(at('a'), idle)
    next()
  })

  test('leave half of what is free to others, however many hosts a principal has', async () => {
    const slots = new Slots({ total: 64, perHost: 8 })
    const held = new Map<string, number>()
    for (const principal of ['ann', 'ben', 'cleo', 'dan', 'eve', 'fay', 'gil'])
      for (let host = 0; host < 240; host++)
        void slots.take(at(`${host}`, principal), idle).then(() => {
          held.set(principal, (held.get(principal) ?? 0) + 1)
        })
    await turn()
    expect([...held.values()]).toEqual([32, 16, 8, 4, 2, 1, 1])
  })

  test('go to who has none before they go to who has some', async () => {
    const slots = new Slots({ total: 4, perHost: 4 })
    const first = await slots.take(at('a', 'ann'), idle)
    await slots.take(at('b', 'ann'), idle)
    await slots.take(at('a', 'ben'), idle)
    const order: string[] = []
    for (const principal of ['ann', 'ben', 'cleo'])
      void slots.take(at('c', principal), idle).then(() => order.push(principal))
    await turn()
    expect(order).toEqual(['cleo'])
    first()
    await turn()
    expect(order).toEqual(['cleo'])
  })

  /** How many of a host's deliveries run at once. */
  async function widthOf(slots: Slots, host: string, principal?: string): Promise<number> {
    const leaving = new AbortController()
    const places: FreePlace[] = []
    const waits = Array.from({ length: 10 }, async () => {
      places.push(await slots.take(at(host, principal), leaving.signal))
    })
    await turn()
    leaving.abort()
    await Promise.allSettled(waits)
    for (const free of places) free()
    return places.length
  }

  test('are lost to a host with each timeout and gained with each answer', async () => {
    const slots = new Slots({ total: 64, perHost: 8 })
    const attempt = async (outcome: 'answered' | 'timeout'): Promise<number> => {
      const free = await slots.take(at('tarpit'), idle)
      free(outcome)
      return widthOf(slots, 'tarpit')
    }
    const widths = [await widthOf(slots, 'tarpit')]
    for (let i = 0; i < 5; i++) widths.push(await attempt('timeout'))
    for (let i = 0; i < 8; i++) widths.push(await attempt('answered'))
    expect(widths).toEqual([8, 4, 2, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8])
  })

  test('of one principal do not suffer from the timeouts of another at the same host', async () => {
    const slots = new Slots({ total: 64, perHost: 8 })
    for (let i = 0; i < 5; i++) (await slots.take(at('shared', 'mallory'), idle))('timeout')
    expect(await widthOf(slots, 'shared', 'mallory')).toBe(1)
    expect(await widthOf(slots, 'shared', 'ann')).toBe(8)
  })
})
