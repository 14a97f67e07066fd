import { describe, expect, test } from 'vitest'
import { choose, passHatK, wilson } from '../../../src/eval/results/results.ts'

describe('pass^k', () => {
  // Computed by hand: C(c,k)/C(n,k), e.g. n=5, c=3, k=2: C(3,2)/C(5,2) = 3/10.
  const table: readonly [n: number, c: number, k: number, value: number][] = [
    [1, 0, 1, 0],
    [1, 1, 1, 1],
    [4, 0, 1, 0],
    [4, 1, 1, 0.25],
    [4, 1, 2, 0],
    [4, 2, 1, 0.5],
    [4, 2, 2, 1 / 6],
    [4, 2, 3, 0],
    [4, 3, 1, 0.75],
    [4, 3, 2, 3 / 6],
    [4, 3, 3, 1 / 4],
    [4, 3, 4, 0],
    [4, 4, 4, 1],
    [5, 3, 1, 0.6],
    [5, 3, 2, 3 / 10],
    [5, 3, 3, 1 / 10],
    [5, 4, 2, 6 / 10],
    [5, 4, 3, 4 / 10],
    [5, 4, 4, 1 / 5],
    [8, 6, 3, 20 / 56],
    [10, 7, 5, 21 / 252],
  ]
  for (const [n, c, k, value] of table)
    test(`of ${c} successes in ${n} tries is ${value.toFixed(4)} at k = ${k}`, () => {
      expect(passHatK([{ n, c }])[k]?.value).toBeCloseTo(value, 6)
    })

  test('is the mean over tasks, up to the smallest number of tries', () => {
    const estimates = passHatK([
      { n: 4, c: 2 },
      { n: 4, c: 4 },
      { n: 3, c: 3 },
    ])
    expect(Object.keys(estimates)).toEqual(['1', '2', '3'])
    expect(estimates['1']?.value).toBeCloseTo((0.5 + 1 + 1) / 3, 6)
    expect(estimates['2']?.value).toBeCloseTo((1 / 6 + 1 + 1) / 3, 6)
    expect(estimates['3']?.value).toBeCloseTo((0 + 1 + 1) / 3, 6)
  })

  test('of nothing is nothing', () => {
    expect(passHatK([])).toEqual({})
    expect(passHatK([{ n: 0, c: 0 }])).toEqual({})
  })

  test("has Wilson's interval, which does not shrink to a point when all tasks agree", () => {
    // Known values of the Wilson score interval at z = 1.96.
    expect(wilson(0.5, 10)).toEqual({ low: 0.236593, high: 0.763407 })
    expect(wilson(1, 20)).toEqual({ low: 0.838875, high: 1 })
    expect(wilson(0, 20)).toEqual({ low: 0, high: 0.161125 })
  })

  test('counts combinations', () => {
    expect([choose(5, 0), choose(5, 2), choose(5, 5), choose(5, 6), choose(30, 15)]).toEqual([
      1, 10, 1, 0, 155_117_520,
    ])
  })
})
