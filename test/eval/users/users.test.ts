import { PassThrough } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { createA2AConfig } from '../../../src/eval/agent/under-test.ts'
import { type EvalTask, spoken, type ToolMessage } from '../../../src/eval/domain/domain.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { createJudge } from '../../../src/eval/scorers/built-in.ts'
import {
  createA2AUser,
  createHumanUser,
  createLlmUser,
  createReplayUser,
  scriptedUser,
  type UserSimulator,
} from '../../../src/eval/users.ts'
import { textOf } from '../../../src/protocol/task.ts'
import { type Clock, systemClock } from '../../../src/shared/clock.ts'
import { serveModel } from '../chat-server.ts'
import { agentMessage, agentSays, serveAgent, servePeer } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'

const signal = new AbortController().signal
const agentSaid = (text: string) => spoken('assistant', text)

function start(user: UserSimulator, task: EvalTask = addTask()) {
  return user.start({ task, trial: 0, seed: 7, tools: [] })
}

describe('the scripted user', () => {
  const task = addTask({
    user_script: {
      opening: 'Hello',
      replies: [
        { when: 'name', say: 'Ann' },
        { when: 'sure', say: 'Yes', times: 2 },
        { when: 'router', call: { name: 'reboot', arguments: {} }, say: 'Rebooted' },
        { when: 'bye', stop: true },
      ],
      fallback: 'What?',
      patience: 1,
    },
  })

  test('opens, answers what it waits for, and uses a reply as often as it may', async () => {
    const user = start(scriptedUser, task)
    const said: (string | null)[] = []
    for (const text of ['Hi', 'Your NAME?', 'Sure?', 'Sure?', 'Bye'])
      said.push((await user.next(agentSaid(text), signal)).content)
    expect(said).toEqual(['Hello', 'Ann', 'Yes', 'Yes', 'Goodbye. ###STOP###'])
  })

  test('falls back, and gives up when its patience is over', async () => {
    const user = start(scriptedUser, task)
    const said: (string | null)[] = []
    for (const text of ['Hi', 'x', 'name', 'x', 'x'])
      said.push((await user.next(agentSaid(text), signal)).content)
    expect(said).toEqual([
      'Hello',
      'What?',
      'Ann',
      'What?',
      'That did not help. Goodbye. ###STOP###',
    ])
  })

  test('calls its tools, and speaks when they have answered', async () => {
    const user = start(scriptedUser, task)
    await user.next(agentSaid('Hi'), signal)
    const { tool_calls } = await user.next(agentSaid('Restart the router'), signal)
    expect(tool_calls).toMatchObject([{ name: 'reboot', requestor: 'user' }])
    const result: ToolMessage = {
      id: 'x',
      role: 'tool',
      content: 'ok',
      requestor: 'user',
      error: false,
    }
    expect((await user.next([result], signal)).content).toBe('Rebooted')
  })

  test('is not held up by an agent whose words are made for its patterns', async () => {
    const hostile = addTask({
      user_script: { opening: 'Hello', replies: [{ when: '(a+)+$', say: 'Yes' }], fallback: 'No' },
    })
    const user = start(scriptedUser, hostile)
    await user.next(agentSaid('Hi'), signal)
    const said = `${'a'.repeat(50_000)}!`
    expect((await user.next(agentSaid(said), signal)).content).toBe('No')
    expect((await user.next(agentSaid('AAA'), signal)).content).toBe('Yes')
  })

  test('lets others continue while it looks for its patterns in a long text', async () => {
    const slow = addTask({
      user_script: { opening: 'Hello', replies: [{ when: '(a+b?)+c', say: 'Yes' }] },
    })
    const user = start(scriptedUser, slow)
    await user.next(agentSaid('Hi'), signal)
    let [ticks, isOver] = [0, false]
    const count = (): void => {
      ticks++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const said = `${'aab'.repeat(300_000)}c`
    expect((await user.next(agentSaid(said), signal)).content).toBe('Yes')
    isOver = true
    expect(ticks).toBeGreaterThan(6)
  })

  test('hears the beginning of what is too long for its patterns', async () => {
    const long = addTask({
      user_script: { opening: 'Hello', replies: [{ when: '(?:a?b?){240}x', say: 'Yes' }] },
    })
    const user = start(scriptedUser, long)
    await user.next(agentSaid('Hi'), signal)
    const said = `x${' '.repeat(3_000_000)}`
    expect((await user.next(agentSaid(said), signal)).content).toBe('Yes')
  })

  test('cannot play a script with a pattern whose time has no bound', () => {
    const script = { opening: 'x', replies: [{ when: 'a' }, { when: '(b)\\1' }] }
    expect(scriptedUser.refuses(addTask({ user_script: script }))).toBe(
      'Task add-ulysses: user_script.replies.1.when is no pattern that can be used: references back to a group are not offered: their time has no bound (at character 4)',
    )
  })

  test('cannot play a task without a script', () => {
    expect(scriptedUser.refuses(addTask({ user_script: null }))).toBe(
      'Task add-ulysses has no user_script',
    )
  })
})

describe('the user played by a model', () => {
  test('sees the scenario, the roles the other way round, and its tools', async () => {
    const model = await serveModel([
      { tools: [{ id: 'call_1', name: 'look', arguments: '{"at": "shelf"}' }] },
      'I want Ulysses ###STOP###',
    ])
    const user = createLlmUser({ baseUrl: model.url, model: 'm', apiKey: 'key' })
    expect(user.refuses(addTask({ user_scenario: null }))).toBeDefined()
    const tools = [{ name: 'look', description: 'Look', parameters: { type: 'object' } }]
    const player = user.start({ task: addTask(), trial: 0, seed: 7, tools })
    const first = await player.next(agentSaid('Hi!'), signal)
    expect(first).toMatchObject({
      content: null,
      tool_calls: [{ name: 'look', arguments: { at: 'shelf' } }],
    })
    const result: ToolMessage = {
      id: 'call_1',
      role: 'tool',
      content: 'books',
      requestor: 'user',
      error: false,
    }
    expect((await player.next([result], signal)).content).toBe('I want Ulysses ###STOP###')
    const [one, two] = model.requests
    expect(one).toMatchObject({ model: 'm', temperature: 0, seed: 7 })
    expect(one?.messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(one?.messages[0]?.content).toContain('You want Ulysses on the shelf.')
    expect(two?.messages.slice(2)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'call_1' }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'books' },
    ])
    expect(model.headers[0]?.authorization).toBe('Bearer key')
    expect(player.usage?.()).toEqual({ input: 22, output: 14 })
  })

  test('is infrastructure when it cannot be reached', async () => {
    const player = start(createLlmUser({ baseUrl: 'http://127.0.0.1:9/v1', model: 'm' }))
    await expect(player.next(agentSaid('Hi!'), signal)).rejects.toMatchObject({
      termination: 'infrastructure_error',
    })
    const full = await serveModel([])
    const refused = start(createLlmUser({ baseUrl: full.url, model: 'm' }))
    await expect(refused.next(agentSaid('Hi!'), signal)).rejects.toThrow('Model m: HTTP 429')
  })

  test('is asked again where its service is busy, after the time that it names', async () => {
    const busy = { status: 429, headers: { 'retry-after': '7' } }
    const model = await serveModel([busy, busy, 'At last'])
    const waits: number[] = []
    const clock: Clock = {
      ...systemClock,
      after(ms, callback) {
        if (ms === 300_000) return systemClock.after(ms, callback) // the limit on an answer
        waits.push(ms)
        return systemClock.after(0, callback)
      },
    }
    const user = createLlmUser({ baseUrl: model.url, model: 'm' }, { clock })
    expect((await start(user).next(agentSaid('Hi!'), signal)).content).toBe('At last')
    expect(waits).toEqual([7000, 7000])
    await user.close?.()
  })

  test.each([
    ['no JSON', 'oops'],
    ['no choice', '{"choices": []}'],
    ['something else', '{"hello": "world"}'],
  ])('is infrastructure when its service answers with %s', async (_, body) => {
    const model = await serveModel([{ status: 200, body }])
    const player = start(createLlmUser({ baseUrl: model.url, model: 'm' }))
    await expect(player.next(agentSaid('Hi!'), signal)).rejects.toMatchObject({
      termination: 'infrastructure_error',
      message: 'Model m: The model of m sent no chat completion',
    })
    expect(model.requests).toHaveLength(1)
  })

  test('costs what its tokens cost', async () => {
    const model = await serveModel(['Please add Ulysses.', '###STOP###'])
    const peer = await servePeer(() => agentSays('Sorry'))
    const { summary } = await runEvaluation({
      agent: { endpoint: peer.url },
      domain: smallDomain(),
      user: createLlmUser({ baseUrl: model.url, model: 'm' }),
      prices: { user: { input_per_million: 100, output_per_million: 1000 } },
    })
    expect(summary.cost).toEqual({ agent_usd: null, user_usd: 0.0162, agent_usd_per_success: null })
  })
})

