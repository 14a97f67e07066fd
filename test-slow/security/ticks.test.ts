import { expect, test } from 'vitest'
import { corpus } from '../../test/security/ticks/corpus.ts'
import { planted } from '../../test/security/ticks/doors.ts'
import { hunt, toLine } from '../../test/security/ticks/hunt.ts'
import { thorough } from '../../test/support/thorough.ts'

// A longer search, with the functions that took the time, is `npm run ticks`.
test('nothing that a stranger sends or answers holds the loop longer than it may', async () => {
  const seconds = thorough(40, 900)
  const maxSize = thorough(1_500_000, 9_000_000)
  const { tried, worst, breaches } = await hunt({ seconds, seed: 1, maxSize, corpus })
  console.log(`${tried} inputs\n${worst.slice(0, 10).map(toLine).join('\n')}`)
  expect(tried).toBeGreaterThan(corpus.length)
  expect(breaches.map((found) => `${toLine(found)} ${JSON.stringify(found.input)}`)).toEqual([])
}, 1_200_000)

test('what does hold the loop is found', async () => {
  const { breaches } = await hunt({ seconds: 20, seed: 1, door: planted, until: 1 })
  expect(breaches.map(({ input }) => input.door)).toEqual([planted])
}, 120_000)
