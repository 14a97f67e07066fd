import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OrderedHeads } from '../../../src/store/memory/task-index.ts'
import type { TaskHead } from '../../../src/store/store.ts'
import { at, scope } from '../../contracts/store/samples.ts'

test('agrees with a sorted array over thousands of additions and removals', () => {
  const steps = fc.array(fc.tuple(fc.nat(40), fc.nat(60), fc.boolean()), {
    minLength: 2_000,
    maxLength: 4_000,
  })
  fc.assert(
    fc.property(steps, fc.nat(40), (all, from) => {
      const list = new OrderedHeads()
      const model = new Map<string, TaskHead>()
      for (const [second, number, add] of all) {
        const one = head(second, number)
        if (add && !model.has(keyOf(one))) {
          list.add(one)
          model.set(keyOf(one), one)
        } else if (!add) {
          list.remove(one)
          model.delete(keyOf(one))
        }
      }
      const sorted = [...model.keys()].sort().reverse()
      expect(list.size).toBe(sorted.length)
      expect(list.newest(every).map(keyOf)).toEqual(sorted)
      const cursor = head(from, 30)
      expect(list.newest({ ...every, cursor }).map(keyOf)).toEqual(
        sorted.filter((key) => key < keyOf(cursor)),
      )
      expect(list.count(at(from))).toBe(sorted.filter((key) => key >= at(from)).length)
      for (const state of states) {
        const ofState = sorted.filter((key) => model.get(key)?.state === state)
        expect(list.newest({ ...every, state, floor: at(from) }).map(keyOf)).toEqual(
          ofState.filter((key) => key >= at(from)),
        )
        expect(list.count('', state)).toBe(ofState.length)
        expect(list.count(at(from), state)).toBe(ofState.filter((key) => key >= at(from)).length)
      }
    }),
    { numRuns: 20, endOnFailure: true },
  )
})

test('takes heads in ascending, descending and equal order', () => {
  for (const second of [(i: number) => i, (i: number) => 5_000 - i, () => 7]) {
    const list = new OrderedHeads()
    for (let i = 0; i < 5_000; i += 1) list.add(head(second(i), i))
    const keys = list.newest(every).map(keyOf)
    expect(keys).toEqual([...keys].sort().reverse())
    expect(new Set(keys).size).toBe(5_000)
  }
})

test('reads no further than it is asked to', () => {
  const list = new OrderedHeads()
  for (let i = 0; i < 1_000; i += 1) list.add(head(i, i))
  let read = 0
  const cursor = head(500, 500)
  const counting = new Proxy(cursor, {
    get(target, name, receiver) {
      read += 1
      return Reflect.get(target, name, receiver)
    },
  })
  const page = list.newest({ cursor: counting, limit: 3 })
  expect(page.map(({ timestamp }) => timestamp)).toEqual([at(499), at(498), at(497)])
  expect(read).toBeLessThan(100)
})

const states = ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_REJECTED'] as const

test('counts anew in a block that is the newest again', () => {
  const list = new OrderedHeads()
  // One more than a block holds: its removal makes the full block the newest.
  for (let second = 1; second <= 513; second++) list.add(head(second, 1))
  list.remove(head(300, 1))
  list.remove(head(513, 1))
  const failed = head(600, 29)
  list.add(failed)
  expect(list.newest({ ...every, state: failed.state })).toEqual([failed])
  expect(list.count(at(1), failed.state)).toBe(1)
})

const every = { limit: Number.POSITIVE_INFINITY }

function head(second: number, number: number): TaskHead {
  const id = String(number).padStart(5, '0')
  const timestamp = at(second)
  const work = { busy: false, generation: 1, build: '' }
  const state = states[number % 29 === 0 ? 1 : 0] ?? 'TASK_STATE_COMPLETED'
  return { id, scope, contextId: 'c', state, timestamp, ...work }
}

function keyOf({ timestamp, id }: TaskHead): string {
  return `${timestamp} ${id}`
}
