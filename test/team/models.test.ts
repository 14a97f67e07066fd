import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { textOf } from '../../src/protocol/task.ts'
import { usageOf } from '../../src/protocol/usage.ts'
import { defineTeam } from '../../src/team/team.ts'
import { member } from '../fixtures/members.ts'
import { type OpenAIServer, type Script, startOpenAIServer } from '../fixtures/openai-server.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'

const servers: OpenAIServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

async function model(id: string, script: Script) {
  const server = await startOpenAIServer(script)
  servers.push(server)
  const agent = new OpenAIAgent({
    id,
    name: id,
    endpoint: server.url,
    apiKey: 'key',
    model: 'test',
    timeoutSeconds: 10,
    maxRetries: 0,
  })
  return { agent, server }
}

describe('a team with models', () => {
  test('a model that leads delegates by calling tools, and its own words are streamed', async () => {
    const { agent: boss, server } = await model('boss', [
      { tools: [{ name: 'delegate_to_coder', arguments: { message: 'write a loop' } }] },
      { chunks: ['Here ', 'it is.'] },
    ])
    const coder = member('coder')
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { boss, coder },
      scheduler: { type: 'supervisor', supervisorAgentId: 'boss' },
    })
    const turn = createTurn('I need a loop')
    const events = await runTurn(team, turn)
    const task = foldEvents(turn, events)
    expect(textOf(task.artifacts?.[0]?.parts ?? [])).toBe('Here it is.')
    expect(coder.asked).toEqual(['write a loop'])
    const told = server.requests[1]?.messages.find(({ role }) => role === 'tool')
    expect(told?.content).toBe('coder(write a loop)')
    expect(JSON.stringify(server.requests[0])).not.toContain('<team>')
    const last = events.at(-1)
    const metadata =
      typeof last === 'object' && 'statusUpdate' in last ? last.statusUpdate.metadata : {}
    expect(usageOf(metadata)?.inputTokens).toBeGreaterThan(0)
    await boss.close()
  })

  test('R-W12: a model in a workflow sees the answer before it, its tokens are in the trace', async () => {
    const { agent: writer, server } = await model('writer', ['polished'])
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { draft: member('draft'), writer },
      scheduler: { type: 'workflow', steps: [{ agentId: 'draft' }, { agentId: 'writer' }] },
    })
    const turn = createTurn('news')
    await runTurn(team, turn)
    expect(server.requests[0]?.messages.at(-1)).toMatchObject({
      role: 'user',
      content: 'draft(news)',
    })
    const reply = turn.traces.find(({ type, member: who }) => type === 'reply' && who === 'writer')
    expect(reply).toMatchObject({ inputTokens: 11, outputTokens: 7 })
    await writer.close()
  })
})
