import { test } from 'vitest'
import { checkUsage } from '../../test/durability/explorer/usage.ts'

test.each([1, 2, 3])(
  'random teams that are interrupted anywhere report what their models were paid for (seed %i)',
  (seed) => checkUsage({ teams: 150, interruptions: 6, seed, limitMs: 60_000 }),
)
