import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Agent, AgentEvent, Turn } from '../../src/agents/agent.ts'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../src/agents/openai/agent.ts'
import { withOutputSchema } from '../../src/agents/output/with-schema.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { toDataSchema } from '../../src/agents/schema.ts'
import { asTool, defineTool } from '../../src/agents/tools.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import {
  toFinishMetadata,
  toUsageMetadata,
  type Usage,
  usageOf,
} from '../../src/protocol/extensions.ts'
import type { Json } from '../../src/protocol/types.ts'
import { runServer } from '../../src/server/node/run.ts'
import { createServer } from '../../src/server/server.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { silent } from '../../src/shared/log.ts'
import type { BudgetConfig, Step } from '../../src/team/config.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'
import {
  createInstantClock,
  type ModelScript,
  type ModelServer,
  openModelServer,
  runTeam,
} from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'

const opened: { close(): Promise<unknown> }[] = []

afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close()
})

/** Each answer of a scripted model uses 11 and 7 tokens: at these prices it costs 0.01 dollars. */
const prices = { test: { input: 6_500 / 11, output: 3_500 / 7 } }

const tool = defineTool({
  name: 'look',
  description: 'Looks something up.',
  parameters: { type: 'object' },
  execute: () => 'found',
})

const calling = { tools: [{ name: 'look', arguments: {} }] }

/** Calls its tool for ever. */
const restless = [calling]

interface Model {
  readonly agent: OpenAIAgent
  readonly server: ModelServer
}

async function model(
  id: string,
  script: ModelScript,
  more: Partial<OpenAIAgentOptions> = {},
): Promise<Model> {
  const server = await openModelServer(script)
  const agent = new OpenAIAgent({
    ...{ id, name: id, endpoint: server.url, apiKey: 'key', model: 'test' },
    ...{ timeoutSeconds: 10, maxRetries: 0, maxToolRounds: 50, tools: [tool] },
    ...more,
  })
  opened.push(server, agent)
  return { agent, server }
}

interface Setup {
  readonly id?: string
  readonly budget?: BudgetConfig
}

function workflow(agents: Record<string, Agent>, steps: readonly Step[], setup: Setup = {}): Team {
  const { id = 'team', budget } = setup
  return defineTeam({
    ...{ id, name: id, agents, prices, clock: createInstantClock() },
    scheduler: { type: 'workflow', steps },
    ...(budget && { budget }),
  })
}

/** A member that says what each of its answers used. */
function costly(id: string, usage: Partial<Usage>) {
  return member(id, (text, turn: Turn) => ({
    ...turn.reply(`${id}(${text})`),
    metadata: toUsageMetadata({ inputTokens: 0, outputTokens: 0, ...usage }),
  }))
}

function usageOfTask(task: { readonly artifacts?: readonly object[] }): Usage | undefined {
  const [artifact] = task.artifacts ?? []
  return usageOf(Object(artifact).metadata)
}

/** What the last status of a run says that it used. */
function usageAtEnd(events: readonly AgentEvent[]): Usage | undefined {
  const last = events.at(-1)
  const isStatus = typeof last === 'object' && 'statusUpdate' in last
  return isStatus ? usageOf(last.statusUpdate.metadata) : undefined
}

