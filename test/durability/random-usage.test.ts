import { test } from 'vitest'
import { patiently } from '../support/limits.ts'
import { checkUsage } from './explorer/usage.ts'

// More of them: test-slow.
test(
  'a random team that is interrupted anywhere reports what its models were paid for',
  {
    timeout: patiently(300_000),
  },
  () => checkUsage({ teams: 14, interruptions: 1, seed: 17 }),
)
