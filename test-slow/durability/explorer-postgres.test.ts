import { expect, test } from 'vitest'
import { explore, type Scenario } from '../../test/durability/explorer/explorer.ts'
import { openPostgresDisk } from '../../test/durability/explorer/postgres.ts'
import { dataScenarios, scenarios } from '../../test/durability/explorer/scenarios.ts'
import { describePostgres } from '../../test/support/postgres.ts'

const named = (list: readonly Scenario[]) =>
  list.map((scenario) => [scenario.name, scenario] as const)

describePostgres('on PostgreSQL, a crash around any commit changes nothing', () => {
  test.each(named(scenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await explore(scenario, openPostgresDisk)
    expect(points).toBeGreaterThan(2)
    expect(wrong).toEqual([])
  })

  // Around each sixth commit: all of them take three minutes.
  test.each(named(dataScenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await explore(scenario, openPostgresDisk, 6)
    expect(points).toBeGreaterThan(1)
    expect(wrong).toEqual([])
  })
})
