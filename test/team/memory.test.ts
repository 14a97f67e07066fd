import { describe, expect, test } from 'vitest'
import type { Agent, AgentEvent, Turn } from '../../src/agents/agent.ts'
import { toUsageMetadata, type Usage, usageOf } from '../../src/protocol/extensions.ts'
import { textOf, userMessage, validateTaskId } from '../../src/protocol/task.ts'
import type { Artifact, Json, JsonObject, Message, Task } from '../../src/protocol/types.ts'
import type { Step } from '../../src/team/config.ts'
import { defineScheduler } from '../../src/team/schedulers/scheduler.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'
import { createFakeClock, createInstantClock } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { createTurn, foldEvents, runTurn, type TurnSetup } from '../fixtures/turn.ts'

function workflow(agents: Record<string, Agent>, steps: readonly Step[], id = 'flow'): Team {
  return defineTeam({ id, name: id, agents, scheduler: { type: 'workflow', steps } })
}

/** A task of several turns: what is saved stays, steps belong to one turn. */
function conversation(team: Team) {
  const saved = new Map<string, Json>()
  const history: Message[] = []
  const traces: JsonObject[] = []
  let used: Usage | undefined
  return {
    saved,
    async say(text: string, setup: TurnSetup = {}): Promise<Task> {
      const message = userMessage(text)
      const status = { state: 'TASK_STATE_INPUT_REQUIRED' } as const
      const task = { id: 'task-1', contextId: 'context-1', status }
      const number = history.length + 1
      const known = history.length > 0 && { task, number, history: [...history] }
      const turn = createTurn(message, { saved, ...known, ...setup })
      history.push(message)
      const events = await runTurn(team, turn)
      traces.push(...turn.traces)
      used = events.map(usageIn).findLast(Boolean)
      return foldEvents(turn, events)
    },
    traces,
    /** The tokens that the last turn's status tells. */
    used: () => used,
  }
}

function usageIn(event: AgentEvent): Usage | undefined {
  const isStatus = typeof event === 'object' && 'statusUpdate' in event
  return isStatus ? usageOf(event.statusUpdate.metadata) : undefined
}

/** A member that says what each of its answers cost. */
function costly(id: string, inputTokens: number) {
  return member(id, (text, turn: Turn) => ({
    ...turn.reply(`${id}(${text})`),
    metadata: toUsageMetadata({ inputTokens, outputTokens: 1 }),
  }))
}

function textOfStatus(task: Task): string {
  return textOf(task.status.message?.parts ?? [])
}

function answerOf(task: Task): string {
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}

/** Asks for a colour, then answers with it. */
function asker(id: string) {
  return member(id, (text, turn: Turn) =>
    turn.task ? `${id} paints ${text}` : ask(turn, `${id}: which colour?`),
  )
}

async function* ask(turn: Turn, question: string) {
  yield turn.ask(question)
}

