import { expect, test } from 'vitest'
import { torture } from '../../test/durability/torture.ts'
import { thorough } from '../../test/support/thorough.ts'

test('a server that is killed again and again under load loses nothing that it acknowledged', async () => {
  const kills = thorough(50, 100)
  const { violations, deadLetters, audit, ownDeaths } = await torture({ kills, seed: 100 })
  expect(violations).toEqual([])
  expect(deadLetters).toBe(0)
  expect(audit.innocentFailed).toBe(0)
  expect(audit.givenUp).toBe(thorough(1, 2))
  expect(ownDeaths).toBeGreaterThan(kills / 10)
})
