import { describe, expect, it } from 'vitest'
import { OrphanWatch } from '../../../src/store/postgres/session.ts'
import { createFakeClock } from '../../../src/testing/clock.ts'

describe('what dead replicas left', () => {
  it('is told of at once: that one is gone, and that there is something', () => {
    const watch = new OrphanWatch(createFakeClock())
    expect(watch.see([1, 2, 3], [])).toBe(false)
    expect(watch.see([1, 2], [])).toBe(true)
    expect(watch.see([1, 2], [])).toBe(false)
    expect(watch.see([1, 2], [0])).toBe(true)
    expect(watch.see([1, 2, 4], [])).toBe(false)
    expect(watch.living).toBe(3)
  })

  it('is told of ever less often while nobody takes it on, and at once when there is more', () => {
    const clock = createFakeClock()
    const watch = new OrphanWatch(clock)
    let told = 0
    for (let looks = 0; looks < 400; looks++) {
      if (watch.see([1], [7])) told++
      clock.advance(250)
    }
    // 100 seconds: a few times within the first ones, then every two.
    expect(told).toBeGreaterThan(45)
    expect(told).toBeLessThan(60)
    watch.see([1], [7])
    expect(watch.see([1], [7, 8])).toBe(true)
  })
})
