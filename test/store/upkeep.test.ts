import { expect, test } from 'vitest'
import { Upkeep } from '../../src/store/upkeep.ts'
import { createFakeClock } from '../../src/testing/index.ts'

test('retention that fails because the store cannot write goes on a minute later', async () => {
  const clock = createFakeClock()
  let steps = 0
  const upkeep = new Upkeep({
    clock,
    trim: async () => {
      if (++steps === 1) throw new Error('the disk is full')
      return steps < 3
    },
    probe: async () => {},
    recovered() {},
  })
  upkeep.trim()
  await expect.poll(() => clock.pending()).toHaveLength(1)
  expect(steps).toBe(1)
  clock.advance(60_000)
  await expect.poll(() => clock.pending()).toHaveLength(1)
  expect(steps).toBe(3)
  upkeep.stop()
  expect(clock.pending()).toEqual([])
})
