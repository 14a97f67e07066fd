import { test } from 'vitest'
import { mustHold } from '../../test/security/siege/holds.ts'

// The whole run, with its times, is `npm run siege`.
test.each(['memory', 'sqlite', 'postgres'] as const)(
  'a server on the %s store stands and refuses what it should, and honest callers are answered',
  mustHold,
)
