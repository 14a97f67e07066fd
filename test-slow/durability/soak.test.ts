import { expect, test } from 'vitest'
import { soak } from '../../test/durability/soak.ts'

test.each(['sqlite', 'memory'] as const)(
  'a busy server on %s holds no more at the end than at the beginning',
  async (store) => {
    const { before, after, requests, slopeMbPerMinute } = await soak({
      minutes: 1,
      store,
      warmUp: 4_000,
    })
    expect(after).toEqual(before)
    expect(requests).toBeGreaterThan(1_000)
    // A short warm-up and a minute are not enough for a slope; a leak of every task is many times as steep.
    expect(slopeMbPerMinute).toBeLessThan(1)
  },
)
