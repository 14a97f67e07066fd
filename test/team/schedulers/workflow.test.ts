import { describe, expect, test } from 'vitest'
import type { Agent, AgentEvent } from '../../../src/agents/agent.ts'
import { ContentBlocked } from '../../../src/agents/guards/check.ts'
import { ModelRefusal } from '../../../src/agents/reply.ts'
import { A2AError, type ErrorCode } from '../../../src/protocol/errors.ts'
import { toFinishMetadata, usageOf } from '../../../src/protocol/extensions.ts'
import { completedTaskWithText, textOf } from '../../../src/protocol/task.ts'
import type { JsonObject, Task } from '../../../src/protocol/types.ts'
import type { Clock } from '../../../src/shared/clock.ts'
import type { Step } from '../../../src/team/config.ts'
import { defineTeam, type Team } from '../../../src/team/team.ts'
import { createFakeClock, createInstantClock } from '../../../src/testing/index.ts'
import { member, type ScriptedMember, untilCancelled } from '../../fixtures/members.ts'
import { createTurn, foldEvents, runTurn, type ScriptedTurn } from '../../fixtures/turn.ts'

function workflow(members: readonly ScriptedMember[], steps: readonly Step[], clock?: Clock): Team {
  return defineTeam({
    id: 'flow',
    name: 'Flow',
    agents: Object.fromEntries(members.map((one): [string, Agent] => [one.id, one])),
    scheduler: { type: 'workflow', steps },
    ...(clock && { clock }),
    random: () => 1,
  })
}

async function run(team: Team, turn: ScriptedTurn): Promise<Task> {
  return foldEvents(turn, await runTurn(team, turn))
}

async function answer(team: Team, text: string): Promise<string> {
  return answerOf(await run(team, createTurn(text)))
}

function answerOf(task: Task): string {
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}

function types(turn: ScriptedTurn): unknown[] {
  return turn.traces.map((entry: JsonObject) => entry.type)
}