describe('the judge', () => {
  const judged = async (text: string) => {
    const model = await serveModel([text])
    const judge = createJudge({ baseUrl: model.url, model: 'm' })
    return judge(['It is kind.', 'It is short.'], [agentSaid('Hi!')], signal)
  }

  test('gives a verdict for each statement', async () => {
    const text = '{"results": [{"met": true, "justification": "Yes"}, {"met": false}]}'
    expect(await judged(text)).toEqual([
      { nl_assertion: 'It is kind.', met: true, justification: 'Yes' },
      { nl_assertion: 'It is short.', met: false, justification: '' },
    ])
  })

  test('whose answer cannot be read leaves the task unscored', async () => {
    const task = addTask({
      evaluation_criteria: { nl_assertions: ['It is kind.'], reward_basis: ['NL_ASSERTION'] },
    })
    const model = await serveModel(['I think so'])
    const peer = await servePeer(() => agentSays('Sorry'))
    const { summary } = await runEvaluation({
      agent: { endpoint: peer.url },
      domain: smallDomain([task]),
      judge: createJudge({ baseUrl: model.url, model: 'm' }),
    })
    expect(summary).toMatchObject({ scored: 0, avg_reward: null, unscored_tasks: ['add-ulysses'] })
    expect(summary.pass_hat_k).toEqual({})
  })
})

