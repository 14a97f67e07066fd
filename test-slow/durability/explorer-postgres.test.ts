import { expect, test } from 'vitest'
import { explore, type Scenario } from '../../test/durability/explorer/explorer.ts'
import { openPostgresDisk } from '../../test/durability/explorer/postgres.ts'
import { dataScenarios, scenarios } from '../../test/durability/explorer/scenarios.ts'
import { describePostgres } from '../../test/support/postgres.ts'
import { thorough } from '../../test/support/thorough.ts'

const named = (list: readonly Scenario[]) =>
  list.map((scenario) => [scenario.name, scenario] as const)

describePostgres('on PostgreSQL, a crash around a commit changes nothing', () => {
  test.each(named(scenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await explore(scenario, openPostgresDisk, thorough(3, 1))
    expect(points).toBeGreaterThan(0)
    expect(wrong).toEqual([])
  })

  test.each(named(dataScenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await explore(scenario, openPostgresDisk, thorough(8, 1))
    expect(points).toBeGreaterThan(0)
    expect(wrong).toEqual([])
  })
})
