import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { explore, exploreTwice, type Scenario } from '../../test/durability/explorer/explorer.ts'
import { openPostgresDisk } from '../../test/durability/explorer/postgres.ts'
import { dataScenarios, scenarios } from '../../test/durability/explorer/scenarios.ts'
import { drivers } from '../../test/store/sqlite/drivers.ts'
import { describePostgres } from '../../test/support/postgres.ts'

// As it is built: from the sources each of its threads, of which there are thousands here, has to be translated first.
const built = new URL('../../dist/store/index.js', import.meta.url).href
const { openSqliteStore }: typeof import('../../src/store/sqlite/store.ts') = await import(built)

const named = (list: readonly Scenario[]) =>
  list.map((scenario) => [scenario.name, scenario] as const)
let folder = ''
let files = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-explorer-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each(drivers)(
  'on a file written by %s, a crash around any commit changes nothing',
  (driver) => {
    // A crash of the process, not of the machine: what the operating system has is enough.
    const open = () =>
      openSqliteStore(join(folder, `${++files}.db`), { driver, synchronous: 'NORMAL' })

    test.each(named(scenarios))('%s', async (_name, scenario) => {
      const { points, wrong } = await explore(scenario, open)
      expect(points).toBeGreaterThan(2)
      expect(wrong).toEqual([])
    })

    // One file for all runs of a scenario: to open one takes longer than a run.
    test.each(named(dataScenarios))('%s', async (_name, scenario) => {
      const store = await open()
      try {
        const { points, wrong } = await explore(scenario, async () => ({
          ...store,
          close: async () => {},
        }))
        expect(points).toBeGreaterThan(2)
        expect(wrong).toEqual([])
      } finally {
        await store.close()
      }
    })
  },
)

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

describe('a crash, and another one while what it left is taken up, change nothing', () => {
  test.each(named(scenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await exploreTwice(scenario, async () => createMemoryStore())
    expect(points).toBeGreaterThan(2)
    expect(wrong).toEqual([])
  })

  // Pairs of some points: these have many commits.
  test.each(named(dataScenarios))('%s', async (_name, scenario) => {
    const { points, wrong } = await exploreTwice(scenario, async () => createMemoryStore(), 8)
    expect(points).toBeGreaterThan(0)
    expect(wrong).toEqual([])
  })
})
