import { describe, expect, test } from 'vitest'
import { type Bug, bugs } from './bugs.ts'
import { simulate } from './simulate.ts'

/** Runs of later seeds that have shown a mistake, which was then put right. */
const found = [
  35, 52, 136, 400_851, 400_892, 401_734, 10_085, 41_844, 50_070, 51_290, 51_405, 60_866, 61_673,
  61_719, 71_615, 91_371, 200_773,
]

describe('virtual replicas on one database', () => {
  test('keep every promise, whatever dies, stands still or gets lost', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { violations } = await simulate({ seed })
      expect({ seed, violations }).toEqual({ seed, violations: [] })
    }
  })

  test.each(found)('keep them in run %i, which once broke one', async (seed) => {
    expect((await simulate({ seed })).violations).toEqual([])
  })

  test('do the same again for the same seed', async () => {
    const runs = [await simulate({ seed: 7 }), await simulate({ seed: 7 })]
    expect(runs[0]).toEqual(runs[1])
    expect(runs[0]?.steps).toBeGreaterThan(100)
    expect(await simulate({ seed: 8 })).not.toEqual(runs[0])
  })

  test.each(bugs)('find the planted mistake %s, which is gone without it', async (bug) => {
    const seed = await findSeed(bug)
    expect((await simulate({ seed })).violations).toEqual([])
  })
})

/** How many seeds it takes at most. */
const enough = 250

/** Where each was last found: what is looked at first. Any other seed will do. */
const likely: Readonly<Record<Bug, number>> = {
  'notify-after-commit': 12,
  'claim-without-record': 49,
  'no-step-guard': 7,
  'work-from-state': 28,
  'deliveries-of-the-dead': 83,
  'claim-any-build': 171,
  'changes-forgotten': 37,
  'expensive-claim': 11,
  'beat-behind-look': 44,
  'transaction-without-deadline': 15,
  'commit-without-deadline': 31,
}

/** A seed whose run shows what a mistake leads to. */
async function findSeed(bug: Bug): Promise<number> {
  const seeds = [likely[bug], ...Array.from({ length: enough }, (_, index) => index + 1)]
  for (const seed of seeds) {
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
  'deliveries-of-the-dead': /was never told of/,
  'claim-any-build': /took task .* while .* had its own/,
  'changes-forgotten': /was answered without it/,
  'expensive-claim': /was without a replica for/,
  'beat-behind-look': /lost its registration for no reason/,
  'transaction-without-deadline': /was without a replica for|without a living replica/,
  'commit-without-deadline': /a commit of .* has waited for .* while its lease held/,
}
