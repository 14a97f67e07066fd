import { describe, expect, test } from 'vitest'
import type { Agent, Turn } from '../../../src/agents/agent.ts'
import { toUsageMetadata } from '../../../src/protocol/extensions.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { Json, Task } from '../../../src/protocol/types.ts'
import { replyParts } from '../../../src/team/reply.ts'
import {
  defineScheduler,
  type OwnScheduler,
  type Scheduler,
} from '../../../src/team/schedulers/scheduler.ts'
import { defineTeam, type Team } from '../../../src/team/team.ts'
import { InvalidTeamError } from '../../../src/team/validate.ts'
import { member } from '../../fixtures/members.ts'
import { createTurn, foldEvents, runTurn, type TurnSetup } from '../../fixtures/turn.ts'
import { answerText, connect, serve } from '../scene.ts'

function teamOf(agents: Record<string, Agent>, scheduler: OwnScheduler): Team {
  return defineTeam({ id: 'team', name: 'Team', agents, scheduler })
}

/** A scheduler without settings. */
function own(schedule: Scheduler['schedule']): OwnScheduler {
  return defineScheduler<null>({ type: 'mine', create: () => ({ schedule }) })(null)
}

async function say(team: Team, text: string, setup: TurnSetup = {}): Promise<Task> {
  const turn = createTurn(text, setup)
  return foldEvents(turn, await runTurn(team, turn))
}

/** The next turn of a task that waits for its user. */
function next(saved: Map<string, Json>): TurnSetup {
  const status = { state: 'TASK_STATE_INPUT_REQUIRED' } as const
  return { saved, number: 2, task: { id: 'task-1', contextId: 'context-1', status } }
}

function answerOf(task: Task): string {
  return textOf((task.artifacts ?? []).flatMap((artifact) => artifact.parts))
}

function questionOf(task: Task): string {
  return textOf(task.status.message?.parts ?? [])
}

describe('a scheduler of one’s own', () => {
  test('answers over A2A like any other, with its type as the mode', async () => {
    const shout = own(async (run) => {
      const reply = await run.ask('clerk', run.message)
      return run.reply(textOf(replyParts(reply)).toUpperCase())
    })
    const team = teamOf({ clerk: member('clerk') }, shout)
    const client = connect(await serve(team))
    expect(answerText(await client.sendMessage('hello'))).toBe('CLERK(HELLO)')
    expect((await team.info()).metadata.mode).toBe('mine')
  })

  test('decides once, however often the run is repeated', async () => {
    let made = 0
    const asker = member('asker', (text, turn: Turn) => (turn.task ? text : question(turn)))
    const team = teamOf(
      { asker },
      own(async (run) => {
        const number = await run.decide(() => ++made)
        const reply = await run.ask('asker', `question ${number}`)
        return run.reply(`${number}: ${textOf(replyParts(reply))}`)
      }),
    )
    const saved = new Map<string, Json>()
    const steps = new Map<string, Json>()
    await say(team, 'x', { saved, steps })
    await say(team, 'x', { saved: new Map(), steps, attempt: 2 })
    expect(answerOf(await say(team, 'yes', next(saved)))).toBe('1: yes')
    expect(made).toBe(1)
  })

  test.each([0, false, '', null])('keeps the decision %j, as any other', async (decision) => {
    let made = 0
    const team = teamOf(
      { clerk: member('clerk') },
      own(async (run) => {
        await run.decide(() => {
          made++
          return decision
        })
        run.askUser('Well?')
        return run.reply('done')
      }),
    )
    const saved = new Map<string, Json>()
    await say(team, 'x', { saved })
    expect(answerOf(await say(team, 'yes', next(saved)))).toBe('done')
    expect(made).toBe(1)
  })

  test('does several things at once, and asks the user one question after the other', async () => {
    const asks = (id: string) =>
      member(id, (text, turn: Turn) => (turn.task ? `${id} ${text}` : question(turn, id)))
    const [a, b] = [asks('a'), asks('b')]
    const team = teamOf(
      { a, b },
      own(async (run) => {
        const replies = await run.all(
          ['a', 'b'].map((id) => async (branch) => {
            await branch.decide(() => id)
            return branch.ask(id, run.message)
          }),
        )
        return run.reply(replies.map((reply) => textOf(replyParts(reply))).join(', '))
      }),
    )
    const saved = new Map<string, Json>()
    expect(questionOf(await say(team, 'x', { saved }))).toBe('a?')
    expect(questionOf(await say(team, 'red', next(saved)))).toBe('b?')
    expect(answerOf(await say(team, 'blue', { ...next(saved), number: 3 }))).toBe('a red, b blue')
    expect(a.asked).toEqual(['x', 'red'])
    expect(b.asked).toEqual(['x', 'blue'])
  })

  test('asks the user itself, and tells the caller what is going on', async () => {
    const team = teamOf(
      { clerk: member('clerk') },
      own(async (run) => {
        const answer = run.askUser('Which form?')
        await run.progress('Looking for it')
        return run.ask('clerk', answer, { live: true })
      }),
    )
    const saved = new Map<string, Json>()
    expect(questionOf(await say(team, 'x', { saved }))).toBe('Which form?')
    const done = await say(team, 'B12', next(saved))
    expect(answerOf(done)).toBe('clerk(B12)')
    expect(done.history?.map(({ parts }) => textOf(parts))).toEqual(['Looking for it'])
  })

  test('may answer with artifacts of its own: the first is the response, empty ones are left out', async () => {
    const text = (words: string) => [{ text: words }]
    const used = { inputTokens: 3, outputTokens: 1 }
    const clerk = member('clerk', (_text, turn: Turn) => ({
      ...turn.reply('x'),
      metadata: toUsageMetadata(used),
    }))
    const team = teamOf(
      { clerk },
      own(async (run) => {
        await run.ask('clerk', 'x')
        const artifacts = [
          { artifactId: 'none', parts: [] },
          { artifactId: 'one', parts: text('1'), metadata: { kept: true } },
          { artifactId: 'two', parts: text('2') },
        ]
        return { state: 'TASK_STATE_COMPLETED', artifacts }
      }),
    )
    expect((await say(team, 'x')).artifacts).toEqual([
      {
        artifactId: 'response',
        parts: text('1'),
        metadata: { kept: true, ...toUsageMetadata(used) },
      },
      { artifactId: 'two', parts: text('2') },
    ])
  })

  test('reaches members of its team alone', async () => {
    const team = teamOf(
      { clerk: member('clerk') },
      own((run) => run.ask('clerk', 'x', { fallbackAgentId: 'stranger' })),
    )
    team.manager.registerWithId('stranger', member('stranger'))
    await expect(runTurn(team, createTurn('x'))).rejects.toThrow(/outside the team/)
  })

  test('reaches no stranger as the member itself either', async () => {
    const team = teamOf(
      { clerk: member('clerk') },
      own((run) => run.ask('stranger', 'x', { fallbackAgentId: 'clerk' })),
    )
    team.manager.registerWithId('stranger', member('stranger'))
    await expect(runTurn(team, createTurn('x'))).rejects.toThrow(/outside the team/)
  })

  test.each([
    [true, ['one ', 'two']],
    [false, ['one two']],
  ])('shows the words of a member as they come where it says so: %j', async (live, chunks) => {
    const clerk = member('clerk', async function* () {
      yield 'one '
      yield 'two'
    })
    const events = await runTurn(
      teamOf(
        { clerk },
        own((run) => run.ask('clerk', 'x', { live })),
      ),
      createTurn('x'),
    )
    const said = events.flatMap((event) =>
      typeof event === 'object' && 'artifactUpdate' in event
        ? [textOf(event.artifactUpdate.artifact.parts)]
        : [],
    )
    expect(said).toEqual(chunks)
  })

  test('may go on when a member fails', async () => {
    const broken = member('broken', () => {
      throw new Error('no')
    })
    const team = teamOf(
      { broken },
      own(async (run) => {
        const reply = await run.ask('broken', run.message, { tolerant: true })
        return run.reply(reply.state)
      }),
    )
    expect(answerOf(await say(team, 'x'))).toBe('TASK_STATE_FAILED')
  })
})

