import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  debianFolder,
  nativeFolder,
  type PostgresServer,
  startPostgres,
} from '../../test/support/postgres-server.ts'
import { thorough } from '../../test/support/thorough.ts'
import { exploreNetwork } from './network/explore.ts'
import { networkScenarios } from './network/scenarios.ts'

const engines = [
  {
    engine: 'the PostgreSQL of the registry',
    from: undefined,
    isThere: nativeFolder !== undefined,
  },
  { engine: 'Debian’s PostgreSQL', from: 'debian', isThere: debianFolder !== undefined },
] as const

for (const { engine, isThere } of engines)
  if (!isThere) console.warn(`${engine} is not installed: cuts of its network are skipped.`)

describe.each(engines)('cuts of the network to $engine', ({ from, isThere }) => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    if (isThere) server = await startPostgres(from === undefined ? {} : { from })
  })
  afterAll(async () => server?.stop())

  // A prime, so that each kind of cut comes at each kind of message sooner or later.
  test.skipIf(!isThere).each(networkScenarios)(
    '$name',
    { timeout: thorough(900_000, 7_200_000) },
    async (scenario) => {
      const every = thorough(61, 1)
      const found = await exploreNetwork(scenario, { url: server?.url ?? '', every, atOnce: 4 })
      console.info(`${scenario.name}: ${found.reached} of ${found.points} cuts`)
      expect(found.wrong).toEqual([])
      expect(found.reached).toBeGreaterThan(found.points / 2)
    },
  )
})
