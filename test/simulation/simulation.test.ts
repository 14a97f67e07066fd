import { describe, expect, test } from 'vitest'
import { type Bug, bugs } from './bugs.ts'
import { simulate } from './simulate.ts'

const timeout = 120_000

describe('virtual replicas on one database', () => {
  test('keep every promise, whatever dies, stands still or gets lost', { timeout }, async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { violations } = await simulate({ seed })
      expect({ seed, violations }).toEqual({ seed, violations: [] })
    }
  })

  test('do the same again for the same seed', async () => {
    const runs = [await simulate({ seed: 7 }), await simulate({ seed: 7 })]
    expect(runs[0]).toEqual(runs[1])
    expect(runs[0]?.steps).toBeGreaterThan(100)
    expect(await simulate({ seed: 8 })).not.toEqual(runs[0])
  })

  test.each(bugs)(
    'find the planted mistake %s, which is gone without it',
    { timeout },
    async (bug) => {
      const seed = await findSeed(bug)
      expect((await simulate({ seed })).violations).toEqual([])
    },
  )
})

/** How many seeds it takes at most. */
const enough = 150

/** The first seed whose run shows what a mistake leads to. */
async function findSeed(bug: Bug): Promise<number> {
  for (let seed = 1; seed <= enough; seed++) {
    const { violations } = await simulate({ seed, bug })
    if (violations.some((violation) => signs[bug].test(violation))) return seed
  }
  throw new Error(`Nobody found ${bug} within ${enough} runs`)
}

const signs: Readonly<Record<Bug, RegExp>> = {
  'notify-after-commit': /ms after it was stored/,
  'claim-without-record': /wrote task .* had it/,
  'no-step-guard': /began in .* after its lease was over/,
  'work-from-state': /was left|never had its turn|never heard/,
}