describe('the user played by an agent', () => {
  test('gets the scenario once, then what the agent says', async () => {
    const heard: string[] = []
    const customer = defineAgent({ name: 'Customer' }, (message, turn) => {
      heard.push(textOf(message.parts))
      return turn.reply(heard.length === 1 ? 'Please add Ulysses.' : 'Bye ###STOP###')
    })
    const user = createA2AUser(createA2AConfig({ endpoint: await serveAgent(customer) }))
    onTestFinished(() => user.close?.())
    const peer = await servePeer(() => agentSays('Sorry, no.'))
    const run = { agent: { endpoint: peer.url }, domain: smallDomain(), user }
    const { simulations, info } = await runEvaluation(run)
    expect(simulations[0]?.termination_reason).toBe('user_stop')
    expect(info.user_info.implementation).toBe('a2a')
    expect(heard[0]).toContain('You want Ulysses on the shelf.')
    expect(heard[1]).toBe('Sorry, no.')
  })
})

describe('the replayed user', () => {
  const call = (title: string) => ({ tool_call: { name: 'add_book', arguments: { title } } })
  const answers = (title: string) =>
    servePeer((_, index) =>
      index === 0
        ? { result: { message: agentMessage([{ data: call(title) }]) } }
        : agentSays('Added 2'),
    )

  test('says what was said, and tells where the agent leaves the record', async () => {
    const domain = smallDomain()
    const peer = await answers('Ulysses')
    const recorded = await runEvaluation({ agent: { endpoint: peer.url }, domain })
    const user = createReplayUser(recorded.simulations)
    const same = await answers('Ulysses')
    const again = await runEvaluation({ agent: { endpoint: same.url }, domain, user })
    expect(again.simulations[0]?.warnings).toEqual([])
    expect(again.summary.successes).toBe(1)
    const words = (results: typeof again) =>
      results.simulations[0]?.messages.filter(({ role }) => role === 'user').map((m) => m.content)
    expect(words(again)).toEqual(words(recorded))
    const other = await answers('Dubliners')
    const left = await runEvaluation({ agent: { endpoint: other.url }, domain, user })
    expect(left.simulations[0]?.warnings[0]).toMatch(/left its record at call 1, after user turn 1/)
  })
})

describe('the human user', () => {
  test('reads the scenario, types, and stops', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const user = createHumanUser({ input, output })
    onTestFinished(() => user.close?.())
    const player = start(user)
    const first = player.next(agentSaid('Hi!'), signal)
    input.write('Hello you\n')
    expect((await first).content).toBe('Hello you')
    const second = player.next(agentSaid('Well?'), signal)
    input.write('/stop\n')
    expect((await second).content).toBe('###STOP###')
    expect(String(output.read())).toContain('You want Ulysses on the shelf.')
  })

  test('sees what the agent says, and its terminal does not obey it', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const user = createHumanUser({ input, output })
    onTestFinished(() => user.close?.())
    const reply = start(user).next(agentSaid('Hi\u001b[2J\u202e!'), signal)
    input.write('/stop\n')
    await reply
    expect(String(output.read())).toContain('agent> Hi\\u001b[2J\\u202e!')
  })
})
