import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { finishOf, usageOf } from '../../src/protocol/extensions.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { AgentStep, Step } from '../../src/team/config.ts'
import { defineTeam } from '../../src/team/team.ts'
import { type ModelScript, type ModelServer, openModelServer } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'

const servers: ModelServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

async function model(id: string, script: ModelScript) {
  const server = await openModelServer(script)
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
    expect(usageOf(metadata)).toMatchObject({ inputTokens: 22, outputTokens: 14 })
    expect(turn.traces.filter(({ type }) => type === 'decision')).toEqual([
      { type: 'decision', team: 'team', member: 'boss', recipients: ['coder'] },
    ])
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

  test('the artifact of its answer tells what all members used, whoever answers last', async () => {
    const { agent: draft } = await model('draft', ['a draft'])
    const { agent: writer } = await model('writer', [{ chunks: ['pol', 'ished'] }])
    const usedBy = async (agents: Parameters<typeof defineTeam>[0]['agents'], steps: Step[]) => {
      const scheduler = { type: 'workflow', steps } as const
      const turn = createTurn('news')
      const team = defineTeam({ id: 'team', name: 'Team', agents, scheduler })
      const [artifact] = foldEvents(turn, await runTurn(team, turn)).artifacts ?? []
      return usageOf(artifact?.metadata)
    }
    const both = { inputTokens: 22, outputTokens: 14 }
    const [first, second] = [{ agentId: 'draft' }, { agentId: 'writer' }]
    expect(await usedBy({ draft, writer }, [first, second])).toMatchObject(both)
    expect(await usedBy({ draft, writer }, [{ parallel: [first, second] }])).toMatchObject(both)
    const plain = member('plain')
    const last = { agentId: 'plain' }
    expect(await usedBy({ draft, writer, plain }, [first, second, last])).toMatchObject(both)
    await Promise.all([draft.close(), writer.close()])
  })
})

describe('an answer that is not whole', () => {
  const half = { chunks: ['Half'], finish: 'length' }

  async function run(script: ModelScript, step: Partial<AgentStep<'writer' | 'other'>>) {
    const { agent: writer, server } = await model('writer', script)
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { writer, other: member('other') },
      scheduler: { type: 'workflow', steps: [{ agentId: 'writer', ...step }] },
    })
    const turn = createTurn('news')
    const events = runTurn(team, turn).finally(() => writer.close())
    return { server, answer: events.then((list) => foldEvents(turn, list).artifacts?.[0]) }
  }

  test('is the answer of the step, and says so', async () => {
    const { answer } = await run([half], {})
    expect(textOf((await answer)?.parts ?? [])).toBe('Half')
    expect(finishOf((await answer)?.metadata)).toBe('length')
  })

  test('fails a step that wants a whole one: it is asked for again, then the fallback answers', async () => {
    const failOn = ['length'] as const
    const again = await run([half, 'Whole'], { failOn, maxRetries: 1 })
    expect(textOf((await again.answer)?.parts ?? [])).toBe('Whole')
    const other = await run([half], { failOn, fallbackAgentId: 'other' })
    expect(textOf((await other.answer)?.parts ?? [])).toBe('other(news)')
    const filtered = { chunks: ['Half'], finish: 'content_filter' }
    const { answer } = await run([filtered], { failOn: ['content_filter'] })
    await expect(answer).rejects.toMatchObject({ code: 'processingError' })
  })

  test.each([
    ['a spent quota', { error: 'quota' }, { code: 'insufficientQuota' }],
    [
      'a conversation that is too long',
      { error: 'context_length' },
      { code: 'contextLengthExceeded' },
    ],
    ['a refusal', { refusal: 'Not this.' }, { name: 'ModelRefusal', message: 'Not this.' }],
  ] as const)('%s is not tried again, and reaches the caller', async (_, said, error) => {
    const { answer, server } = await run([said], { maxRetries: 2 })
    await expect(answer).rejects.toMatchObject(error)
    expect(server.requests).toHaveLength(1)
  })
})
