import { expect, test } from 'vitest'
import { corpus } from '../../test/security/ticks/corpus.ts'
import { planted } from '../../test/security/ticks/doors.ts'
import { hunt, toLine } from '../../test/security/ticks/hunt.ts'
import { patiently } from '../../test/support/limits.ts'
import { thorough } from '../../test/support/thorough.ts'

/**
 * What shares the machine with a test makes a tick dearer, by half at most as measured. So a test fails from twice the bar on,
 * while `npm run ticks`, for a quiet machine, holds the bar itself; it searches longer and names what took the time.
 */
const slack = 2

test(
  'nothing that a stranger sends or answers holds the loop longer than it may',
  async () => {
    const seconds = thorough(40, 900)
    const maxSize = thorough(1_500_000, 9_000_000)
    const { tried, worst, breaches, faults } = await hunt({ seconds, seed: 1, maxSize, corpus })
    console.log(`${tried} inputs\n${worst.slice(0, 10).map(toLine).join('\n')}`)
    expect(tried).toBeGreaterThan(corpus.length)
    const held = breaches.filter(({ tickMs, barMs }) => tickMs > slack * barMs)
    expect(faults.map((found) => JSON.stringify(found.input))).toEqual([])
    expect(held.map((found) => `${toLine(found)} ${JSON.stringify(found.input)}`)).toEqual([])
  },
  patiently(1_200_000),
)

test('what does hold the loop is found', async () => {
  const { breaches } = await hunt({ seconds: 20, seed: 1, door: planted, until: 1 })
  expect(breaches.map(({ input }) => input.door)).toEqual([planted])
})
