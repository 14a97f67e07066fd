import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { createGoldenAgent, createIdleAgent } from '../../../src/eval/agent/reference-agents.ts'
import { kestrel } from '../../../src/eval/domain/kestrel.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { createPlan } from '../../../src/eval/run/plan.ts'
import { createReplayUser } from '../../../src/eval/users.ts'
import { dataPart } from '../../../src/protocol/task.ts'
import { AgentManager, Team } from '../../../src/team/index.ts'
import { serveSdkGolden } from '../sdk-agent.ts'
import { agentSays, serveAgent, servePeer } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'

describe('the airline Kestrel over HTTP', () => {
  test('gives an agent that knows the golden actions the full score', async () => {
    const endpoint = await serveAgent(createGoldenAgent(kestrel))
    const { summary, info, harness_lag } = await runEvaluation({ agent: { endpoint } })
    expect(summary).toMatchObject({
      total_simulations: 20,
      successes: 20,
      avg_reward: 1,
      pass_hat_k: { '1': { value: 1 } },
      do_nothing: { successes: 5, tasks: 20, rate: 0.25 },
      faults: { agent: 0, user: 0, infrastructure: 0 },
      action_matches: { met: 16, of: 16 },
      cost: null,
    })
    expect(info.user_info).toEqual({ implementation: 'scripted', llm: null })
    expect(harness_lag).toEqual({
      ...{ p50_ms: expect.any(Number), p95_ms: expect.any(Number), max_ms: expect.any(Number) },
    })
  })

  test('gives an agent that does nothing exactly the baseline', async () => {
    const endpoint = await serveAgent(createIdleAgent())
    const { simulations, baseline, summary } = await runEvaluation({ agent: { endpoint } })
    expect(
      simulations.map(({ task_id, reward_info }) => ({ task_id, reward: reward_info.reward })),
    ).toEqual(baseline)
    expect(summary.pass_hat_k['1']?.value).toBe(0.25)
  })

  for (const streaming of [false, true])
    test(`is solved by an agent on the official SDK, ${streaming ? 'streaming' : 'without streams'}`, async () => {
      const endpoint = await serveSdkGolden(kestrel, streaming)
      const { summary, simulations } = await runEvaluation({ agent: { endpoint } })
      expect(
        simulations.filter((one) => one.reward_info.reward !== 1).map((one) => one.error),
      ).toEqual([])
      expect(summary.successes).toBe(20)
    })

  test('is solved by a Corral team with a member that knows the golden actions', async () => {
    const manager = new AgentManager()
    manager.registerWithId('desk', createGoldenAgent(kestrel))
    const team = new Team(
      {
        id: 'airline-team',
        name: 'Airline team',
        description: 'A desk with one expert',
        agents: [{ agentId: 'desk' }],
        scheduler: { type: 'router', defaultAgentId: 'desk' },
      },
      manager,
    )
    const { summary, simulations } = await runEvaluation({
      agent: { endpoint: await serveAgent(team) },
    })
    expect(
      simulations.filter((one) => one.reward_info.reward !== 1).map((one) => one.error),
    ).toEqual([])
    expect(summary.successes).toBe(20)
  })
})

