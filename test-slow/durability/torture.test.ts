import { expect, test } from 'vitest'
import { torture } from '../../test/durability/torture.ts'

test('a server that is killed 100 times under load loses nothing that it acknowledged', async () => {
  const { violations, deadLetters, audit, ownDeaths } = await torture({ kills: 100, seed: 100 })
  expect(violations).toEqual([])
  expect(deadLetters).toBe(0)
  expect(audit.innocentFailed).toBe(0)
  expect(audit.givenUp).toBe(2)
  expect(ownDeaths).toBeGreaterThan(10)
})
