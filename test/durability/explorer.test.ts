import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { explore } from './explorer/explorer.ts'
import { scenarios } from './explorer/scenarios.ts'

describe('a process that dies around any commit changes nothing that anybody notices', () => {
  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    { timeout: 120_000 },
    async (_name, scenario) => {
      const { points, wrong } = await explore(scenario, async () => createMemoryStore())
      expect(points).toBeGreaterThan(2)
      expect(wrong).toEqual([])
    },
  )
})