describe('a member’s question', () => {
  test('becomes the team’s, and the answer goes back to that member alone', async () => {
    const [first, painter, last] = [member('first'), asker('painter'), member('last')]
    const team = workflow({ first, painter, last }, [
      { agentId: 'first' },
      { agentId: 'painter' },
      { agentId: 'last' },
    ])
    const task = conversation(team)
    const asked = await task.say('a house')
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(textOfStatus(asked)).toBe('painter: which colour?')
    expect(last.asked).toEqual([])

    const done = await task.say('red')
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
    expect(done.artifacts?.map(({ artifactId }) => artifactId)).toEqual(['response-2'])
    expect(done.history?.map(({ parts }) => textOf(parts))).toEqual(['painter: painter paints red'])
    expect(answerOf(done)).toBe('last(painter paints red)')
    expect(first.asked).toEqual(['a house'])
    expect(painter.asked).toEqual(['first(a house)', 'red'])
    expect(painter.turns[1]?.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  })

  test('reaches through nested teams and back', async () => {
    const painter = asker('painter')
    const inner = workflow({ painter }, [{ agentId: 'painter' }], 'inner')
    const middle = workflow(
      { inner, other: member('other') },
      [{ agentId: 'other' }, { agentId: 'inner' }],
      'middle',
    )
    const outer = conversation(workflow({ middle }, [{ agentId: 'middle' }], 'outer'))
    expect(textOfStatus(await outer.say('a house'))).toBe('painter: which colour?')
    expect(answerOf(await outer.say('blue'))).toBe('painter paints blue')
  })

  test('of several branches is asked one after the other', async () => {
    const [a, b] = [asker('a'), asker('b')]
    const team = workflow({ a, b }, [{ parallel: [{ agentId: 'a' }, { agentId: 'b' }] }])
    const task = conversation(team)
    expect(textOfStatus(await task.say('walls'))).toBe('a: which colour?')
    expect(textOfStatus(await task.say('red'))).toBe('b: which colour?')
    expect(answerOf(await task.say('blue'))).toBe('a:\na paints red\n\nb:\nb paints blue')
    expect(a.asked).toEqual(['walls', 'red'])
  })

  test('that follows an answer gets no answer to another one', async () => {
    const a = member('a', (_text, turn: Turn) => ask(turn, 'a: which colour?'))
    const b = asker('b')
    let turns = 0
    // The second member is asked from the second turn on, and comes first then.
    const late = defineScheduler<null>({
      type: 'late',
      create: () => ({
        async schedule(run) {
          const isFirst = ++turns === 1
          await run.all([
            async (group) => void (!isFirst && (await group.ask('b', run.message))),
            async (group) => void (await group.ask('a', run.message)),
          ])
          return run.reply('done')
        },
      }),
    })
    const agents = { a, b }
    const task = conversation(defineTeam({ id: 't', name: 't', agents, scheduler: late(null) }))
    expect(textOfStatus(await task.say('walls'))).toBe('a: which colour?')
    expect(textOfStatus(await task.say('red'))).toBe('b: which colour?')
    expect(textOfStatus(await task.say('blue'))).toBe('a: which colour?')
    expect(a.asked).toEqual(['walls', 'red'])
  })

  test('keeps its state: a member that needs a login says so', async () => {
    const locked = member('locked', async function* (_text, turn) {
      yield turn.status('TASK_STATE_AUTH_REQUIRED', 'log in first')
    })
    const task = await conversation(workflow({ locked }, [{ agentId: 'locked' }])).say('x')
    expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  })

  test('is to the member a task in the state in which it asked, with what it had made', async () => {
    const locked = member('locked', async function* (_text, turn) {
      if (turn.task) {
        yield 'in'
        return
      }
      yield turn.artifact({ artifactId: 'draft', parts: [{ text: 'half' }] })
      yield turn.status('TASK_STATE_AUTH_REQUIRED', 'log in first')
    })
    const task = conversation(workflow({ locked }, [{ agentId: 'locked' }]))
    await task.say('x')
    await task.say('done')
    expect(locked.turns[1]?.task).toMatchObject({
      status: { state: 'TASK_STATE_AUTH_REQUIRED', message: { parts: [{ text: 'log in first' }] } },
      artifacts: [{ artifactId: 'draft', parts: [{ text: 'half' }] }],
    })
  })

  test('has the id and the notes that the member gave it, and words in any case', async () => {
    const asking = (message?: Message) =>
      member('a', async function* () {
        const status = { state: 'TASK_STATE_INPUT_REQUIRED', ...(message && { message }) } as const
        yield { statusUpdate: { status } }
      })
    const ask = async (message?: Message) => {
      const team = workflow({ a: asking(message) }, [{ agentId: 'a' }])
      return (await conversation(team).say('x')).status.message
    }
    const own = { messageId: 'q-1', role: 'ROLE_AGENT', parts: [{ text: 'Which?' }] } as const
    const metadata = { form: 'B12' }
    expect(await ask({ ...own, metadata })).toMatchObject({ ...own, metadata })
    expect((await ask())?.parts).toEqual([{ text: 'More input is needed' }])
  })

  test('leaves the member its whole time for the answer', async () => {
    const clock = createFakeClock()
    const painter = member('painter', (text, turn: Turn) => {
      if (!turn.task) return ask(turn, 'Which?')
      clock.advance(1_000)
      return `painter paints ${text}`
    })
    const scheduler = {
      type: 'workflow',
      steps: [{ agentId: 'painter', maxTaskSeconds: 60 }],
    } as const
    const agents = { painter }
    const task = conversation(defineTeam({ id: 't', name: 't', agents, scheduler, clock }))
    await task.say('a house')
    clock.advance(100_000)
    expect(answerOf(await task.say('red'))).toBe('painter paints red')
  })

  test('is forgotten when the run is over: the next message begins another run', async () => {
    const painter = asker('painter')
    const task = conversation(workflow({ painter }, [{ agentId: 'painter' }]))
    await task.say('a house')
    await task.say('red')
    expect(textOfStatus(await task.say('a barn'))).toBe('painter: which colour?')
  })
})

describe('a fallback’s question', () => {
  test('is answered to the fallback, not to the member that had failed', async () => {
    const broken = member('broken', () => {
      throw new Error('down')
    })
    const spare = asker('spare')
    const team = workflow({ broken, spare }, [{ agentId: 'broken', fallbackAgentId: 'spare' }])
    const task = conversation(team)
    await task.say('a house')
    expect(answerOf(await task.say('red'))).toBe('spare paints red')
    expect(broken.asked).toHaveLength(1)
  })
})

describe('a task that waits', () => {
  test('tells the member that asked when it is cancelled, through nested teams', async () => {
    const cancelled: unknown[] = []
    const painter: Agent = {
      ...member('painter', async function* (_text, turn) {
        await turn.save('remote', 'task-9')
        yield turn.ask('which colour?')
      }),
      async cancel(waiting) {
        cancelled.push(waiting.load('remote'))
      },
    }
    const inner = workflow({ painter }, [{ agentId: 'painter' }], 'inner')
    const outer = workflow({ inner }, [{ agentId: 'inner' }], 'outer')
    const task = conversation(outer)
    await task.say('a house')
    const load = (key: string) => task.saved.get(key)
    const keys = () => task.saved.keys()
    await outer.cancel({ taskId: 'task-1', contextId: 'context-1', load, keys })
    expect(cancelled).toEqual(['task-9'])
  })
})

test('a cancel gives each member what it has kept itself, whatever the ids of others', async () => {
  const told: unknown[] = []
  const keeper = (id: string): Agent => ({
    ...member(id),
    cancel: async (waiting) => void told.push([id, [...waiting.keys()], waiting.load('job')]),
  })
  const ids = ['a', 'a:b', 'ab']
  const agents = Object.fromEntries(ids.map((id) => [id, keeper(id)]))
  const team = workflow(
    agents,
    ids.map((agentId) => ({ agentId })),
  )
  const saved = new Map<string, Json>([
    ['1:a/job', 1],
    ['1:a/inner:x/job', 2],
    ['1:a:b/job', 3],
    ['1:ab/job', 4],
    ['spent', 5],
    ['calls:round-1', 6],
  ])
  const load = (key: string) => saved.get(key)
  await team.cancel({ taskId: 'task-1', contextId: 'c', load, keys: () => saved.keys() })
  expect(told).toEqual([
    ['a', ['job', 'inner:x/job'], 1],
    ['a:b', ['job'], 3],
    ['ab', ['job'], 4],
  ])
})

test('a cancel tells nobody of a run that is over', async () => {
  const told: string[] = []
  const painter: Agent = { ...asker('painter'), cancel: async () => void told.push('painter') }
  const team = workflow({ painter }, [{ agentId: 'painter' }])
  const task = conversation(team)
  const cancel = () => {
    const load = (key: string) => task.saved.get(key)
    return team.cancel({ taskId: 'task-1', contextId: 'context-1', load, keys: () => [] })
  }
  await task.say('a house')
  await cancel()
  expect(told).toEqual(['painter'])
  await task.say('red')
  await cancel()
  expect(told).toEqual(['painter'])
})

describe('where the answer of a later turn stands', () => {
  interface Scene {
    readonly artifacts: readonly Artifact[]
    readonly saved?: Json
    readonly words?: string
  }
  const text = (artifactId: string, words: string): Artifact => ({
    artifactId,
    parts: [{ text: words }],
  })

  test.each<readonly [string, Scene, string, boolean]>([
    ['with what was said before it', { artifacts: [text('response', 'One ')] }, 'response', true],
    [
      'apart, where it begins otherwise',
      { artifacts: [text('response', 'Two')] },
      'response-2',
      false,
    ],
    ['apart from nothing', { artifacts: [text('response', '')] }, 'response-2', false],
    [
      'apart from data',
      { artifacts: [{ artifactId: 'response', parts: [{ text: 'One ' }, { data: 1 }] }] },
      'response-2',
      false,
    ],
    [
      'with the last of several',
      { artifacts: [text('response', 'Other'), text('response-1', 'One '), text('chart', 'One')] },
      'response-1',
      true,
    ],
    ['apart from what is no response', { artifacts: [text('chart', 'One ')] }, 'response-2', false],
    [
      'where an earlier attempt has put it',
      {
        artifacts: [text('response', 'One two three')],
        saved: { turn: 2, artifactId: 'response' },
      },
      'response',
      false,
    ],
    [
      'and not where an earlier turn had put its own',
      { artifacts: [text('response', 'Else')], saved: { turn: 1, artifactId: 'response' } },
      'response-2',
      false,
    ],
  ])('%s', async (_where, { artifacts, saved: place, words = 'One two' }, expected, isKept) => {
    const saved = new Map<string, Json>(place === undefined ? [] : [['response', place]])
    const status = { state: 'TASK_STATE_INPUT_REQUIRED' } as const
    const task = { id: 'task-1', contextId: 'context-1', status, artifacts }
    const message = userMessage('go')
    // A turn that runs again after a crash finds its own message in the history.
    const history = [userMessage('before'), message]
    const turn = createTurn(message, { saved, task, number: 2, history })
    const a = member('a', async function* () {
      yield words
    })
    const events = await runTurn(workflow({ a }, [{ agentId: 'a' }]), turn)
    expect(foldEvents(turn, events).artifacts?.map(({ artifactId }) => artifactId)).toEqual([
      expected,
    ])
    expect(saved.get('response')).toEqual(isKept ? { turn: 2, artifactId: expected } : place)
  })
})

describe('approval', () => {
  const steps: readonly Step[] = [
    { agentId: 'draft' },
    { approval: { question: 'Publish this?' } },
    { agentId: 'publish' },
  ]

  test('shows what is to be approved and goes on with it on yes', async () => {
    const [draft, publish] = [member('draft'), member('publish')]
    const task = conversation(workflow({ draft, publish }, steps))
    expect(textOfStatus(await task.say('news'))).toBe('draft(news)\n\nPublish this?')
    expect(answerOf(await task.say('Yes.'))).toBe('publish(draft(news))')
    expect(draft.asked).toHaveLength(1)
  })

  test('ends the task as rejected on no', async () => {
    const [draft, publish] = [member('draft'), member('publish')]
    const task = conversation(workflow({ draft, publish }, steps))
    await task.say('news')
    expect((await task.say('no')).status.state).toBe('TASK_STATE_REJECTED')
    expect(publish.asked).toEqual([])
  })

  test.each([
    'No, don’t publish it',
    'nope',
    'not yet',
    'yes, but only on Monday',
    'yes?',
    'so so',
  ])('asks again on anything else: %s', async (words) => {
    const [draft, publish] = [member('draft'), member('publish')]
    const task = conversation(workflow({ draft, publish }, steps))
    await task.say('news')
    for (const _ of [1, 2]) {
      const asked = await task.say(words)
      expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      expect(textOfStatus(asked)).toBe(
        'That was neither a yes nor a no. Please answer yes or no.\n\ndraft(news)\n\nPublish this?',
      )
    }
    expect(publish.asked).toEqual([])
    expect(answerOf(await task.say(' OK! '))).toBe('publish(draft(news))')
    expect(draft.asked).toHaveLength(1)
  })
})

describe('after a crash', () => {
  test('delegations that had ended are not repeated, the interrupted one is', async () => {
    const a = member('a')
    let broken = true
    const b = member('b', (text) => {
      if (broken) throw new Error('the process dies here')
      return `b(${text})`
    })
    const team = workflow({ a, b }, [{ agentId: 'a' }, { agentId: 'b' }])
    const steps = new Map<string, Json>()
    await expect(runTurn(team, createTurn('x', { steps }))).rejects.toThrow()
    broken = false
    const again = createTurn('x', { steps, attempt: 2 })
    expect(answerOf(foldEvents(again, await runTurn(team, again)))).toBe('b(a(x))')
    expect(a.asked).toHaveLength(1)
    expect(b.asked).toHaveLength(2)
  })

  test('in nested teams the inner steps are kept too', async () => {
    const [a, b] = [member('a'), member('b')]
    const inner = workflow({ a, b }, [{ agentId: 'a' }, { agentId: 'b' }], 'inner')
    const team = workflow({ inner }, [{ agentId: 'inner' }], 'outer')
    const steps = new Map<string, Json>()
    const turn = createTurn('x', { steps })
    await runTurn(team, turn)
    expect([...steps.keys()]).toEqual(['1:inner/1:a', '1:inner/2:b', '1:inner'])
    steps.delete('1:inner')
    const again = createTurn('x', { steps, attempt: 2 })
    expect(answerOf(foldEvents(again, await runTurn(team, again)))).toBe('b(a(x))')
    expect(a.asked).toHaveLength(1)
  })

  test('a member is sent the same message id again, and another one for another try', async () => {
    const ids: string[] = []
    const a = member('a', (_text, turn, message) => {
      expect(turn.message.messageId).toBe(message.messageId)
      ids.push(message.messageId)
      throw new Error('no')
    })
    const steps = [{ agentId: 'a', maxRetries: 1 }] as const
    const team = defineTeam({
      id: 'flow',
      name: 'flow',
      agents: { a },
      scheduler: { type: 'workflow', steps },
      clock: createInstantClock(),
    })
    const message = userMessage('x')
    await expect(runTurn(team, createTurn(message))).rejects.toThrow()
    await expect(runTurn(team, createTurn(message, { attempt: 2 }))).rejects.toThrow()
    expect(ids).toHaveLength(4)
    expect(ids.slice(0, 2)).toEqual(ids.slice(2))
    expect(new Set(ids).size).toBe(2)
    expect(ids.every((id) => validateTaskId(id))).toBe(true)
  })

  test('a finished last step gives the whole answer once', async () => {
    const a = member('a', async function* () {
      yield 'one '
      yield 'two'
    })
    const team = workflow({ a }, [{ agentId: 'a' }])
    const steps = new Map<string, Json>()
    const first = createTurn('x', { steps })
    const before = await runTurn(team, first)
    const again = createTurn('x', { steps, attempt: 2 })
    const after = await runTurn(team, again)
    const lost = before.filter((event) => typeof event === 'object' && 'artifactUpdate' in event)
    expect(answerOf(foldEvents(again, [...lost, ...after]))).toBe('one two')
    expect(a.asked).toHaveLength(1)
  })

  test('a question is asked again, not taken for its own answer, whatever the attempt', async () => {
    for (const attempt of [1, 2]) {
      const painter = asker('painter')
      const inner = workflow({ painter }, [{ agentId: 'painter' }], 'inner')
      const team = workflow({ inner }, [{ agentId: 'inner' }])
      const saved = new Map<string, Json>()
      const message = userMessage('a house')
      await runTurn(team, createTurn(message, { saved }))
      const again = createTurn(message, { saved, attempt })
      const task = foldEvents(again, await runTurn(team, again))
      expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      expect(painter.asked).toEqual(['a house', 'a house'])

      const answer = createTurn('green', { saved, task, history: [message] })
      expect(answerOf(foldEvents(answer, await runTurn(team, answer)))).toBe('painter paints green')
    }
  })

  test('an answer counts as one even when its client uses the same message id again', async () => {
    const team = workflow({ painter: asker('painter') }, [{ agentId: 'painter' }])
    const saved = new Map<string, Json>()
    const first = createTurn({ ...userMessage('a house'), messageId: 'same' }, { saved })
    const task = foldEvents(first, await runTurn(team, first))
    const second = createTurn({ ...userMessage('red'), messageId: 'same' }, { saved, task })
    expect(answerOf(foldEvents(second, await runTurn(team, second)))).toBe('painter paints red')
  })

  test('an answer is given again to the member that had taken it when the process died', async () => {
    let broken = true
    const painter = asker('painter')
    const last = member('last', (text) => {
      if (broken) throw new Error('the process dies here')
      return `last(${text})`
    })
    const team = workflow({ painter, last }, [{ agentId: 'painter' }, { agentId: 'last' }])
    const saved = new Map<string, Json>()
    const first = createTurn('a house', { saved })
    const task = foldEvents(first, await runTurn(team, first))
    const red = userMessage('red')
    const steps = new Map<string, Json>()
    await expect(runTurn(team, createTurn(red, { saved, task, steps }))).rejects.toThrow()
    broken = false
    const working = { ...task, status: { state: 'TASK_STATE_WORKING' } } as const
    const again = createTurn(red, { saved, task: working, steps })
    const done = foldEvents(again, await runTurn(team, again))
    expect(answerOf(done)).toBe('last(painter paints red)')
    expect(painter.asked).toEqual(['a house', 'red'])
  })
})

describe('the tokens of a run', () => {
  const approval = { approval: { question: 'Go on?' } }

  test('are those of all its turns', async () => {
    const steps = [{ agentId: 'a' }, approval, { agentId: 'b' }, approval, { agentId: 'c' }]
    const agents = { a: costly('a', 100), b: costly('b', 20), c: costly('c', 3) }
    const task = conversation(workflow(agents, steps))
    await task.say('x')
    await task.say('yes')
    await task.say('yes')
    expect(task.used()).toEqual({ inputTokens: 123, outputTokens: 3 })
  })

  test('are counted once where a nested team asked', async () => {
    const inner = workflow({ a: costly('a', 100), p: asker('p') }, [
      { agentId: 'a' },
      { agentId: 'p' },
    ])
    const outer = workflow(
      { inner, b: costly('b', 20) },
      [{ agentId: 'inner' }, { agentId: 'b' }],
      'outer',
    )
    const task = conversation(outer)
    await task.say('x')
    await task.say('red')
    expect(task.used()).toEqual({ inputTokens: 120, outputTokens: 2 })
  })

  test('are the same when the turn runs again after a crash', async () => {
    const steps = [{ agentId: 'a' }, approval, { agentId: 'b' }, approval]
    const task = conversation(workflow({ a: costly('a', 100), b: costly('b', 20) }, steps))
    await task.say('x')
    await task.say('yes')
    await task.say('yes', { number: 2 })
    expect(task.saved.get('run')).toMatchObject({ used: { inputTokens: 120 } })
  })

  test('of a nested team are counted once where it asks again and the turn runs again', async () => {
    const steps = [{ agentId: 'a' }, approval, { agentId: 'b' }, approval]
    const inner = workflow({ a: costly('a', 100), b: costly('b', 20) }, steps, 'inner')
    const task = conversation(workflow({ inner }, [{ agentId: 'inner' }], 'outer'))
    await task.say('x')
    await task.say('yes')
    await task.say('yes', { number: 2 })
    expect(task.saved.get('run')).toMatchObject({ used: { inputTokens: 120 } })
    await task.say('yes', { number: 3 })
    expect(task.used()).toEqual({ inputTokens: 120, outputTokens: 2 })
  })

  test('of a try that failed before a question are counted in its turn alone', async () => {
    let tries = 0
    const a = member('a', (text, turn: Turn) => {
      if (turn.task) return text
      if (++tries > 1) return ask(turn, 'Which?')
      turn.account?.spend({ inputTokens: 10, outputTokens: 1 })
      throw new Error('no')
    })
    const scheduler = { type: 'workflow', steps: [{ agentId: 'a', maxRetries: 1 }] } as const
    const clock = createInstantClock()
    const team = defineTeam({ id: 't', name: 't', agents: { a }, scheduler, clock })
    const task = conversation(team)
    await task.say('x')
    await task.say('red')
    expect(task.used()).toEqual({ inputTokens: 10, outputTokens: 1 })
  })

  test('count against the budget in later turns too', async () => {
    const agents = { a: costly('a', 100), b: costly('b', 20) }
    const steps = [{ agentId: 'a' }, approval, { agentId: 'b' }] as const
    const scheduler = { type: 'workflow', steps } as const
    const team = defineTeam({ id: 't', name: 't', agents, scheduler, budget: { maxTokens: 50 } })
    const task = conversation(team)
    await task.say('x')
    await expect(task.say('yes')).rejects.toThrow('budget of 50 tokens')
  })
})

test('decisions are in the trace once, whatever turns the run takes', async () => {
  const approval = { approval: { question: 'Go on?' } }
  const steps = [{ agentId: 'a' }, approval, approval, { agentId: 'b' }]
  const task = conversation(workflow({ a: member('a'), b: member('b') }, steps))
  await task.say('x')
  await task.say('perhaps')
  await task.say('yes')
  await task.say('no')
  const decided = task.traces.filter(({ type }) => type === 'approval')
  expect(decided).toEqual([
    { type: 'approval', team: 'flow', step: '2', verdict: 'unclear', text: 'perhaps' },
    { type: 'approval', team: 'flow', step: '2', verdict: 'approved', text: 'yes' },
    { type: 'approval', team: 'flow', step: '3', verdict: 'rejected', text: 'no' },
  ])
})
