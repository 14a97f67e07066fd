import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { exploreTwice, type Scenario } from '../../test/durability/explorer/explorer.ts'
import { dataScenarios, scenarios } from '../../test/durability/explorer/scenarios.ts'
import { thorough } from '../../test/support/thorough.ts'

const named = (list: readonly Scenario[]) =>
  list.map((scenario) => [scenario.name, scenario] as const)

describe('a crash, and another one while what it left is taken up, change nothing', () => {
  test.each(named(scenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await exploreTwice(
      scenario,
      async () => createMemoryStore(),
      thorough(4, 1),
    )
    expect(points).toBeGreaterThan(0)
    expect(wrong).toEqual([])
  })

  // Pairs of some points: these have many commits.
  test.each(named(dataScenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await exploreTwice(
      scenario,
      async () => createMemoryStore(),
      thorough(8, 2),
    )
    expect(points).toBeGreaterThan(0)
    expect(wrong).toEqual([])
  })
})
