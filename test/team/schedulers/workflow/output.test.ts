import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../../../src/agents/agent.ts'
import { defineAgent } from '../../../../src/agents/function.ts'
import { OpenAIAgent } from '../../../../src/agents/openai/agent.ts'
import { usageOf } from '../../../../src/protocol/extensions.ts'
import { textOf, userMessage } from '../../../../src/protocol/task.ts'
import type { Json } from '../../../../src/protocol/types.ts'
import { createServer } from '../../../../src/server/index.ts'
import type { Step } from '../../../../src/team/config.ts'
import { defineTeam, type Team } from '../../../../src/team/team.ts'
import {
  createInstantClock,
  type ModelScript,
  type ModelServer,
  openModelServer,
  runTeam,
  scripted,
} from '../../../../src/testing/index.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const Review = z.object({ score: z.number().max(1) })
const fits = '{"score": 1}'
const data = [{ data: { score: 1 }, mediaType: 'application/json' }]

function team(agents: Readonly<Record<string, Agent>>, steps: readonly Step[]): Team {
  const scheduler = { type: 'workflow', steps } as const
  return defineTeam({ id: 't', name: 'T', agents, scheduler, clock: createInstantClock() })
}

async function model(script: ModelScript): Promise<{ agent: Agent; service: ModelServer }> {
  const service = await openModelServer(script)
  const agent = new OpenAIAgent({
    id: 'judge',
    name: 'Judge',
    endpoint: service.url,
    apiKey: 'k',
    model: 'm',
  })
  closing.push(service.close, () => agent.close())
  return { agent, service }
}

describe('a step with an output schema', () => {
  test('asks a model by response_format; its answer is data for later steps', async () => {
    const { agent: judge, service } = await model(['no', fits])
    const seen: Json[] = []
    const writer = defineAgent({ name: 'W' }, (message) => {
      for (const part of message.parts) if ('data' in part) seen.push(part.data)
      return 'written'
    })
    const steps: Step[] = [
      { name: 'review', agentId: 'judge', outputSchema: Review },
      { agentId: 'writer', when: 'steps.review.data.score == 1' },
    ]
    const { text, trace } = await runTeam(team({ judge, writer }, steps), 'judge this')
    expect(text).toBe('written')
    expect(seen).toEqual([{ score: 1 }])
    expect(service.requests.every((request) => request.response_format)).toBe(true)
    expect(trace.filter(({ type }) => type === 'output')).toMatchObject([{ try: 1 }])
    expect(trace.find(({ type }) => type === 'reply')).toMatchObject({ inputTokens: 22 })
  })

  test('tells nothing of the last answer before it fits', async () => {
    const { agent: judge } = await model([{ chunks: ['n', 'o'] }, { chunks: ['{"score":', ' 1}'] }])
    const { events, task } = await runTeam(
      team({ judge }, [{ agentId: 'judge', outputSchema: Review }]),
      'judge this',
    )
    const chunks = events.flatMap((event) =>
      'artifactUpdate' in event ? event.artifactUpdate.artifact.parts : [],
    )
    expect(chunks).toEqual(data)
    expect(task.artifacts).toMatchObject([{ artifactId: 'response', parts: data }])
    expect(usageOf(task.artifacts?.[0]?.metadata)).toMatchObject({ inputTokens: 22 })
  })

  test('begins anew where the step is tried again, and checks its fallback too', async () => {
    const judge = scripted(['no', 'no', fits])
    const again = { agentId: 'judge', outputSchema: Review, maxOutputRetries: 1, maxRetries: 1 }
    const first = await runTeam(team({ judge }, [again]), 'judge', { logger: false })
    expect(first.task.artifacts).toMatchObject([{ parts: data }])
    const asked = judge.asked.map((text) => text.includes('You have answered'))
    expect(asked).toEqual([false, true, false])

    const [bad, other] = [scripted(['no']), scripted(['no', fits])]
    const steps = [{ agentId: 'bad', outputSchema: Review, fallbackAgentId: 'other' }]
    const second = await runTeam(team({ bad, other }, steps), 'judge', { logger: false })
    expect(second.task.artifacts).toMatchObject([{ parts: data }])
    expect([bad.asked.length, other.asked.length]).toEqual([3, 2])
  })

  test('lets a member ask the user in a later try, and goes on in that one', async () => {
    const seen: string[] = []
    const judge = defineAgent({ name: 'Judge' }, async function* (message, turn) {
      seen.push(textOf(message.parts).slice(0, 5))
      if (seen.length === 1) yield 'no'
      else if (seen.length === 2) {
        await turn.save('half', 1)
        yield turn.ask('Which?')
      } else yield `{"score": ${turn.load('half')}}`
    })
    const steps = [{ agentId: 'judge', outputSchema: Review }]
    const options = { answers: ['blue'] }
    const { task, questions } = await runTeam(team({ judge }, steps), 'judge', options)
    expect(questions).toEqual(['Which?'])
    expect(seen).toEqual(['judge', 'judge', 'blue'])
    expect(task.artifacts?.at(-1)?.parts).toEqual(data)
  })

  test('says in the failure what did not fit', async () => {
    const steps = [{ agentId: 'judge', outputSchema: Review, maxOutputRetries: 0 }]
    const run = await runTeam(team({ judge: scripted(['{"score": 2}']) }, steps), 'judge', {
      logger: false,
    })
    expect(run.state).toBe('TASK_STATE_FAILED')
    const failures = run.trace.filter(({ type }) => type === 'failure' || type === 'output')
    expect(failures).toMatchObject([
      { type: 'output', try: 1, fault: expect.stringContaining('the answer.score') },
      { type: 'failure', reason: 'invalidAgentResponse' },
    ])
  })
})

test('a cancel reaches a member that waits in a later try of its step', async () => {
  const told: unknown[] = []
  const asker: Agent = {
    ...defineAgent({ name: 'Asker' }, async function* (message, turn) {
      if (!textOf(message.parts).includes('You have answered')) yield 'no'
      else {
        await turn.save('job', 7)
        yield turn.ask('Which?')
      }
    }),
    cancel: async (task) => void told.push(task.load('job')),
  }
  const waiting = team({ asker }, [{ agentId: 'asker', outputSchema: Review }])
  const server = await createServer({ agents: [waiting], logger: false })
  closing.push(() => server.close())
  const answer = await server.dispatch()('SendMessage', { message: userMessage('go') }, {})
  const id = 'task' in answer ? answer.task.id : ''
  await server.dispatch()('CancelTask', { id }, {})
  expect(told).toEqual([undefined, 7])
})