describe('steps', () => {
  test('run in ascending order, each with the answer before it', async () => {
    const [a, b] = [member('a'), member('b')]
    const team = workflow(
      [a, b],
      [
        { agentId: 'b', order: 2 },
        { agentId: 'a', order: 1 },
      ],
    )
    expect(await answer(team, 'x')).toBe('b(a(x))')
    expect(b.asked).toEqual(['a(x)'])
  })

  test('are left out when the previous answer does not contain their condition', async () => {
    const [a, b, c] = [member('a'), member('b'), member('c')]
    const team = workflow(
      [a, b, c],
      [
        { agentId: 'a', condition: '' },
        { agentId: 'b', condition: 'urgent' },
        { agentId: 'c', condition: 'slow' },
      ],
    )
    expect(await answer(team, 'slow')).toBe('c(a(slow))')
    expect(await answer(team, 'urgent')).toBe('b(a(urgent))')
  })

  test('fail the run when none applies', async () => {
    const team = workflow([member('a')], [{ agentId: 'a', condition: 'never' }])
    await expect(answer(team, 'x')).rejects.toThrow('No step of the workflow applies')
  })

  test('the last one’s words reach the caller as they come, earlier ones as status texts', async () => {
    const a = member('a', async function* () {
      yield 'not '
      yield 'streamed'
    })
    const b = member('b', async function* () {
      yield 'one '
      yield { text: 'two' }
    })
    const turn = createTurn('x')
    const events = await runTurn(workflow([a, b], [{ agentId: 'a' }, { agentId: 'b' }]), turn)
    expect(events.map(describeEvent)).toEqual([
      'TASK_STATE_WORKING a: not streamed',
      'chunk response one ',
      'chunk response two +',
      'TASK_STATE_COMPLETED',
    ])
  })

  test('R-W15: files, data and artifacts are carried from step to step, not only the first text', async () => {
    const a = member('a', (_text, turn) =>
      (async function* () {
        yield turn.artifact({ artifactId: 'one', parts: [{ text: 'first' }] })
        yield turn.artifact({
          artifactId: 'two',
          parts: [{ data: { n: 1 } }, { url: 'https://x/y' }],
        })
      })(),
    )
    const b = member('b', (_text, turn, message) => turn.reply(message.parts))
    const task = await run(workflow([a, b], [{ agentId: 'a' }, { agentId: 'b' }]), createTurn('x'))
    expect(task.artifacts?.[0]?.parts).toEqual([
      { text: 'first' },
      { data: { n: 1 } },
      { url: 'https://x/y' },
    ])
  })

  test('an answer that stands in the status alone is not lost', async () => {
    const a = member('a', async function* (_text, turn) {
      yield turn.status('TASK_STATE_WORKING', 'thinking')
      yield turn.status('TASK_STATE_COMPLETED', 'the answer')
    })
    expect(await answer(workflow([a], [{ agentId: 'a' }]), 'x')).toBe('the answer')
    const b = member('b', (_text, _turn, message) => ({
      task: completedTaskWithText(message, 'done'),
    }))
    expect(await answer(workflow([b], [{ agentId: 'b' }]), 'x')).toBe('done')
  })

  test('the member’s first artifact is the team’s response, others keep their names', async () => {
    const a = member('a', async function* (_text, turn) {
      yield turn.artifact({ artifactId: 'r-7', name: 'Report', parts: [{ text: 'one ' }] })
      yield turn.artifact({ artifactId: 'chart', parts: [{ url: 'https://x/y.png' }] })
      yield turn.artifact({ artifactId: 'r-7', parts: [{ text: 'two' }] }, { append: true })
    })
    const task = await run(workflow([a], [{ agentId: 'a' }]), createTurn('x'))
    expect(task.artifacts).toEqual([
      { artifactId: 'response', name: 'Report', parts: [{ text: 'one two' }] },
      { artifactId: 'chart', parts: [{ url: 'https://x/y.png' }] },
    ])
  })

  test('chunks keep what they say of themselves, and the first one begins its artifact', async () => {
    const a = member('a', async function* (_text, turn) {
      const parts = [{ text: 'one' }]
      yield turn.artifact({ artifactId: 'x', parts }, { append: true, metadata: { page: 1 } })
      yield turn.artifact({ artifactId: 'x', parts }, { append: true, lastChunk: true })
    })
    const turn = createTurn('x')
    const events = await runTurn(workflow([a], [{ agentId: 'a' }]), turn)
    const artifact = { artifactId: 'response', parts: [{ text: 'one' }] }
    expect(events.slice(0, 2)).toEqual([
      { artifactUpdate: { artifact, append: false, metadata: { page: 1 } } },
      { artifactUpdate: { artifact, append: true, lastChunk: true } },
    ])
  })

  test('a further artifact that is called as the team’s response gets a name of its own', async () => {
    const a = member('a', async function* (_text, turn) {
      yield turn.artifact({ artifactId: 'draft', parts: [{ text: 'one' }] })
      yield turn.artifact({ artifactId: 'response', parts: [{ text: 'two' }] })
    })
    const task = await run(workflow([a], [{ agentId: 'a' }]), createTurn('x'))
    expect(task.artifacts).toEqual([
      { artifactId: 'response', parts: [{ text: 'one' }] },
      { artifactId: 'response-other', parts: [{ text: 'two' }] },
    ])
  })

  test('can be tried again, with growing pauses, and what the failed try said is replaced', async () => {
    const clock = createInstantClock()
    let tries = 0
    const a = member('a', async function* () {
      yield `try ${++tries}`
      if (tries < 3) throw new A2AError('agentUnavailable', 'down')
    })
    const turn = createTurn('x')
    const task = await run(workflow([a], [{ agentId: 'a', maxRetries: 2 }], clock), turn)
    expect(answerOf(task)).toBe('try 3')
    expect(clock.waits).toEqual([500, 1_000])
    expect(types(turn)).toEqual([
      'delegation',
      'failure',
      'retry',
      'delegation',
      'failure',
      'retry',
      'delegation',
      'reply',
    ])
  })

  test('wait as long as a failed member asks', async () => {
    const clock = createInstantClock()
    let tries = 0
    const a = member('a', () => {
      if (++tries === 1) throw new A2AError('rateLimited', 'slow down', { retryAfterSeconds: 7 })
      return 'done'
    })
    expect(await answer(workflow([a], [{ agentId: 'a', maxRetries: 1 }], clock), 'x')).toBe('done')
    expect(clock.waits).toEqual([7_000])
  })

  test('are not tried again where their whole time would be over by then', async () => {
    const clock = createInstantClock()
    const a = member('a', () => {
      throw new A2AError('rateLimited', 'slow down', { retryAfterSeconds: 70 })
    })
    const step = { agentId: 'a', maxRetries: 3, maxTaskSeconds: 60 }
    await expect(answer(workflow([a], [step], clock), 'x')).rejects.toMatchObject({
      code: 'agentUnavailable',
    })
    expect(clock.waits).not.toContain(70_000)
  })

  test('are taken over by the fallback when every try has failed', async () => {
    const broken = member('broken', () => {
      throw new Error('no')
    })
    const spare = member('spare')
    const turn = createTurn('x')
    const team = workflow([broken, spare], [{ agentId: 'broken', fallbackAgentId: 'spare' }])
    expect(answerOf(await run(team, turn))).toBe('spare(x)')
    expect(types(turn)).toEqual(['delegation', 'failure', 'fallback', 'delegation', 'reply'])
  })

  test('are given up when the fallback has failed, which is asked once', async () => {
    const fail = () => {
      throw new Error('no')
    }
    const [broken, spare] = [member('broken', fail), member('spare', fail)]
    const step = { agentId: 'broken', maxRetries: 2, fallbackAgentId: 'spare' }
    const clock = createInstantClock()
    await expect(answer(workflow([broken, spare], [step], clock), 'x')).rejects.toMatchObject({
      code: 'processingError',
    })
    expect(broken.asked).toHaveLength(3)
    expect(spare.asked).toHaveLength(1)
  })

  test('count the tries of the member and of its fallback from one each', async () => {
    const fail = () => {
      throw new Error('no')
    }
    const turn = createTurn('x')
    const step = { agentId: 'a', maxRetries: 1, fallbackAgentId: 'b' }
    const team = workflow([member('a', fail), member('b')], [step], createInstantClock())
    await run(team, turn)
    const tries = turn.traces.filter(({ type }) => type === 'delegation')
    expect(tries.map(({ member: id, try: number }) => `${id} ${number}`)).toEqual([
      'a 1',
      'a 2',
      'b 1',
    ])
  })

  test('have no fallback in the member that has failed', async () => {
    const a = member('a', () => {
      throw new Error('no')
    })
    const turn = createTurn('x')
    const team = workflow([a], [{ agentId: 'a', fallbackAgentId: 'a' }])
    await expect(run(team, turn)).rejects.toThrow('could not answer')
    expect(types(turn)).toEqual(['delegation', 'failure'])
  })

  test.each([
    [59_999, ['a', 'spare']],
    [60_000, ['a']],
  ])('have no fallback once their whole time is over: after %d ms', async (ms, asked) => {
    const clock = createFakeClock()
    const a = member('a', () => {
      clock.advance(ms)
      throw new Error('no')
    })
    const turn = createTurn('x')
    const step = { agentId: 'a', maxTaskSeconds: 60, fallbackAgentId: 'spare' }
    await run(workflow([a, member('spare')], [step], clock), turn).catch(() => {})
    const calls = turn.traces.filter(({ type }) => type === 'delegation')
    expect(calls.map((entry) => entry.member)).toEqual(asked)
  })

  test.each<[ErrorCode, ErrorCode, string]>([
    ['agentUnavailable', 'agentUnavailable', 'An agent of the team is not available'],
    ['unavailable', 'agentUnavailable', 'An agent of the team is not available'],
    ['rateLimited', 'agentUnavailable', 'An agent of the team is not available'],
    ['timeout', 'timeout', 'An agent of the team did not answer in time'],
    [
      'contentTypeNotSupported',
      'contentTypeNotSupported',
      'An agent of the team does not take this kind of content',
    ],
    [
      'contextLengthExceeded',
      'contextLengthExceeded',
      'The conversation is longer than a model of the team can read',
    ],
    ['insufficientQuota', 'insufficientQuota', 'The quota of a model of the team is used up'],
    [
      'toolRoundLimit',
      'toolRoundLimit',
      'A model of the team has called tools as often as it may and not answered',
    ],
    ['taskNotFound', 'processingError', 'An agent of the team could not answer'],
    ['internal', 'processingError', 'An agent of the team could not answer'],
  ])('that fail with %s fail the run with %s', async (code, outside, message) => {
    const a = member('a', () => {
      throw new A2AError(code, 'secret')
    })
    const turn = createTurn('x')
    const error = await run(workflow([a], [{ agentId: 'a' }]), turn).catch((thrown) => thrown)
    expect([error.code, error.message]).toEqual([outside, message])
    expect(error.details.metadata).toBeUndefined()
    expect(turn.traces.at(-1)).toMatchObject({ type: 'failure', reason: code })
  })

  test('name the member that failed only where the team exposes its members', async () => {
    const a = member('a', () => {
      throw new Error('no')
    })
    const scheduler = { type: 'workflow', steps: [{ agentId: 'a' }] } as const
    const team = defineTeam({
      ...{ id: 'flow', name: 'Flow', agents: { a }, scheduler, exposeMembers: true },
    })
    await expect(answer(team, 'x')).rejects.toMatchObject({ details: { metadata: { agent: 'a' } } })
  })

  test.each([
    ['a refusal', new ModelRefusal('no', { inputTokens: 5, outputTokens: 1 })],
    [
      'a blocked answer',
      new ContentBlocked('no', { at: 'output', usage: { inputTokens: 5, outputTokens: 1 } }),
    ],
  ])('count what %s has used', async (_what, error) => {
    const a = member('a', () => {
      throw error
    })
    const team = workflow([a, member('b')], [{ agentId: 'a', fallbackAgentId: 'b' }])
    const { artifacts } = await run(team, createTurn('x'))
    expect(usageOf(artifacts?.[0]?.metadata)).toEqual({ inputTokens: 5, outputTokens: 1 })
  })

  test.each([
    [{ timeoutSeconds: 2, maxTaskSeconds: 3 }, 2],
    [{ timeoutSeconds: 5, maxTaskSeconds: 3 }, 3],
  ])('say which of their times was over: %j', async (rules, seconds) => {
    const clock = createFakeClock()
    const deaf = member('deaf', () => new Promise<string>(() => {}))
    const running = run(workflow([deaf], [{ agentId: 'deaf', ...rules }], clock), createTurn('x'))
    await expect.poll(() => deaf.turns.length).toBe(1)
    clock.advance(seconds * 1_000)
    expect(storyOf(await running.catch((thrown) => thrown))).toContain(
      `Agent "deaf" took longer than ${seconds} s`,
    )
  })

  test('R-W11: are stopped when their time is over, even if the member ignores its signal', async () => {
    const clock = createFakeClock()
    const deaf = member('deaf', () => new Promise<string>(() => {}))
    const turn = createTurn('x')
    const running = run(workflow([deaf], [{ agentId: 'deaf', timeoutSeconds: 2 }], clock), turn)
    await expect.poll(() => deaf.turns.length).toBe(1)
    clock.advance(2_000)
    await expect(running).rejects.toMatchObject({
      code: 'timeout',
      message: 'An agent of the team did not answer in time',
    })
    expect(deaf.turns[0]?.signal.aborted).toBe(true)
    expect(clock.pending()).toEqual([])
  })

  test('share the time that the run may take', async () => {
    const clock = createFakeClock()
    const deaf = member('deaf', () => new Promise<string>(() => {}))
    const team = defineTeam({
      id: 'flow',
      name: 'Flow',
      agents: { deaf },
      scheduler: { type: 'workflow', steps: [{ agentId: 'deaf' }] },
      budget: { maxSeconds: 3 },
      clock,
    })
    const running = run(team, createTurn('x'))
    await expect.poll(() => deaf.turns.length).toBe(1)
    clock.advance(3_000)
    await expect(running).rejects.toMatchObject({
      code: 'timeout',
      message: 'The team took longer than 3 s',
    })
  })

  test.each([
    ['TASK_STATE_FAILED', 'I cannot do that', 'I cannot do that'],
    ['TASK_STATE_REJECTED', 'I do not do that', 'I do not do that'],
    ['TASK_STATE_CANCELED', undefined, 'The agent ended in TASK_STATE_CANCELED'],
  ] as const)('fail the run where their member ends in %s', async (state, words, story) => {
    const a = member('a', async function* (_text, turn) {
      yield turn.status(state, words)
    })
    const error = await answer(workflow([a], [{ agentId: 'a' }]), 'x').catch((thrown) => thrown)
    expect(error.code).toBe('processingError')
    expect(storyOf(error).at(-1)).toBe(story)
  })

  test.each([
    ['length', 'it had no more tokens'],
    ['content_filter', 'it was cut by its content filter'],
  ] as const)('say why an answer is not whole: %s', async (reason, words) => {
    const a = member('a', (_text, turn) => ({
      ...turn.reply('half'),
      metadata: { ...toFinishMetadata(reason) },
    }))
    const team = workflow([a], [{ agentId: 'a', failOn: ['length', 'content_filter'] }])
    const error = await answer(team, 'x').catch((thrown) => thrown)
    expect(storyOf(error).at(-1)).toBe(`The answer of agent "a" is not whole: ${words}`)
  })
})

