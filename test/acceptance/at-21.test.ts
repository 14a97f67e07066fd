import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadConfig, parseConfig } from '../../src/app/config/load.ts'
import { createRoster, createTeamFromConfig } from '../../src/app/roster.ts'
import { openModelServer } from '../../src/testing/index.ts'
import { member, untilCancelled } from '../fixtures/members.ts'
import { post, rpc, serve } from './serve.ts'
import { serveTeam } from './team.ts'

const examples = join(import.meta.dirname, '../../examples')

/** The origin's fantasy_story_config.toml, with other addresses and shorter prompts. */
const fantasy = (models: string, advisor: string) => `
[[agents]]
id = "orchestrator"
name = "Story Orchestrator"
endpoint = "${models}"
protocol = "openai"
capabilities = ["story_planning", "creative_direction", "coordination", "world_building"]
timeout_seconds = 45
max_retries = 3

[agents.metadata]
model = "gpt-4"
temperature = "0.8"
max_tokens = "1500"
system_prompt = "You plan stories."

[[agents]]
id = "composer"
name = "Story Composer"
endpoint = "${models}"
protocol = "openai"
capabilities = ["prose_writing", "scene_composition", "descriptive_language", "dialogue"]
timeout_seconds = 60
max_retries = 3

[agents.metadata]
model = "gpt-4"
temperature = "0.9"
max_tokens = "2000"
system_prompt = "You write scenes."

[[agents]]
id = "advisor"
name = "Story Advisor"
endpoint = "${advisor}"
protocol = "a2a"
capabilities = ["story_review", "editing_suggestions"]
timeout_seconds = 30
max_retries = 2

[agents.metadata]
model = "claude-3"
temperature = "0.6"
max_tokens = "1000"
system_prompt = "You review stories."

[[teams]]
id = "fantasy-story-team"
name = "Fantasy Story Writing Team"
description = "A team that writes fantasy stories"
mode = "workflow"

[teams.scheduler_config]
type = "workflow"

[[teams.scheduler_config.steps]]
agent_id = "orchestrator"
order = 1
condition = ""  # Always execute first

[[teams.scheduler_config.steps]]
agent_id = "composer"
order = 2
condition = ""

[[teams.scheduler_config.steps]]
agent_id = "advisor"
order = 3
condition = ""

[[teams.agents]]
agent_id = "orchestrator"
role = "story_planner"
capabilities = ["story_planning", "creative_direction"]

[[teams.agents]]
agent_id = "composer"
role = "prose_writer"
capabilities = ["prose_writing", "scene_composition"]

[[teams.agents]]
agent_id = "advisor"
role = "editor"
capabilities = ["story_review", "editing_suggestions"]
`

const send = (text: string) => ({
  method: 'message/send',
  params: { message: { role: 'user', parts: [{ type: 'text', text }] } },
})

async function serveFile(path: string): Promise<string> {
  const file = join(examples, path)
  const roster = await createRoster(await loadConfig(file, {}), { directory: dirname(file) })
  onTestFinished(() => roster.close())
  return (await serve({ agents: roster.agents })).url
}

describe('AT-21: the files of the origin', () => {
  test('its fantasy story team: two models plan and write, an A2A agent reviews', async () => {
    const models = await openModelServer((body) => {
      const [system, ...rest] = body.messages
      const asked = String(rest.at(-1)?.content)
      return String(system?.content).includes('plan') ? `plan(${asked})` : `prose(${asked})`
    })
    onTestFinished(() => models.close())
    const advisor = await serveTeam((text) => `advised(${text})`)
    const environment = { OPENAI_API_KEY: 'key' }
    const config = parseConfig(fantasy(models.url, advisor), { env: environment })
    const deps = { directory: '.', environment }
    const team = await createTeamFromConfig(config, 'fantasy-story-team', deps)
    onTestFinished(() => team.manager.close())
    const { url } = await serve(team)
    const { result } = await rpc(`${url}/rpc`, send('dragons'))
    expect(result.message.parts[0].text).toBe('advised(prose(plan(dragons)))')
    expect(models.requests.map(({ temperature, max_tokens }) => [temperature, max_tokens])).toEqual(
      [
        [0.8, 1500],
        [0.9, 2000],
      ],
    )
    expect(models.headers[0]?.authorization).toBe('Bearer key')
  })

  test('its config.example.toml: two teams of the same two agents', async () => {
    const env = { OPENAI_API_KEY: 'key', REVIEWER_TOKEN: 'token' }
    const { teams } = await loadConfig(join(examples, 'seeds/config.example.toml'), env)
    expect(teams.slice(0, 2).map(({ id, name }) => [id, name])).toEqual([
      ['team1', 'Development Team'],
      ['team2', 'Analysis Pipeline'],
    ])
    expect(teams[0]?.scheduler).toEqual({ type: 'supervisor', supervisorAgentId: 'agent1' })
  })
})

