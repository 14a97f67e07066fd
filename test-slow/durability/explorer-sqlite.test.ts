import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { explore } from '../../test/durability/explorer/explorer.ts'
import { dataScenarios, scenarios } from '../../test/durability/explorer/scenarios.ts'
import { drivers } from '../../test/store/sqlite/drivers.ts'

// As it is built: from the sources each of its threads has to be translated first.
const built = new URL('../../dist/store/index.js', import.meta.url).href
const { openSqliteStore }: typeof import('../../src/store/sqlite/store.ts') = await import(built)

const all = [...scenarios, ...dataScenarios].map((scenario) => [scenario.name, scenario] as const)
let folder = ''
let files = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-explorer-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each(drivers)(
  'on a file written by %s, a crash around any commit changes nothing',
  (driver) => {
    test.each(all)('%s', async (_name, scenario) => {
      // A crash of the process, not of the machine: what the operating system has is enough.
      const file = join(folder, `${++files}.db`)
      const store = await openSqliteStore(file, { driver, synchronous: 'NORMAL' })
      try {
        // One file for all runs of a scenario: to open one takes longer than a run.
        const open = async () => ({ ...store, close: async () => {} })
        const { points, wrong } = await explore(scenario, open)
        expect(points).toBeGreaterThan(2)
        expect(wrong).toEqual([])
      } finally {
        await store.close()
      }
    })
  },
)