describe('parallel branches', () => {
  test('get the same question at once and are joined in order', async () => {
    const order: string[] = []
    let release = (): void => {}
    const slow = member('slow', async () => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      order.push('slow')
      return 'S'
    })
    const fast = member('fast', async () => {
      order.push('fast')
      release()
      return 'F'
    })
    const join = member('join')
    const team = workflow(
      [slow, fast, join],
      [{ parallel: [{ agentId: 'slow' }, { agentId: 'fast' }] }, { agentId: 'join' }],
    )
    expect(await answer(team, 'x')).toBe('join(slow:\nS\n\nfast:\nF)')
    expect(order).toEqual(['fast', 'slow'])
  })

  test('one failure stops the others', async () => {
    const waiting = member('waiting', (_text, turn) => untilCancelled(turn))
    const broken = member('broken', async () => {
      throw new Error('no')
    })
    const team = workflow(
      [waiting, broken],
      [{ parallel: [{ agentId: 'waiting' }, { agentId: 'broken' }] }],
    )
    await expect(answer(team, 'x')).rejects.toMatchObject({ code: 'processingError' })
    expect(waiting.turns[0]?.signal.aborted).toBe(true)
  })
})

describe('loops', () => {
  test('end when the answer contains the word, and at their bound', async () => {
    let drafts = 0
    const writer = member('writer', (text) => `${text}.`)
    const critic = member('critic', (text) => (++drafts === 3 ? `${text} DONE` : text))
    const loop = { steps: [{ agentId: 'writer' }, { agentId: 'critic' }], until: 'DONE' }
    const team = workflow([writer, critic], [{ loop: { ...loop, maxIterations: 5 } }])
    expect(await answer(team, 'x')).toBe('x... DONE')
    const bounded = workflow([writer, critic], [{ loop: { ...loop, maxIterations: 2 } }])
    expect(await answer(bounded, 'y')).toBe('y..')
  })
})