describe('AT-21: the examples of the origin', () => {
  test('the supervisor hands over to the coding specialist', async () => {
    const url = await serveFile('supervisor/corral.toml')
    const question = 'Can you help me implement a new API endpoint?'
    const { result } = await rpc(`${url}/rpc`, send(question))
    expect(result.message.parts[0].text).toBe(
      'I can help you implement that feature with clean, efficient code!',
    )
  })
})

describe('AT-21: the requests of tau2’s contract', () => {
  const heard = `<available_tools>
- search_flights(origin: string, destination: string, date: string)
  Description: Search available flights
</available_tools>

User: I need to book a flight from SFO to JFK on December 15th.
`

  test('a message of bare parts without a context, and the tool’s result in the context', async () => {
    const call = {
      tool_call: {
        name: 'search_flights',
        arguments: { origin: 'SFO', destination: 'JFK', date: '2025-12-15' },
      },
    }
    const agent = member('airline', (text, turn) =>
      text.startsWith('Tool Result') ? turn.reply('AA123 it is.') : turn.reply([{ data: call }]),
    )
    const { url } = await serve(agent)
    const ask = async (text: string, contextId: string | null) =>
      (
        await rpc(url, {
          method: 'message/send',
          params: { message: { messageId: 'msg-1', role: 'user', parts: [{ text }], contextId } },
        })
      ).result
    const first = await ask(heard, null)
    expect(first).toMatchObject({ role: 'agent', parts: [{ data: call }] })
    expect(first.contextId).toMatch(/.+/)
    const second = await ask('Tool Result (search_flights): Found 5 flights', first.contextId)
    expect(second).toMatchObject({
      contextId: first.contextId,
      parts: [{ text: 'AA123 it is.' }],
    })
    const named = await ask('Tool Result (search_flights): none', 'ctx-abc123')
    expect(named.contextId).toBe('ctx-abc123')
    expect(agent.asked[0]).toBe(heard)
  })
})

describe('AT-21: the requests of the workshop’s contract, in 0.3', () => {
  const call = async (url: string, body: object) =>
    (await post(url, JSON.stringify({ jsonrpc: '2.0', ...body }))).json

  const request = {
    id: 'req-001',
    method: 'message/send',
    params: {
      message: {
        role: 'user',
        parts: [{ kind: 'text', text: 'Research quantum computing applications' }],
        messageId: 'msg-123',
      },
      contextId: 'ctx-456',
    },
  }

  test('req-001: a message in the context beside it', async () => {
    const words = 'Quantum computing has several key applications...'
    const { url } = await serve(member('research', (_text, turn) => turn.reply(words)))
    expect(await call(url, request)).toMatchObject({
      jsonrpc: '2.0',
      id: 'req-001',
      result: { kind: 'message', contextId: 'ctx-456', parts: [{ kind: 'text', text: words }] },
    })
  })

  test('req-002: a completed task, its artifact and its history', async () => {
    const findings = { artifactId: 'art-001', name: 'research_findings', parts: [{ text: '# Q' }] }
    const agent = member('research', async function* (_text, turn) {
      yield turn.artifact(findings)
    })
    const { url } = await serve(agent)
    const { result: sent } = await call(url, request)
    const params = { id: sent.id, historyLength: 10 }
    expect(await call(url, { id: 'req-002', method: 'tasks/get', params })).toMatchObject({
      id: 'req-002',
      result: {
        kind: 'task',
        id: sent.id,
        contextId: 'ctx-456',
        status: { state: 'completed' },
        artifacts: [{ artifactId: 'art-001', name: 'research_findings' }],
        history: [{ role: 'user', messageId: 'msg-123' }],
      },
    })
  })

  test('req-003 and req-004: the working tasks of a context, and the end of one', async () => {
    const agent = member('research', (_text, turn) => untilCancelled(turn))
    const { url } = await serve({ agents: [agent], timeouts: { shutdownMs: 0 } })
    const configuration = { blocking: false }
    const { result: sent } = await call(url, {
      ...request,
      params: { ...request.params, configuration },
    })
    await expect.poll(() => agent.turns.length).toBe(1)
    const params = { contextId: 'ctx-456', status: 'working', pageSize: 10 }
    expect(await call(url, { id: 'req-003', method: 'tasks/list', params })).toMatchObject({
      id: 'req-003',
      result: {
        tasks: [{ id: sent.id, contextId: 'ctx-456', status: { state: 'working' } }],
        totalSize: 1,
        pageSize: 10,
        nextPageToken: '',
      },
    })
    const cancel = { id: 'req-004', method: 'tasks/cancel', params: { id: sent.id } }
    expect(await call(url, cancel)).toMatchObject({
      id: 'req-004',
      result: { kind: 'task', id: sent.id, status: { state: 'canceled' } },
    })
  })
})
