import { describe, expect, test } from 'vitest'
import { toTimestamp } from '../../src/shared/clock.ts'
import { floorsAt, isDue, isPastAll, keepsAll, Upkeep } from '../../src/store/upkeep.ts'
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

describe('retention', () => {
  test('begins with every 500 writes that are stored, however they are grouped', async () => {
    const { upkeep, clock, log } = createUpkeep()
    const roundsAfter = async (writes: number): Promise<number> => {
      upkeep.committed(writes)
      await settled()
      return log.length
    }
    expect([
      await roundsAfter(499),
      await roundsAfter(1),
      await roundsAfter(499),
      await roundsAfter(1),
    ]).toEqual([0, 1, 1, 2])
    expect(clock.pending()).toEqual([60_000])
    upkeep.stop()
  })

  test('is not begun again while it is under way', async () => {
    const { upkeep, clock, log, release } = createUpkeep({ held: true })
    upkeep.trim()
    upkeep.trim()
    upkeep.committed(500)
    expect(log).toEqual(['trim'])
    release()
    await settled()
    expect(log).toEqual(['trim'])
    expect(clock.pending()).toEqual([60_000])
  })

  test.each(['before it began', 'while it was under way', 'between two rounds'])(
    'goes no further once the store was closed %s',
    async (when) => {
      const { upkeep, clock, log, release } = createUpkeep({ held: true, steps: 3 })
      if (when !== 'before it began') upkeep.trim()
      if (when === 'between two rounds') {
        release()
        await settled()
      }
      const before = [...log]
      upkeep.stop()
      release()
      upkeep.trim()
      await settled()
      clock.advance(60_000)
      await settled()
      expect(log).toEqual(before)
      expect(clock.pending()).toEqual([])
    },
  )

  test('keeps everything only where no limit is set', () => {
    expect(keepsAll({})).toBe(true)
    for (const limit of ['maxTasks', 'maxAgeMs', 'maxWaitingMs'] as const)
      expect([limit, keepsAll({ [limit]: 0 })]).toEqual([limit, false])
  })

  const now = Date.UTC(2025, 0, 2)
  const finished = { finished: true, waiting: false }
  const waiting = { finished: false, waiting: true }
  const running = { finished: false, waiting: false }

  test.each([
    ['a finished task', finished, { maxAgeMs: 1_000 }, [false, true, true]],
    ['a waiting task', waiting, { maxWaitingMs: 1_000 }, [false, true, false]],
    ['a finished task where waiting ones go', finished, { maxWaitingMs: 1 }, [false, false, true]],
    ['a waiting task where finished ones go', waiting, { maxAgeMs: 1 }, [false, false, false]],
    ['a running task', running, { maxAgeMs: 1, maxWaitingMs: 1 }, [false, false, false]],
  ])(
    'knows whether %s is due: at its limit, beyond it, and where too many are finished',
    (...row) => {
      const [, task, limits, due] = row
      const floors = floorsAt(now, limits)
      const isDueAt = (ms: number, over: number) =>
        isDue({ ...task, timestamp: toTimestamp(ms) }, floors, over)
      expect([isDueAt(now - 1_000, 0), isDueAt(now - 1_001, 0), isDueAt(now, 1)]).toEqual(due)
    },
  )

  test.each([
    [{}, 0, 0, true],
    [{}, 0, 1, false],
    [{ maxAgeMs: 1_000 }, 1_000, 0, true],
    [{ maxAgeMs: 1_000 }, 1_001, 0, false],
    [{ maxAgeMs: 1_000 }, 0, 1, false],
    [{ maxWaitingMs: 1_000 }, 1_000, 0, true],
    [{ maxWaitingMs: 1_000 }, 1_001, 0, false],
    [{ maxAgeMs: 1_000, maxWaitingMs: 5_000 }, 1_001, 0, false],
    [{ maxAgeMs: 5_000, maxWaitingMs: 1_000 }, 1_001, 0, false],
  ])('with %j ends at a task %i ms old, where %i are too many: %s', (limits, age, over, isPast) => {
    expect(isPastAll(toTimestamp(now - age), floorsAt(now, limits), over)).toBe(isPast)
  })
})

describe('a store that cannot write', () => {
  test('is probed every second until it can, by one probe however many commits fail', async () => {
    const { upkeep, clock, log, fail } = createUpkeep()
    fail(2)
    upkeep.failed()
    upkeep.failed()
    expect(clock.pending()).toEqual([1_000])
    for (let i = 0; i < 4; i += 1) {
      clock.advance(1_000)
      await settled()
    }
    expect(log).toEqual(['probe', 'probe', 'probe', 'recovered'])
    expect(clock.pending()).toEqual([])
    upkeep.failed()
    expect(clock.pending()).toEqual([1_000])
  })

  test('is probed no more once it is closed, also where a probe is under way', async () => {
    const { upkeep, clock, log, fail } = createUpkeep()
    fail(9)
    upkeep.failed()
    clock.advance(1_000)
    upkeep.stop()
    await settled()
    expect(log).toEqual(['probe'])
    expect(clock.pending()).toEqual([])
    const other = createUpkeep()
    other.upkeep.failed()
    other.upkeep.stop()
    expect(other.clock.pending()).toEqual([])
  })
})

/** Upkeep that says what it does: each round of retention has so many steps, and waits to be released where it is held. */
function createUpkeep({ held = false, steps = 1 } = {}) {
  const clock = createFakeClock()
  const log: string[] = []
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => (release = resolve))
  let failures = 0
  const upkeep = new Upkeep({
    clock,
    async trim() {
      log.push('trim')
      if (held) await gate
      return log.length < steps
    },
    async probe() {
      log.push('probe')
      if (failures-- > 0) throw new Error('the disk is full')
    },
    recovered: () => void log.push('recovered'),
  })
  return {
    upkeep,
    clock,
    log,
    release: () => release(),
    fail(times: number) {
      failures = times
    },
  }
}

/** What follows from promises that are settled has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