describe('a team with a scheduler of one’s own is refused', () => {
  const limited = defineScheduler<{ readonly max: number }>({
    type: 'limited',
    validate: ({ max }) => (max > 0 ? undefined : `max must be more than 0, not ${max}`),
    create: () => ({ schedule: (run) => run.ask('clerk', run.message) }),
  })

  function faultOf(scheduler: OwnScheduler): unknown {
    try {
      return teamOf({ clerk: member('clerk') }, scheduler)
    } catch (error) {
      return error instanceof InvalidTeamError ? [error.fault, error.message] : error
    }
  }

  test('with the reason that the scheduler gives', () => {
    expect(faultOf(limited({ max: 0 }))).toEqual([
      'invalidScheduler',
      'Team "team": limited: max must be more than 0, not 0',
    ])
  })

  test('for a config that cannot be written down', () => {
    const cyclic: { max: number; self?: unknown } = { max: 1 }
    cyclic.self = cyclic
    expect(faultOf(limited(cyclic))).toMatchObject([
      'invalidScheduler',
      expect.stringContaining('plain data'),
    ])
  })

  test.each(['{"type":"own"}', JSON.stringify(limited({ max: 1 }))])('when read as %s', (text) => {
    const read: OwnScheduler = JSON.parse(text)
    expect(faultOf(read)).toMatchObject([
      'invalidScheduler',
      expect.stringContaining('defineScheduler'),
    ])
  })

  test.each(['', 'Two Words', 'workflow', '7', 'x'.repeat(65)])('with the type %j', (type) => {
    const schedule: Scheduler['schedule'] = (run) => run.ask('clerk', run.message)
    const scheduler = defineScheduler<null>({ type, create: () => ({ schedule }) })(null)
    expect(faultOf(scheduler)).toMatchObject(['invalidScheduler', expect.any(String)])
  })
})

test.each(['x', 'x'.repeat(64), 'a-b_7'])('the type of a scheduler may be %s', (type) => {
  const schedule: Scheduler['schedule'] = (run) => run.ask('clerk', run.message)
  const scheduler = defineScheduler<null>({ type, create: () => ({ schedule }) })(null)
  expect(teamOf({ clerk: member('clerk') }, scheduler)).toBeDefined()
})

async function* question(turn: Turn, name = '') {
  yield turn.ask(`${name}?`)
}