describe('what a run costs', () => {
  test('is told with its answer, per hop, and per round of a model', async () => {
    const { agent: first } = await model('first', [...restless, 'a draft'])
    const { agent: second } = await model('second', ['done'])
    const team = workflow({ first, second }, [{ agentId: 'first' }, { agentId: 'second' }])
    const { task, trace } = await runTeam(team, 'news')
    expect(usageOfTask(task)).toMatchObject({ inputTokens: 33, outputTokens: 21, costUsd: 0.03 })
    const costs = (type: string) =>
      trace.filter((entry) => entry.type === type).map(({ costUsd }) => costUsd)
    expect(costs('reply')).toEqual([0.02, 0.01])
    expect(costs('model')).toEqual([0.01, 0.01, 0.01])
  })

  test('is what a remote member says it cost, else its tokens by the price of its model', async () => {
    const dear = costly('dear', { inputTokens: 5, costUsd: 0.4 })
    const priced = costly('priced', { inputTokens: 22, model: 'test-2026-01-31' })
    const unknown = costly('unknown', { inputTokens: 22, model: 'test-mini' })
    const remotes: Record<string, Agent> = {}
    for (const [id, agent] of Object.entries({ dear, priced, unknown })) {
      const server = await createServer({ agents: [agent], logger: false })
      const { url } = await runServer(server, { port: 0, host: '127.0.0.1', logger: false })
      remotes[id] = new A2AAgent({ id, name: id, endpoint: url })
      opened.push(server, remotes[id] as A2AAgent) // it was just made
    }
    const steps = Object.keys(remotes).map((agentId) => ({ agentId }))
    const { task, trace } = await runTeam(workflow(remotes, steps), 'x')
    expect(usageOfTask(task)).toMatchObject({ inputTokens: 49, costUsd: 0.413 })
    const costs = trace.filter(({ type }) => type === 'reply').map(({ costUsd }) => costUsd)
    expect(costs).toEqual([0.4, 0.013, undefined])
  })

  test('has what each try reported, where the first is tried again', async () => {
    const reports = (text: string, turn: Turn) => ({
      ...turn.reply(text),
      metadata: {
        ...toUsageMetadata({ ...none, inputTokens: 10 }),
        ...toFinishMetadata(said.push(text) === 1 ? 'length' : undefined),
      },
    })
    const said: string[] = []
    const step = { agentId: 'm', failOn: ['length'], maxRetries: 1 } as const
    const team = workflow({ m: member('m', reports) }, [step])
    const events = await runTurn(team, createTurn('x'))
    expect(said).toHaveLength(2)
    expect(usageAtEnd(events)).toMatchObject({ inputTokens: 20 })
    const shown = events.flatMap((event) =>
      typeof event === 'object' && 'artifactUpdate' in event
        ? [usageOf(event.artifactUpdate.artifact.metadata)?.inputTokens]
        : [],
    )
    expect(shown).toEqual([10, 20])
  })

  describe('by the metadata of an answer', () => {
    const used = (inputTokens: number) => toUsageMetadata({ ...none, inputTokens })
    const parts = [{ text: 'done' }]
    const said = (turn: Turn, tokens: number) => ({ ...turn.reply('done'), metadata: used(tokens) })
    const done = 'TASK_STATE_COMPLETED'

    test.each<readonly [string, (turn: Turn) => readonly AgentEvent[], number]>([
      [
        'a status says more than its message',
        (turn) => [
          { statusUpdate: { status: { state: done, message: said(turn, 1) }, metadata: used(2) } },
        ],
        2,
      ],
      [
        'a message of a status counts',
        (turn) => [{ statusUpdate: { status: { state: done, message: said(turn, 3) } } }],
        3,
      ],
      [
        'a chunk says more than its artifact',
        () => [
          {
            artifactUpdate: {
              artifact: { artifactId: 'a', parts, metadata: used(1) },
              metadata: used(2),
            },
          },
        ],
        2,
      ],
      [
        'of the artifacts of a task the last one counts',
        (turn) => [
          {
            task: {
              ...{ id: turn.taskId, contextId: turn.contextId, status: { state: done } },
              artifacts: [
                { artifactId: 'a', parts, metadata: used(1) },
                { artifactId: 'b', parts, metadata: used(2) },
              ],
            },
          },
        ],
        2,
      ],
      [
        'a task says more than its status, and that more than its artifact',
        (turn) => [
          {
            task: {
              ...{ id: turn.taskId, contextId: turn.contextId, metadata: used(3) },
              status: { state: done, message: said(turn, 2) },
              artifacts: [{ artifactId: 'a', parts, metadata: used(1) }],
            },
          },
        ],
        3,
      ],
      [
        'what comes later counts',
        (turn) => [
          { statusUpdate: { status: { state: 'TASK_STATE_WORKING', message: said(turn, 1) } } },
          { statusUpdate: { status: { state: done, message: said(turn, 2) } } },
        ],
        2,
      ],
    ])('%s', async (_what, make, tokens) => {
      const teller = member('teller', async function* (_text, turn) {
        yield* make(turn)
      })
      const team = workflow({ teller, last: member('last') }, [
        { agentId: 'teller' },
        { agentId: 'last' },
      ])
      expect(usageAtEnd(await runTurn(team, createTurn('x')))).toMatchObject({
        inputTokens: tokens,
      })
    })
  })

  test('has what failed tries cost', async () => {
    const { agent } = await model('m', (_, count) => (count === 1 ? { chunks: [] } : 'an answer'))
    const team = workflow({ m: agent }, [{ agentId: 'm', maxRetries: 1 }])
    const { task } = await runTeam(team, 'x')
    expect(usageOfTask(task)).toMatchObject({ inputTokens: 22, costUsd: 0.02 })
  })
})

