import { describe, expect, test } from 'vitest'
import { thorough } from '../../test/support/thorough.ts'
import { engines, useEngine } from './engines.ts'
import { exploreNetwork } from './network/explore.ts'
import { networkScenarios } from './network/scenarios.ts'

describe.each(engines)('cuts of the network between replicas and $engine', (engine) => {
  const database = useEngine(engine)
  // A prime, so that each kind of cut comes at each kind of message sooner or later.
  const every = thorough(61, 1)
  const timeout = thorough(900_000, 7_200_000)

  test.skipIf(!engine.isThere).each(networkScenarios)('$name', { timeout }, async (scenario) => {
    const found = await exploreNetwork(scenario, { url: database.url, every, atOnce: 4 })
    console.info(`${scenario.name}: ${found.reached} of ${found.points} cuts`)
    expect(found.wrong).toEqual([])
    expect(found.reached).toBeGreaterThan(found.points / 2)
  })
})
