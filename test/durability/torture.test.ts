import { expect, test } from 'vitest'
import { torture } from './torture.ts'

test('a server that is killed 12 times under load loses nothing that it acknowledged', {
  timeout: 300_000,
}, async () => {
  const { violations, deadLetters, audit, counts, ownDeaths } = await torture({
    kills: 12,
    seed: 20,
  })
  expect(violations).toEqual([])
  expect(deadLetters).toBe(0)
  expect(audit.innocentFailed).toBe(0)
  // Without these the kills would have proved nothing.
  expect(counts.acknowledged).toBeGreaterThan(50)
  expect(counts.lost).toBeGreaterThan(0)
  expect(audit.resumed).toBeGreaterThan(0)
  expect(audit.stepsCommitted).toBeGreaterThan(0)
  expect(audit.remoteTasks).toBeGreaterThan(0)
  expect(audit.givenUp).toBe(1)
  expect(ownDeaths).toBeGreaterThan(3)
  expect(audit.webhookEvents).toBeGreaterThan(0)
})
