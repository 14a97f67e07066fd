import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Turn } from '../../src/agents/agent.ts'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { defineTool, type Tool } from '../../src/agents/tools.ts'
import { toFinishMetadata, toUsageMetadata, usageOf } from '../../src/protocol/extensions.ts'
import { isTerminal, textOf, userMessage } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import { createServer, type Server } from '../../src/server/index.ts'
import { openSqliteStore } from '../../src/store/index.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'
import { type ModelServer, openModelServer } from '../../src/testing/index.ts'
import { member, untilCancelled } from '../fixtures/members.ts'
import { taskOf } from './scene.ts'

let directory = ''
let model: ModelServer

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-'))
  model = await openModelServer([{ tools: [{ name: 'look', arguments: {} }] }])
})

afterEach(async () => {
  await model.close()
  await rm(directory, { recursive: true })
})

/** Each answer of the scripted model, 11 and 7 tokens, costs a cent. */
const prices = { test: { input: 6_500 / 11, output: 3_500 / 7 } }

/** A team in a team whose model calls its tool for ever, until the limit of the outer one. */
function makeTeam(execute: Tool['execute']): Team {
  const look = { name: 'look', description: 'Looks.', parameters: { type: 'object' } }
  const tools = [defineTool({ ...look, execute })]
  const m = new OpenAIAgent({
    ...{ id: 'm', name: 'm', endpoint: model.url, apiKey: 'key', model: 'test', tools },
    ...{ maxToolRounds: 50, maxRetries: 0, timeoutSeconds: 10 },
  })
  const inner = defineTeam({
    ...{ id: 'inner', name: 'Inner', agents: { m } },
    scheduler: { type: 'workflow', steps: [{ agentId: 'm' }] },
  })
  return defineTeam({
    ...{ id: 'outer', name: 'Outer', agents: { inner }, prices },
    scheduler: {
      type: 'workflow',
      steps: [{ approval: { question: 'Go on?' } }, { agentId: 'inner' }],
    },
    budget: { maxCostUsd: 0.06 },
  })
}

async function open(team: Team): Promise<Server & { shut(): Promise<void> }> {
  const store = await openSqliteStore(join(directory, 'tasks.db'))
  const server = await createServer({
    ...{ agents: [team], store, logger: false },
    timeouts: { shutdownMs: 0 },
  })
  return {
    ...server,
    async shut() {
      await server.close()
      await store.close()
    },
  }
}

async function ended(server: Server, id: string): Promise<Task> {
  const read = () => server.dispatch()('GetTask', { id }, {})
  await expect.poll(async () => isTerminal((await read()).status.state)).toBe(true)
  return read()
}

test('a limit in money holds over stops and restarts in the middle of a model’s tools', async () => {
  let calls = 0
  let tell: () => void = () => {}
  // Every second call does not end by itself, and the process is stopped there.
  const execute: Tool['execute'] = (_, { signal }) => {
    if (++calls % 2 === 1) return 'found'
    tell()
    return new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
  }
  const untilStuck = () =>
    new Promise<void>((resolve) => {
      tell = resolve
    })

  let server = await open(makeTeam(execute))
  const { id } = taskOf(await server.dispatch()('SendMessage', { message: userMessage('x') }, {}))
  await server.shut()

  server = await open(makeTeam(execute))
  let waiting = untilStuck()
  const message = { ...userMessage('yes'), taskId: id }
  const configuration = { returnImmediately: true }
  await server.dispatch()('SendMessage', { message, configuration }, {})
  for (let stop = 0; stop < 3; stop++) {
    await waiting
    await server.shut()
    waiting = untilStuck()
    server = await open(makeTeam(stop < 2 ? execute : () => 'found'))
    await server.recover()
  }
  const { status } = await ended(server, id)
  expect(textOf(status.message?.parts ?? [])).toContain('budget of 0.06 USD: 0.06 are spent')
  expect(model.requests).toHaveLength(6)
  await server.shut()
})

test.each([
  ['in the turn that began it', false],
  ['in the turn after a question', true],
])('a try that failed before a stop counts beside the one that answers, %s', async (_, asks) => {
  const said: string[] = []
  let isStuck: () => void = () => {}
  const stuck = new Promise<void>((resolve) => {
    isStuck = resolve
  })
  /** Reports, like a remote agent, the sum since it was first asked: 5 tokens for the question, 10 for the answer. */
  const reporting = (turn: Turn, tokens: number, reason?: 'length') => ({
    ...turn.reply(asks && turn.number === 1 ? 'Which?' : 'done'),
    metadata: {
      ...toUsageMetadata({
        inputTokens: asks && turn.number > 1 ? 5 + tokens : tokens,
        outputTokens: 0,
      }),
      ...toFinishMetadata(reason),
    },
  })
  const team = () => {
    const first = member('first', (_, turn) => {
      if (asks && turn.number === 1) {
        const status = { state: 'TASK_STATE_INPUT_REQUIRED', message: reporting(turn, 5) } as const
        return (async function* () {
          yield { statusUpdate: { status } }
        })()
      }
      said.push('first')
      return reporting(turn, 10, said.length === 1 ? 'length' : undefined)
    })
    const other = member('other', (_, turn) => {
      said.push('other')
      isStuck()
      return untilCancelled(turn)
    })
    const steps = [
      { agentId: 'first', failOn: ['length'], fallbackAgentId: 'other' },
      { agentId: 'last' },
    ] as const
    return defineTeam({
      ...{ id: 'team', name: 'Team', agents: { first, other, last: member('last') } },
      scheduler: { type: 'workflow', steps },
    })
  }
  let server = await open(team())
  const configuration = { returnImmediately: !asks }
  const send = (text: string, taskId?: string) =>
    server.dispatch()(
      'SendMessage',
      { message: { ...userMessage(text), ...(taskId && { taskId }) }, configuration },
      {},
    )
  const { id } = taskOf(await send('x'))
  const answered = asks ? send('this one', id).catch(() => {}) : undefined
  await stuck
  await server.shut()
  await answered
  server = await open(team())
  await server.recover()
  const task = await ended(server, id)
  expect(said).toEqual(['first', 'other', 'first'])
  expect(usageOf(task.artifacts?.at(-1)?.metadata)).toMatchObject({ inputTokens: asks ? 25 : 20 })
  await server.shut()
})
