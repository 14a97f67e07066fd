import { test } from 'vitest'
import { mustHold } from '../../test/security/siege/holds.ts'

test(
  'a server on SQLite stands and refuses what it should, and honest callers are answered',
  () => mustHold('sqlite'),
  90_000,
)
