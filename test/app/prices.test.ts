import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig, parseConfig } from '../../src/app/config/load.ts'
import { createRoster, rosterWarnings } from '../../src/app/roster.ts'
import { serveConfig } from '../../src/app/serve.ts'
import { A2AClient } from '../../src/client/client.ts'
import { usageOf } from '../../src/protocol/extensions.ts'
import type { Task } from '../../src/protocol/types.ts'
import { type ModelServer, openModelServer, runTeam } from '../../src/testing/index.ts'

let directory = ''
let model: ModelServer

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-'))
  model = await openModelServer(['an answer'])
})

afterEach(async () => {
  await model.close()
  await rm(directory, { recursive: true })
})

/** Two models, one in a team in a team with a limit in money. */
const file = (prices: string, budget = 'max_cost_usd = 1') => `
${['a', 'b'].map(agent).join('')}
${team('inner', 'a', '')}
${team('outer', 'inner', budget && `[teams.budget]\n${budget}`)}
${prices}
`
const agent = (id: string) => `
[[agents]]
id = "${id}"
name = "${id}"
endpoint = "${model.url}"
protocol = "openai"
metadata = { api_key = "key" }
[agents.model]
name = "test-${id}"
`
const team = (id: string, member: string, rest: string) => `
[[teams]]
id = "${id}"
name = "${id}"
description = ""
agents = [{ agent_id = "${member}" }]
scheduler_config = { type = "workflow", steps = [{ agent_id = "${member}" }] }
${rest}
`
const price = (id: string, input: number) =>
  `[prices."test-${id}"]\ninput = ${input}\noutput = "0"\ncached_input = 0.5\n`

function costOf({ artifacts = [] }: Task): number | undefined {
  return usageOf(artifacts[0]?.metadata)?.costUsd
}

describe('the prices of a file', () => {
  test('are read by the names of models, with a limit in money', () => {
    const { prices, teams } = parseConfig(file(price('a', 2)))
    expect(prices).toEqual({ 'test-a': { input: 2, output: 0, cachedInput: 0.5 } })
    expect(teams[1]?.budget).toEqual({ maxCostUsd: 1 })
  })

  test('tell what its teams cost, and the models that it serves alone', async () => {
    const path = join(directory, 'corral.toml')
    await writeFile(path, file(price('a', 1_000) + price('b', 2_000)))
    expect(costOf((await runTeam(path, 'x', { team: 'outer' })).task)).toBe(0.011)
    expect(costOf((await runTeam(path, 'x', { team: 'b' })).task)).toBe(0.022)
  })

  test('come after those of the program that serves it', async () => {
    const path = join(directory, 'corral.toml')
    await writeFile(path, file(price('a', 1_000) + price('b', 2_000)))
    const serving = await serveConfig(await loadConfig(path, {}), {
      ...{ path, env: {}, port: 0, store: 'memory', logger: false },
      prices: { 'test-b': { input: 3_000, output: 0 } },
    })
    const cost = async (id: string) => {
      const client = new A2AClient({ dispatch: serving.server.dispatch(id) })
      const answer = await client.sendMessage('x')
      return 'task' in answer ? costOf(answer.task) : undefined
    }
    expect([await cost('outer'), await cost('b')]).toEqual([0.011, 0.033])
    await serving.close()
  })

  test('are missed where a team with a limit in money has a model without one', async () => {
    const warningsFor = async (text: string) => {
      const roster = await createRoster(parseConfig(text), { directory })
      const warnings = await rosterWarnings(roster)
      await roster.close()
      return warnings
    }
    expect(await warningsFor(file(''))).toEqual([
      'Team "outer": the model "test-a" has no price, so max_cost_usd does not count it; add [prices."test-a"]',
    ])
    expect(await warningsFor(file(price('a', 1)))).toEqual([])
    expect(await warningsFor(file('', ''))).toEqual([])
  })
})
