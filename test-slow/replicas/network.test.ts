import { describe, expect, test } from 'vitest'
import { patiently } from '../../test/support/limits.ts'
import { thorough } from '../../test/support/thorough.ts'
import { engines, useEngine } from './engines.ts'
import { exploreNetwork } from './network/explore.ts'
import { networkScenarios } from './network/scenarios.ts'

/**
 * Which part of the points is explored: `NETWORK_PART=2/12` is the second of twelve. All take about half an hour for each
 * engine on two quiet cores; parts may run side by side, each on databases of its own, or one after the other.
 */
const [part = 1, parts = thorough(61, 1)] = (process.env.NETWORK_PART ?? '1').split('/').map(Number)
const rehearsals = thorough(1, 5)
const timeout = patiently(thorough(900_000, 7_200_000))

describe.each(engines)('cuts of the network between replicas and $engine', (engine) => {
  const database = useEngine(engine)

  test.skipIf(!engine.isThere).each(networkScenarios)('$name', { timeout }, async (scenario) => {
    const where = { url: database.url, part, parts, rehearsals }
    const found = await exploreNetwork(scenario, { ...where, atOnce: 4 })
    console.info(`${scenario.name}: ${found.reached} of ${found.points} cuts`)
    expect(found.wrong).toEqual([])
    expect(found.reached).toBeGreaterThan(found.points / 2)
  })
})
