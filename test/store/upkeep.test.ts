import { expect, test } from 'vitest'
import { toTimestamp } from '../../src/shared/clock.ts'
import { floorsAt, isDue, Upkeep } from '../../src/store/upkeep.ts'
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

test.each([
  ['finished', { finished: true, waiting: false }],
  ['waiting', { finished: false, waiting: true }],
])('a %s task stays until it is older than it may be', (_kind, task) => {
  const now = Date.UTC(2025, 0, 2)
  const floors = floorsAt(now, { maxAgeMs: 1_000, maxWaitingMs: 1_000 })
  const isDueAt = (ms: number) => isDue({ ...task, timestamp: toTimestamp(ms) }, floors, 0)
  expect(isDueAt(now - 1_000)).toBe(false)
  expect(isDueAt(now - 1_001)).toBe(true)
})
