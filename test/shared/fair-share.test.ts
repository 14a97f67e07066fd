import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairQueue, SharedBudget } from '../../src/shared/fair-share.ts'

/** A queue of items that are named after their principal, their line and their number. */
function queueOf(...items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>()
  for (const item of items) enter(queue, item)
  return queue
}

function enter(queue: FairQueue<string>, item: string): void {
  const [principal = '', line] = item.split(' ')
  queue.add(item, principal, line)
}

function leave(queue: FairQueue<string>, item: string): boolean {
  const [principal = '', line] = item.split(' ')
  return queue.remove(item, principal, line)
}

/** All that is left, in the order of its turns. */
function drained(queue: FairQueue<string>): readonly string[] {
  const taken: string[] = []
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item)
  return taken
}

describe('a fair queue', () => {
  test('serves principals by turns, their lines by turns, and a line in order', () => {
    const queue = queueOf(
      'ann x 1',
      'ann x 2',
      'ann y 3',
      'ann x 4',
      'bob x 5',
      'bob x 6',
      'eve z 7',
    )
    expect(queue.size).toBe(7)
    expect(drained(queue)).toEqual([
      'ann x 1',
      'bob x 5',
      'eve z 7',
      'ann y 3',
      'bob x 6',
      'ann x 2',
      'ann x 4',
    ])
    expect(queue.size).toBe(0)
  })

  test('serves one that comes again behind the others', () => {
    const queue = queueOf('ann', 'bob')
    expect(queue.take()).toBe('ann')
    enter(queue, 'ann')
    expect(drained(queue)).toEqual(['bob', 'ann'])
  })

  test('passes over who may not be served, who keeps the place', () => {
    const queue = queueOf('ann x 1', 'ann y 2', 'bob x 3', 'bob y 4')
    expect(queue.take((principal) => principal !== 'ann')).toBe('bob x 3')
    expect(
      queue.take(
        () => true,
        (line) => line !== 'x',
      ),
    ).toBe('ann y 2')
    expect(
      queue.take(
        (principal) => principal === 'bob',
        (line) => line === 'x',
      ),
    ).toBeUndefined()
    expect(drained(queue)).toEqual(['bob y 4', 'ann x 1'])
  })

  test('forgets who leaves early, once', () => {
    const queue = queueOf('ann x 1', 'ann x 2', 'ann y 3', 'bob x 4')
    expect(leave(queue, 'ann x 1')).toBe(true)
    expect(leave(queue, 'ann x 1')).toBe(false)
    expect(leave(queue, 'eve x 5')).toBe(false)
    expect(leave(queue, 'bob x 4')).toBe(true)
    expect(queue.size).toBe(2)
    enter(queue, 'bob x 6')
    expect(drained(queue)).toEqual(['ann x 2', 'bob x 6', 'ann y 3'])
  })

  test('delays nobody by more than one item of each other principal', () => {
    const principals = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 60 })
    fc.assert(
      fc.property(principals, (names) => {
        const queue = queueOf(...names.map((name, i) => `${name} ${i % 3} ${i}`))
        const left = new Map<string, number>()
        for (const name of names) left.set(name, (left.get(name) ?? 0) + 1)
        const order = drained(queue).map((item) => item.split(' ')[0] ?? '')
        expect(order.length).toBe(names.length)
        for (const [i, name] of order.entries()) {
          const next = order.indexOf(name, i + 1)
          const between = next < 0 ? [] : order.slice(i + 1, next)
          expect(new Set(between).size).toBe(between.length)
          left.set(name, (left.get(name) ?? 0) - 1)
        }
        expect([...left.values()].every((count) => count === 0)).toBe(true)
      }),
    )
  })
})

describe('a shared budget', () => {
  test('is bounded in all and for each', () => {
    const budget = new SharedBudget({ max: 10, share: 6 })
    expect(budget.take('ann', 6)).toBe(true)
    expect(budget.take('ann', 1)).toBe(false)
    expect(budget.take('bob', 5)).toBe(false)
    expect(budget.take('bob', 4)).toBe(true)
    expect(budget.take('eve', 1)).toBe(false)
    budget.give('ann', 2)
    expect(budget.fits('eve', 2)).toBe(true)
    expect(budget.fits('ann', 3)).toBe(false)
  })

  test('has no share for a holder without a name', () => {
    const budget = new SharedBudget({ max: 10, share: 6 })
    expect(budget.take('', 10)).toBe(true)
    expect(budget.take('', 1)).toBe(false)
  })

  test('counts what grows without asking', () => {
    const budget = new SharedBudget({ max: 10, share: 6 })
    budget.change('ann', 12)
    expect(budget.fits('bob', 1)).toBe(false)
    budget.change('ann', -12)
    expect(budget.take('ann', 6)).toBe(true)
  })

  test('lets in what is alone, where that is said', () => {
    const budget = new SharedBudget({ max: 10, share: 5, loneFits: true })
    expect(budget.take('ann', 20)).toBe(true)
    expect(budget.fits('ann', 1)).toBe(false)
    expect(budget.fits('bob', 1)).toBe(false)
    budget.give('ann', 20)
    expect(budget.take('ann', 4)).toBe(true)
    expect(budget.take('bob', 6)).toBe(true)
  })
})