describe('map', () => {
  test.each([
    ['a JSON list', '["p", "q"]'],
    ['lines with bullets', '- p\n- q'],
    ['lines with numbers', '1. p\n2) q\n'],
    ['a fenced list', 'Here:\n```json\n["p", "q"]\n```'],
  ])('calls the member once per item of %s, in order', async (_kind, list) => {
    const planner = member('planner', () => list)
    const worker = member('worker')
    const team = workflow(
      [planner, worker],
      [{ agentId: 'planner' }, { map: { agentId: 'worker' } }],
    )
    expect(await answer(team, 'x')).toBe('worker(p)\nworker(q)')
  })

  test('keeps to its width', async () => {
    let busy = 0
    let most = 0
    const worker = member('worker', async (text) => {
      most = Math.max(most, ++busy)
      await new Promise((resolve) => setImmediate(resolve))
      busy--
      return text
    })
    const team = workflow([worker], [{ map: { agentId: 'worker', maxParallel: 2 } }])
    expect(await answer(team, 'a\nb\nc\nd\ne')).toBe('a\nb\nc\nd\ne')
    expect(most).toBe(2)
  })

  test('refuses a list that is too long for a run', async () => {
    const team = workflow([member('worker')], [{ map: { agentId: 'worker' } }])
    await expect(answer(team, 'x\n'.repeat(1_001))).rejects.toThrow('1001 items')
  })
})

/** The words of an error and of its causes. */
function storyOf(error: unknown): readonly string[] {
  const story: string[] = []
  for (let at = error; at instanceof Error; at = at.cause) story.push(at.message)
  return story
}

function describeEvent(event: AgentEvent): string {
  if (typeof event === 'object' && 'statusUpdate' in event) {
    const { state, message } = event.statusUpdate.status
    return message ? `${state} ${textOf(message.parts)}` : state
  }
  if (typeof event === 'object' && 'artifactUpdate' in event) {
    const { artifact, append } = event.artifactUpdate
    return `chunk ${artifact.artifactId} ${textOf(artifact.parts)}${append ? ' +' : ''}`
  }
  return JSON.stringify(event)
}
