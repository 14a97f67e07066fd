import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Config } from '../../src/app/config/file.ts'
import { loadConfig, parseConfig } from '../../src/app/config/load.ts'
import { createTeamFromConfig } from '../../src/app/roster.ts'
import { rpc, serve } from './serve.ts'

const file = fileURLToPath(new URL('../../examples/fantasy/corral.toml', import.meta.url))

const card = `{
  "agent_id": "fantasy-writing-team",
  "name": "Fantasy Story Writing Team",
  "description": "Collaborative team for fantasy story creation",
  "capabilities": [
    {
      "name": "world-building",
      "description": "Create rich fantasy world settings",
      "version": "1.0.0"
    },
    {
      "name": "character-development",
      "description": "Develop compelling characters",
      "version": "1.0.0"
    },
    {
      "name": "plot-generation",
      "description": "Generate engaging plot structures",
      "version": "1.0.0"
    },
    {
      "name": "prose-writing",
      "description": "Write polished narrative prose",
      "version": "1.0.0"
    }
  ],
  "skills": [
    {
      "name": "creative-writing",
      "proficiency": "expert"
    }
  ],
  "version": "2.0.0",
  "provider": {
    "name": "RANCH Multi-Agent Framework",
    "url": "https://github.com/example/ranch"
  }
}`

const downToml = `
[[agents]]
id = "orchestrator"
name = "Story Orchestrator"
endpoint = "http://127.0.0.1:1/rpc"
protocol = "a2a"
capabilities = ["world-building", "character-development", "plot-generation"]
max_retries = 0

[[agents]]
id = "composer"
name = "Story Composer"
endpoint = "http://127.0.0.1:1/rpc"
protocol = "a2a"
capabilities = ["prose-writing"]
max_retries = 0
`

async function cardOf(config: Config): Promise<unknown> {
  const deps = { directory: dirname(file) }
  const { url } = await serve(await createTeamFromConfig(config, 'fantasy-writing-team', deps))
  return rpc(`${url}/rpc`, { method: 'agent/card', params: {} })
}

describe('AT-6: agent/card of the fantasy story writing team', () => {
  test('loaded from TOML it is the card of 004', async () => {
    const answer = await cardOf(await loadConfig(file, {}))
    expect(JSON.stringify(answer)).toBe(
      `{"jsonrpc":"2.0","result":${JSON.stringify(JSON.parse(card))},"id":1}`,
    )
  })

  test('it is the same while all members are down', async () => {
    const { teams, ...rest } = await loadConfig(file, {})
    const { agents } = parseConfig(downToml)
    const team = teams.find(({ id }) => id === 'fantasy-writing-team')
    if (!team) throw new Error('The example has no fantasy team')
    const scheduler = {
      type: 'workflow',
      steps: agents.map(({ id }) => ({ agentId: id })),
    } as const
    const members = agents.map(({ id }) => ({ agentId: id }))
    const answer = await cardOf({
      ...rest,
      agents,
      teams: [{ ...team, agents: members, scheduler }],
    })
    expect(answer).toEqual({ jsonrpc: '2.0', result: JSON.parse(card), id: 1 })
  })
})
