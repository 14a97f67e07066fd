import { describe, expect, test } from 'vitest'
import { createScale } from '../logic/scale.ts'

const second = 1_000
const hour = 3_600 * second

describe('The scale of a timeline', () => {
  test('work that goes on without a break fills the line evenly', () => {
    const scale = createScale([
      { from: 0, to: 6 * second },
      { from: 4 * second, to: 10 * second },
    ])
    expect(scale.gaps).toEqual([])
    expect(scale.place(0)).toBe(0)
    expect(scale.place(5 * second)).toBeCloseTo(0.5)
    expect(scale.place(10 * second)).toBeCloseTo(1)
  })

  test('hours in which nobody works are a tick, and no work is drawn over it', () => {
    const scale = createScale([
      { from: 0, to: 10 * second },
      { from: 2 * hour, to: 2 * hour + 10 * second },
    ])
    expect(scale.gaps).toHaveLength(1)
    const [gap] = scale.gaps
    expect((gap?.right ?? 1) - (gap?.left ?? 0)).toBeCloseTo(0.05)
    expect(scale.workMs).toBe(20 * second)
    expect(scale.place(10 * second)).toBeCloseTo(gap?.left ?? 0)
    expect(scale.place(2 * hour)).toBeCloseTo(gap?.right ?? 0)
    expect(scale.place(2 * hour + 10 * second)).toBeCloseTo(1)
  })

  test('a hundred gaps leave most of the line to the work', () => {
    const scale = createScale(
      Array.from({ length: 101 }, (_, i) => ({ from: i * hour, to: i * hour + second })),
    )
    const squeezed = scale.gaps.reduce((sum, { left, right }) => sum + right - left, 0)
    expect(squeezed).toBeLessThanOrEqual(0.3 + 1e-9)
    expect(scale.place(100 * hour + second)).toBeCloseTo(1)
  })

  test('ticks count work alone, in round steps', () => {
    const scale = createScale([
      { from: 0, to: 10 * second },
      { from: hour, to: hour + 10 * second },
    ])
    expect(scale.ticks(4).map(({ workMs }) => workMs / second)).toEqual([0, 5, 10, 15, 20])
    const places = scale.ticks(4).map(({ at }) => at)
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })

  test('nothing at all is a line without anything on it', () => {
    const scale = createScale([])
    expect(scale.place(5)).toBe(0)
    expect(scale.workMs).toBe(0)
  })
})
