import { describe, expect, test } from 'vitest'
import { simulate } from '../../test/simulation/simulate.ts'
import { thorough } from '../../test/support/thorough.ts'

describe('virtual replicas on one database', () => {
  test.each([10_000, 40_000])(
    'keep every promise from seed %i on, five hundred times',
    async (first) => {
      for (let seed = first; seed < first + thorough(200, 2_000); seed++) {
        const { violations } = await simulate({ seed })
        expect({ seed, violations }).toEqual({ seed, violations: [] })
      }
    },
  )
})