describe('a limit in money', () => {
  test('stops a run before the next member, and says what was spent and what to change', async () => {
    const { agent: a } = await model('a', ['one'])
    const { agent: b, server } = await model('b', ['two'])
    const budget = { maxCostUsd: 0.005 }
    const team = workflow({ a, b }, [{ agentId: 'a' }, { agentId: 'b' }], { budget })
    const { state, text } = await runTeam(team, 'x', { logger: false })
    expect(state).toBe('TASK_STATE_FAILED')
    expect(text).toBe(
      'The team has used up its budget of 0.005 USD: 0.01 are spent; raise max_cost_usd in its budget',
    )
    expect(server.requests).toHaveLength(0)
  })

  test('stops a model between two rounds of its tools', async () => {
    const { agent, server } = await model('m', restless)
    const team = workflow({ m: agent }, [{ agentId: 'm', maxRetries: 3 }], {
      budget: { maxCostUsd: 0.035 },
    })
    const { text } = await runTeam(team, 'x', { logger: false })
    expect(text).toContain('budget of 0.035 USD: 0.04 are spent')
    expect(server.requests).toHaveLength(4)
  })

  test('holds inside nested teams, whatever those would do about a failure', async () => {
    const { agent, server } = await model('m', restless)
    const spare = member('spare')
    const call = { agentId: 'm', maxRetries: 2, fallbackAgentId: 'spare' }
    const inner = workflow({ m: agent, spare }, [call], { id: 'inner' })
    const step = { agentId: 'inner', maxRetries: 2, fallbackAgentId: 'spare' }
    const outer = workflow({ inner, spare }, [step], { budget: { maxCostUsd: 0.02 } })
    const { text } = await runTeam(outer, 'x', { logger: false })
    expect(text).toContain('budget of 0.02 USD: 0.02 are spent')
    expect(server.requests).toHaveLength(2)
    expect(spare.asked).toEqual([])
  })

  test('of a nested team is a failure of that member alone', async () => {
    const { agent, server } = await model('m', restless)
    const inner = workflow({ m: agent }, [{ agentId: 'm' }], {
      id: 'inner',
      budget: { maxCostUsd: 0.02 },
    })
    const spare = member('spare')
    const step = { agentId: 'inner', fallbackAgentId: 'spare' }
    const { text, task } = await runTeam(workflow({ inner, spare }, [step]), 'x', { logger: false })
    expect(text).toBe('spare(x)')
    expect(server.requests).toHaveLength(2)
    expect(usageOfTask(task)).toMatchObject({ costUsd: 0.02 })
  })

  test('holds for members at once: those that run may end, none begins', async () => {
    const { agent, server } = await model('m', restless)
    const parallel = ['a', 'b', 'c'].map(() => ({ agentId: 'm' }))
    const team = workflow({ m: agent }, [{ parallel }], { budget: { maxCostUsd: 0.05 } })
    const { state } = await runTeam(team, 'x', { logger: false })
    expect(state).toBe('TASK_STATE_FAILED')
    expect(server.requests.length).toBeGreaterThanOrEqual(5)
    expect(server.requests.length).toBeLessThanOrEqual(7)
  })

  test('of a team without prices goes by those of the team around it', async () => {
    const m = costly('m', { model: 'test', inputTokens: 1_000_000 })
    const steps = [{ agentId: 'm' }, { agentId: 'm' }] as const
    const inner = defineTeam({
      ...{ id: 'inner', name: 'inner', agents: { m }, budget: { maxCostUsd: 1 } },
      scheduler: { type: 'workflow', steps },
    })
    const outer = workflow({ inner }, [{ agentId: 'inner' }])
    await expect(runTurn(outer, createTurn('x'))).rejects.toMatchObject({ code: 'processingError' })
    expect(m.asked).toHaveLength(1)
  })

  test('is kept over questions to the user, and counts nothing twice', async () => {
    const { agent: boss, server } = await model('boss', (_, count) =>
      count < 3
        ? { tools: [{ name: 'delegate_to_painter', arguments: { message: `wall ${count}` } }] }
        : 'painted',
    )
    const painter = member('painter', (text, turn: Turn) =>
      turn.task ? `painted ${text}` : ask(turn, 'Which colour?'),
    )
    const lead = (maxCostUsd: number): Team =>
      defineTeam({
        ...{ id: 'team', name: 'Team', agents: { boss, painter }, prices },
        scheduler: { type: 'supervisor', supervisorAgentId: 'boss' },
        budget: { maxCostUsd },
      })
    const { task } = await runTeam(lead(0.025), 'x', { answers: ['red', 'blue'] })
    expect(usageOfTask(task)).toMatchObject({ inputTokens: 33, costUsd: 0.03 })
    expect(server.requests).toHaveLength(3)
  })

  test('counts each of several members that wait for the user at once by itself', async () => {
    const asking = defineTool({ ...tool, approval: true })
    const script: ModelScript = ({ messages }) =>
      messages.filter(({ role }) => role === 'tool').length < 3 ? calling : 'found'
    const { agent: a, server } = await model('a', script, { tools: [asking] })
    const { agent: b, server: other } = await model('b', script, { tools: [asking] })
    const team = defineTeam({
      ...{ id: 'team', name: 'Team', agents: { a, b }, prices },
      scheduler: { type: 'workflow', steps: [{ parallel: [{ agentId: 'a' }, { agentId: 'b' }] }] },
      budget: { maxCostUsd: 0.085 },
    })
    const { task } = await runTeam(team, 'x', { answers: Array.from({ length: 6 }, () => 'yes') })
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(server.requests.length + other.requests.length).toBe(8)
    expect(usageOfTask(task)).toMatchObject({ inputTokens: 8 * 11, costUsd: 0.08 })
  })

  test('stops a member whose answers do not fit their schema from being asked again', async () => {
    const wordy = costly('wordy', { costUsd: 0.2 })
    const schema = toDataSchema(z.object({ score: z.number() }), { at: 'outputSchema' })
    const fitting = withOutputSchema(wordy, schema, { maxOutputRetries: 9 })
    const team = workflow({ fitting }, [{ agentId: 'fitting' }], { budget: { maxCostUsd: 0.3 } })
    const { text } = await runTeam(team, 'x', { logger: false })
    expect(text).toContain('budget of 0.3 USD: 0.4 are spent')
    expect(wordy.asked).toHaveLength(2)
  })

  test('counts agents that are tools of a model, over a crash too', async () => {
    const { agent: inner } = await model('inner', ['found'])
    const { agent, server } = await model(
      'm',
      [{ tools: [{ name: 'inner', arguments: { message: 'x' } }] }],
      {
        tools: [await asTool(inner)],
      },
    )
    const team = workflow({ m: agent }, [{ agentId: 'm' }], { budget: { maxCostUsd: 0.05 } })
    const [saved, steps] = [new Map(), new Map()]
    // The process dies when the third round of the model has been kept.
    const first = createTurn('x', { saved, steps })
    const dying = {
      ...first,
      async save(key: string, value: Json) {
        await first.save(key, value)
        if (server.requests.length === 3) throw new Error('dead')
      },
    }
    await expect(runTurn(team, dying)).rejects.toThrow()
    await expect(runTurn(team, createTurn('x', { saved, steps }))).rejects.toThrow(
      'budget of 0.05 USD: 0.05 are spent',
    )
    expect(server.requests).toHaveLength(3)
  })

  test('warns of a model without a price once, and counts it as nothing', async () => {
    const { agent } = await model('m', ['an answer'], { model: 'test-mini' })
    const team = workflow({ m: agent }, [{ agentId: 'm' }, { agentId: 'm' }], {
      budget: { maxCostUsd: 0.01 },
    })
    const warnings: string[] = []
    const logger = { ...quiet, warn: (_: object, words: string) => void warnings.push(words) }
    for (const text of ['x', 'y'])
      expect((await runTeam(team, text, { logger })).state).toBe('TASK_STATE_COMPLETED')
    expect(warnings).toEqual([
      'The model "test-mini" has no price, so max_cost_usd does not count it: add it to prices',
    ])
  })

  test('names each of a hundred models without a price, and no further ones', async () => {
    let count = 0
    const many = member('many', (text, turn: Turn) => ({
      ...turn.reply(text),
      metadata: toUsageMetadata({ ...none, inputTokens: 1, model: `model-${++count}` }),
    }))
    const over = () => Array.from({ length: 103 }, (_, index) => index)
    const { warnings } = await warned(many, { maxCostUsd: 1 }, { map: { over, agentId: 'many' } })
    expect(count).toBe(103)
    expect(warnings).toHaveLength(100)
  })

  test('says so where usage names no model', async () => {
    const usage = costly('m', { inputTokens: 1 })
    expect((await warned(usage, { maxCostUsd: 1 })).warnings).toEqual([
      [
        { team: 'team' },
        'Usage that names no model has no price, so max_cost_usd does not count it: add it to prices',
      ],
    ])
    expect((await warned(usage, { maxTokens: 9 })).warnings).toEqual([])
  })

  /** What a run of one member warns of. */
  async function warned(agent: Agent, budget: BudgetConfig, step: Step = { agentId: 'm' }) {
    const warnings: (readonly [object, string])[] = []
    const log = {
      ...silent,
      warn: (fields: object, text: string) => void warnings.push([fields, text]),
    }
    await runTurn(workflow({ m: agent, many: agent }, [step], { budget }), createTurn('x', { log }))
    return { warnings }
  }

  test.each([
    ['the next member is asked', 'b', 1, 2],
    ['a member at work uses more', 'c', 1, 3],
  ])('names the member that came to it: %s', async (_when, id, attempt, hops) => {
    const a = costly('a', { costUsd: 0.2 })
    const c = member('c', (_text, turn: Turn) => {
      turn.account?.spend({ ...none, costUsd: 0.3 })
      turn.account?.check()
      return 'done'
    })
    const steps = ['a', id].map((agentId) => ({ agentId }))
    const budget = { maxCostUsd: hops === 2 ? 0.2 : 0.5 }
    const team = workflow({ a, b: member('b'), c }, steps, { budget })
    const error = await runTurn(team, createTurn('x')).catch((thrown) => thrown)
    expect(error.message).toContain('used up its budget')
    expect(error.cause).toMatchObject({ name: 'MemberFailed', team: 'team', member: id, attempt })
  })

  test.each<readonly [BudgetConfig, BudgetConfig, number | undefined]>([
    [{}, {}, undefined],
    [{ maxTokens: 99 }, {}, 7],
    [{}, { maxTokens: 99 }, 7],
    [{ maxTokens: 99 }, { maxTokens: 99, unknown: 'ignore' }, 7],
    [{ maxTokens: 99, unknown: 'ignore' }, { maxTokens: 99 }, 7],
    [{ maxTokens: 99, unknown: 'ignore' }, { maxTokens: 99, unknown: 'ignore' }, undefined],
  ])(
    'counts an estimate where the team %j or the one within %j wants it',
    async (out, within, tokens) => {
      const counted: (Usage | undefined)[] = []
      const guess = { inputTokens: 4, outputTokens: 3, estimated: true }
      const m = member('m', (text, turn: Turn) => {
        counted.push(turn.account?.unreported(guess))
        return text
      })
      const inner = workflow({ m }, [{ agentId: 'm' }], { id: 'inner', budget: within })
      await runTurn(workflow({ inner }, [{ agentId: 'inner' }], { budget: out }), createTurn('x'))
      expect(counted).toEqual([tokens === undefined ? undefined : guess])
    },
  )

  describe('of a model that does not report what it uses', () => {
    async function run(budget: BudgetConfig) {
      const server = await openModelServer(
        (_, count) => (count < 3 ? calling : `done ${'x'.repeat(400)}`),
        { usage: false },
      )
      const agent = new OpenAIAgent({
        ...{ id: 'm', name: 'm', endpoint: server.url, model: 'test', tools: [tool] },
      })
      opened.push(server, agent)
      const team = defineTeam({
        ...{ id: 'team', name: 'Team', agents: { m: agent }, prices, budget },
        scheduler: { type: 'workflow', steps: [{ agentId: 'm' }, { agentId: 'm' }] },
      })
      const warnings: string[] = []
      const warn = (_: object, text: string): void => void warnings.push(text)
      const turn = createTurn('y'.repeat(400), { log: { ...silent, warn } })
      const task = runTurn(team, turn).then((events) => foldEvents(turn, events))
      return { task, server, turn, warnings }
    }

    test('is estimated, marked as such, and ends the run; one warning tells of it', async () => {
      const { task, server, turn, warnings } = await run({ maxTokens: 600 })
      await expect(task).rejects.toThrow('budget of 600 tokens')
      expect(server.requests.length).toBeLessThan(4)
      expect(warnings.filter((text) => text.includes('does not report'))).toHaveLength(1)
      expect(turn.traces.find(({ type }) => type === 'model')).toMatchObject({ estimated: true })
      const whole = await run({ maxTokens: 1_000_000 })
      const { metadata } = (await whole.task).artifacts?.at(-1) ?? {}
      expect(usageOf(metadata)).toMatchObject({ estimated: true, costUsd: expect.any(Number) })
    })

    test('fails the run where the budget wants to know', async () => {
      const { task, server } = await run({ maxCostUsd: 1, unknown: 'fail' })
      await expect(task).rejects.toThrow('unknown = "estimate"')
      expect(server.requests).toHaveLength(1)
    })

    test.each<BudgetConfig>([{ maxTokens: 10, unknown: 'ignore' }, {}])(
      'counts as nothing with %j',
      async (budget) => {
        const { task, warnings } = await run(budget)
        expect(usageOf((await task).artifacts?.at(-1)?.metadata)).toBeUndefined()
        expect(warnings).toEqual([])
      },
    )
  })

  test('must be more than nothing, and prices must be numbers', () => {
    const agents = { a: member('a') }
    expect(() => workflow(agents, [{ agentId: 'a' }], { budget: { maxCostUsd: 0 } })).toThrow(
      'maxCostUsd must be more than 0',
    )
    const scheduler = { type: 'workflow', steps: [{ agentId: 'a' }] } as const
    const wrong = { 'gpt-4.1': { input: 2, output: -8 } }
    expect(() => defineTeam({ id: 't', name: 't', agents, scheduler, prices: wrong })).toThrow(
      'prices["gpt-4.1"].output must be US dollars per million tokens, a number from 0, not -8',
    )
  })
})

