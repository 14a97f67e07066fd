import { test } from 'vitest'
import { mustHold } from './holds.ts'

// The whole run, with its times, is `npm run siege`; SQLite's short form is in `npm run test:slow`.
test(
  'a server stands and refuses what it should, and honest callers are answered',
  () => mustHold('memory'),
  90_000,
)