describe('agents of every manner', () => {
  const call = { tool_call: { name: 'add_book', arguments: { title: 'Ulysses' } } }
  const run = async (agent: Parameters<typeof serveAgent>[0], streaming = true) => {
    const endpoint = await serveAgent(agent, { streaming })
    return (await runEvaluation({ agent: { endpoint }, domain: smallDomain() })).simulations[0]
  }

  for (const streaming of [true, false]) {
    const how = streaming ? 'streaming' : 'polling'
    test(`are measured when they ask for tools in a task that stays open, ${how}`, async () => {
      const agent = defineAgent({ name: 'Asker' }, async function* (_, turn) {
        if (turn.task) yield 'Added, now 2.'
        else {
          const message = turn.reply([dataPart(call)])
          yield { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED', message } } }
        }
      })
      const one = await run(agent, streaming)
      expect(one?.error).toBeUndefined()
      expect(one?.reward_info.reward).toBe(1)
    })

    test(`are measured when they answer in chunks, ${how}`, async () => {
      const agent = defineAgent({ name: 'Chunks' }, async function* (message) {
        if (message.parts.length > 2) yield* JSON.stringify(call)
        else yield* ['Added', ', now ', '2.']
      })
      const one = await run(agent, streaming)
      expect(one?.messages[4]).toMatchObject({ content: 'Added, now 2.' })
      expect(one?.reward_info.reward).toBe(1)
    })

    test(`fail when their task fails, with their own words, ${how}`, async () => {
      const agent = defineAgent({ name: 'Broken' }, async function* (_, turn) {
        yield turn.status('TASK_STATE_WORKING')
        yield turn.status('TASK_STATE_FAILED', 'The database is closed')
      })
      const one = await run(agent, streaming)
      expect(one?.termination_reason).toBe('agent_error')
      expect(one?.error).toContain('The database is closed')
    })
  }

  test('report their own tokens, and those count', async () => {
    const agent = defineAgent({ name: 'Counter' }, (_, turn) => ({
      ...turn.reply('Sorry'),
      metadata: { usage: { prompt_tokens: 1000, completion_tokens: 10 } },
    }))
    const endpoint = await serveAgent(agent)
    const prices = { agent: { input_per_million: 2, output_per_million: 100 } }
    const { summary } = await runEvaluation({ agent: { endpoint }, domain: smallDomain(), prices })
    expect(summary.token_sources).toEqual({ reported: 1 })
    expect(summary.metrics.total_tokens).toBe(1010)
    expect(summary.cost).toEqual({ agent_usd: 0.003, user_usd: null, agent_usd_per_success: null })
  })

  test('that change their context are reported', async () => {
    const peer = await servePeer((_, index) => agentSays('Hm', `ctx-${index}`))
    const { simulations } = await runEvaluation({
      agent: { endpoint: peer.url },
      domain: smallDomain(),
    })
    expect(simulations[0]?.warnings[0]).toBe('The agent changed its context from ctx-0 to ctx-1')
    const sent = peer.requests.slice(2).map(({ params }) => params.message.contextId)
    expect(new Set(sent)).toEqual(new Set(['ctx-0']))
  })
})

describe('a run', () => {
  test('cannot begin without an agent, a task, or a user who can play', async () => {
    const domain = smallDomain()
    const agent = { endpoint: 'http://127.0.0.1:9' }
    await expect(runEvaluation({ agent, domain })).rejects.toMatchObject({
      name: 'A2ADiscoveryError',
    })
    await expect(runEvaluation({ agent, domain, taskIds: ['none'] })).rejects.toThrow(
      'no task none',
    )
    await expect(runEvaluation({ agent, domain, numTrials: 0 })).rejects.toThrow('numTrials')
    const user = createReplayUser([])
    await expect(runEvaluation({ agent, domain, user })).rejects.toThrow('no recording')
    const closed = await servePeer(() => 'silence', { cardStatus: 401 })
    await expect(runEvaluation({ agent: { endpoint: closed.url }, domain })).rejects.toMatchObject({
      name: 'A2AAuthError',
    })
  })

  test('sends the token on every message and shows it nowhere', async () => {
    const peer = await servePeer(() => agentSays('Sorry'))
    const agent = { endpoint: peer.url, authToken: 'very-secret' }
    const results = await runEvaluation({ agent, domain: smallDomain() })
    const posts = peer.requests.filter(({ method }) => method === 'POST')
    expect(posts.map(({ headers }) => headers.authorization)).toEqual(['Bearer very-secret'])
    expect(JSON.stringify(results)).not.toContain('very-secret')
  })

  test('gives each trial a seed of its own, the same every time', () => {
    const run = { agent: { endpoint: 'http://127.0.0.1' }, domain: smallDomain() }
    const trialSeeds = (seed: number, numTrials: number) =>
      createPlan({ ...run, seed, numTrials }).jobs.map((job) => job.seed)
    expect(trialSeeds(300, 3)).toEqual(trialSeeds(300, 3))
    expect(new Set(trialSeeds(300, 50)).size).toBe(50)
    expect(trialSeeds(300, 2)).toEqual(trialSeeds(300, 5).slice(0, 2))
    expect(trialSeeds(301, 1)).not.toEqual(trialSeeds(300, 1))
  })

  test('tries again after an infrastructure fault, and says so', async () => {
    const peer = await servePeer((_, index) =>
      index === 0 ? { status: 401, body: '{}' } : agentSays('Sorry'),
    )
    const { simulations } = await runEvaluation({
      agent: { endpoint: peer.url },
      domain: smallDomain(),
    })
    expect(simulations[0]).toMatchObject({ termination_reason: 'user_stop' })
    expect(simulations[0]?.retries).toHaveLength(1)
  })

  test('ends a simulation that takes too long, and goes on with the others', async () => {
    const stuck = addTask({ id: 'stuck', user_script: { opening: 'Hang!', replies: [] } })
    const peer = await servePeer(({ params: { message } }) =>
      JSON.stringify(message).includes('Hang!') ? 'silence' : agentSays('Sorry'),
    )
    const domain = smallDomain([stuck, addTask()])
    const { simulations } = await runEvaluation({
      agent: { endpoint: peer.url },
      domain,
      taskTimeout: 1,
    })
    expect(simulations.map((one) => one.termination_reason)).toEqual(['timeout', 'user_stop'])
  })

  test('goes on when a world does not open, and does not blame the agent', async () => {
    const peer = await servePeer(() => agentSays('Sorry'))
    const broken = addTask({
      id: 'broken',
      initial_state: {
        initialization_actions: [{ env_type: 'assistant', func_name: 'no_such', arguments: {} }],
      },
    })
    const { simulations, summary } = await runEvaluation({
      agent: { endpoint: peer.url },
      domain: smallDomain([broken, addTask()]),
      maxRetries: 0,
    })
    expect(simulations.map((one) => one.termination_reason)).toEqual([
      'unexpected_error',
      'user_stop',
    ])
    expect(simulations[0]).toMatchObject({ reward_info: { reward: null }, protocol_metrics: [] })
    expect(summary).toMatchObject({ measured: 1, scored: 1, faults: { infrastructure: 1 } })
    expect(summary.do_nothing.tasks).toBe(1)
  })

  test('stops when it is told to', async () => {
    const controller = new AbortController()
    const peer = await servePeer(() => {
      controller.abort(new Error('enough'))
      return 'silence'
    })
    const run = { agent: { endpoint: peer.url }, domain: smallDomain(), signal: controller.signal }
    await expect(runEvaluation(run)).rejects.toThrow('enough')
  })
})