describe('a limit in tokens', () => {
  test('stops a model between two rounds of its tools, in a nested team too', async () => {
    const { agent, server } = await model('m', restless)
    const inner = workflow({ m: agent }, [{ agentId: 'm' }], { id: 'inner' })
    const outer = workflow({ inner }, [{ agentId: 'inner' }], { budget: { maxTokens: 40 } })
    const { text } = await runTeam(outer, 'x', { logger: false })
    expect(text).toBe(
      'The team has used up its budget of 40 tokens: 54 are used; raise max_tokens in its budget',
    )
    expect(server.requests).toHaveLength(3)
  })
})

describe('a run that is repeated after a crash', () => {
  test('counts what its members and their models had used by then, once', async () => {
    const { agent, server } = await model('m', restless)
    const inner = workflow(
      { a: costly('a', { costUsd: 0.2 }), m: agent },
      [{ agentId: 'a' }, { agentId: 'm' }],
      {
        id: 'inner',
      },
    )
    const team = workflow({ inner }, [{ agentId: 'inner' }], { budget: { maxCostUsd: 0.25 } })
    const [saved, steps] = [new Map(), new Map()]
    // The process dies when what the tool gave in the second round is being kept.
    let saves = 0
    const first = createTurn('x', { saved, steps })
    const dying = {
      ...first,
      save: (key: string, value: never) =>
        ++saves > 3
          ? new Promise<void>((_, fail) => fail(new Error('dead')))
          : first.save(key, value),
    }
    await expect(runTurn(team, dying)).rejects.toThrow()
    const asked = server.requests.length
    await expect(runTurn(team, createTurn('x', { saved, steps }))).rejects.toThrow(
      'budget of 0.25 USD: 0.25 are spent',
    )
    expect([asked, server.requests.length]).toEqual([2, 5])
  })

  /** Runs a team until its member `other` is asked, where the process dies; gives what runs it again. */
  async function dieInOther(make: (other: Agent) => Team) {
    const said: string[] = []
    const [saved, steps] = [new Map(), new Map()]
    const stuck = createDeferred<void>()
    const other = member('other', (text, turn: Turn) => {
      said.push('other')
      if (said.filter((id) => id === 'other').length > 1)
        return { ...turn.reply(text), metadata: toUsageMetadata({ ...none, inputTokens: 5 }) }
      stuck.resolve()
      return new Promise<string>(() => {})
    })
    const team = make(other)
    void runTurn(team, createTurn('x', { saved, steps }))
    await stuck.promise
    // What the process that died would still do reaches nobody.
    const setup = { saved: new Map(saved), steps: new Map(steps) }
    return { said, again: () => runTurn(team, createTurn('x', setup)) }
  }

  test('holds the limit of a team around against what failed in a nested one before', async () => {
    const first = member('first', (_text, turn: Turn) => {
      turn.account?.spend({ ...none, costUsd: 0.03 })
      throw new A2AError('agentUnavailable', 'not now')
    })
    const { said, again } = await dieInOther((other) => {
      const call = { agentId: 'first', maxRetries: 0, fallbackAgentId: 'other' }
      const inner = workflow({ first, other }, [call], { id: 'inner' })
      return workflow({ inner }, [{ agentId: 'inner' }], { budget: { maxCostUsd: 0.05 } })
    })
    await expect(again()).rejects.toThrow('budget of 0.05 USD: 0.06 are spent')
    expect([first.asked.length, said]).toEqual([2, ['other']])
  })

  test('adds what a fallback reports to all tries that failed, before and after', async () => {
    const first = member('first', (text, turn: Turn) => ({
      ...turn.reply(text),
      metadata: {
        ...toUsageMetadata({ ...none, inputTokens: 10 }),
        ...toFinishMetadata('length'),
      },
    }))
    const { again } = await dieInOther((other) => {
      const call = { agentId: 'first', failOn: ['length'], fallbackAgentId: 'other' } as const
      return workflow({ first, other }, [call])
    })
    expect(usageAtEnd(await again())).toMatchObject({ inputTokens: 25 })
  })
})

const none = { inputTokens: 0, outputTokens: 0 }

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

async function* ask(turn: Turn, question: string) {
  yield turn.ask(question)
}
