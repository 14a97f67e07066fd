import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import type { GuardContent, Guards, GuardVerdict } from '../../src/agents/guards/guard.ts'
import { runTeam, type TeamRun } from '../../src/app/run-team.ts'
import { toUsageMetadata, traceExtension, usageOf } from '../../src/protocol/extensions.ts'
import { textOf, userMessage } from '../../src/protocol/task.ts'
import type { JsonObject } from '../../src/protocol/types.ts'
import { createServer } from '../../src/server/index.ts'
import { openSqliteStore } from '../../src/store/index.ts'
import type { SchedulerConfig, Step } from '../../src/team/config.ts'
import { defineTeam } from '../../src/team/team.ts'
import { type MemberScript, scripted } from '../../src/testing/member.ts'
import { member, untilCancelled } from '../fixtures/members.ts'
import { taskOf } from './scene.ts'

const key = 'sk-abcd1234efgh5678ijkl9012mnop3456'

type TeamGuards = Guards<'writer' | 'judge'>

interface Setup {
  readonly guards?: TeamGuards
  readonly step?: TeamGuards
  readonly writer?: MemberScript
  readonly judge?: MemberScript
  readonly more?: Readonly<Record<string, unknown>>
}

/** A workflow of one writer under guards, and a judge beside it. */
function teamOf({ guards, step, writer = ['draft'], judge = ['allow'], more }: Setup) {
  const members = {
    writer: scripted(writer, { id: 'writer' }),
    judge: scripted(judge, { id: 'judge' }),
  }
  const agentStep = { agentId: 'writer', ...(step && { guards: step }), ...more } as const
  const scheduler: SchedulerConfig<'writer' | 'judge'> = { type: 'workflow', steps: [agentStep] }
  const team = defineTeam({
    id: 'team',
    name: 'Team',
    agents: members,
    scheduler,
    ...(guards && { guards }),
  })
  return { team, ...members }
}

const run = (team: Agent, text = 'x', answers: readonly string[] = []): Promise<TeamRun> =>
  runTeam(team, text, { logger: false, answers })

const guardsOf = ({ trace }: TeamRun): readonly JsonObject[] =>
  trace.filter(({ type }) => type === 'guard')

describe('guards of a step', () => {
  test('the member gets what they left, and the next step and the caller what they left of its answer', async () => {
    const { team, writer } = teamOf({
      step: { input: ['secrets'], output: ['email'] },
      writer: ['ask joe@example.com'],
    })
    const result = await run(team, `with ${key}`)
    expect(writer.asked).toEqual(['with [secret removed]'])
    expect(result.text).toBe('ask [email removed]')
    expect(JSON.stringify(result.events)).not.toContain('joe@')
    expect(guardsOf(result)).toMatchObject([
      {
        team: 'team',
        agent: 'writer',
        step: '1',
        at: 'input',
        guard: 'secrets',
        verdict: 'replace',
      },
      {
        team: 'team',
        agent: 'writer',
        step: '1',
        at: 'output',
        guard: 'email',
        verdict: 'replace',
      },
    ])
  })

  test('in a nested team, what they found tells the side as well as the way to it', async () => {
    const { team: inner } = teamOf({ step: { input: ['secrets'], output: ['email'] } })
    const agents = { inner }
    const scheduler = { type: 'workflow', steps: [{ agentId: 'inner' }] } as const
    const outer = defineTeam({ id: 'outer', name: 'Outer', agents, scheduler })
    expect(guardsOf(await run(outer, `with ${key}`))).toMatchObject([
      { team: 'team', side: 'input', at: '1:inner/input', path: '1:inner', verdict: 'replace' },
      { team: 'team', side: 'output', at: '1:inner/output', path: '1:inner', verdict: 'allow' },
    ])
    const { team: alone } = teamOf({ step: { input: ['secrets'] } })
    const [entry] = guardsOf(await run(alone, `with ${key}`))
    expect(entry).toMatchObject({ side: 'input', at: 'input' })
    expect(entry).not.toHaveProperty('path')
  })

  test('a blocked question rejects the task, and is not tried again', async () => {
    const { team, writer } = teamOf({
      step: { input: [{ use: 'length', max: 2 }] },
      more: { maxRetries: 3 },
    })
    const result = await run(team, 'long')
    expect(result.state).toBe('TASK_STATE_REJECTED')
    expect(result.text).toContain('at most 2 are allowed')
    expect(writer.asked).toEqual([])
    expect(guardsOf(result)).toHaveLength(1)
  })

  test('a blocked answer fails the task with its reason and what it cost', async () => {
    const metadata = toUsageMetadata({ inputTokens: 3, outputTokens: 4 })
    const { team } = teamOf({
      step: { output: [{ use: 'length', max: 2 }] },
      writer: (_text, turn) => ({ ...turn.reply('too long'), metadata }),
    })
    const result = await run(team)
    expect([result.state, result.text]).toEqual([
      'TASK_STATE_FAILED',
      'The answer was blocked by the guard length: it has 8 characters; at most 2 are allowed',
    ])
    const { message } = result.task.status
    expect(usageOf(message?.metadata)).toMatchObject({ inputTokens: 3, outputTokens: 4 })
  })

  test('a blocked answer is asked for again where the step says so', async () => {
    const { team, writer } = teamOf({
      step: { output: [{ use: 'length', max: 5 }] },
      writer: ['too long', 'short'],
      more: { maxRetries: 1 },
    })
    expect((await run(team)).text).toBe('short')
    expect(writer.asked).toHaveLength(2)
  })

  test('a member’s own guards tell their reason through the team', async () => {
    const { team: inner } = teamOf({ guards: { input: [{ use: 'length', max: 2 }] } })
    const outer = defineTeam({
      id: 'outer',
      name: 'Outer',
      agents: { inner },
      scheduler: { type: 'workflow', steps: [{ agentId: 'inner' }] },
    })
    const { state, text } = await run(outer, 'long')
    expect(state).toBe('TASK_STATE_REJECTED')
    expect(text).toContain('at most 2 are allowed')
  })
})

describe('guards of steps within steps', () => {
  const email: Guards<'a' | 'b'> = { output: ['email'] }

  test('stand around the member of a parallel step, a map, a join, a branch and a loop', async () => {
    const a = scripted((text) => `${text} a@example.com`, { id: 'a' })
    const b = scripted((text) => `${text} b@example.com`, { id: 'b' })
    const of = (steps: readonly Step<'a' | 'b'>[]) =>
      defineTeam({
        id: 'team',
        name: 'Team',
        agents: { a, b },
        scheduler: { type: 'workflow', steps },
      })
    const step = { agentId: 'a', guards: email } as const
    const joined = await run(
      of([{ parallel: [step, step], join: { agentId: 'b', guards: email } }]),
    )
    expect(b.asked.join()).not.toContain('@')
    const mapped = await run(of([{ map: step }]), '["one","two"]')
    const chosen = await run(of([{ branch: [{ steps: [step] }] }]))
    const looped = await run(of([{ loop: { steps: [step], until: 'removed', maxIterations: 3 } }]))
    for (const { text, state } of [joined, mapped, chosen, looped]) {
      expect(state).toBe('TASK_STATE_COMPLETED')
      expect(text).toContain('[email removed]')
      expect(text).not.toContain('@')
    }
  })
})

describe('guards and a schema of the answer', () => {
  test('the guards of the input come first, then the schema, then the guards of the output', async () => {
    const seen: unknown[] = []
    const see = ({ data }: GuardContent): GuardVerdict => {
      seen.push(data)
      return { verdict: 'allow' }
    }
    const writer = scripted(['prose', '{"mail":"joe@example.com"}'], { id: 'writer' })
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { writer },
      scheduler: {
        type: 'workflow',
        steps: [
          {
            agentId: 'writer',
            outputSchema: { type: 'object', required: ['mail'] },
            guards: { input: ['secrets'], output: [see, 'email'] },
          },
        ],
      },
    })
    const { task } = await run(team, `use ${key}`)
    expect(writer.asked).toHaveLength(2)
    expect(writer.asked.join()).not.toContain(key)
    expect(seen).toEqual([{ mail: 'joe@example.com' }])
    expect(task.artifacts?.[0]?.parts[0]).toMatchObject({ data: { mail: '[email removed]' } })
  })
})

describe('guards of a team', () => {
  test('look at its messages, its progress, its answer and its questions', async () => {
    const first = scripted([`first ${key}`], { id: 'first' })
    const last = scripted([{ asks: `Is it ${key}?` }, { chunks: ['last sk-', key.slice(3)] }], {
      id: 'last',
    })
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { first, last },
      scheduler: { type: 'workflow', steps: [{ agentId: 'first' }, { agentId: 'last' }] },
      guards: { input: ['email'], output: ['secrets'] },
    })
    const result = await run(team, 'joe@example.com', ['ann@example.com'])
    expect(first.asked).toEqual(['[email removed]'])
    expect(last.asked).toEqual([`first ${key}`, '[email removed]'])
    expect(result.questions).toEqual(['Is it [secret removed]?'])
    expect(result.text).toBe('last [secret removed]')
    const heard = JSON.stringify(result.events)
    expect(heard).not.toContain(key)
    expect(heard).toContain('first: first [secret removed]')
  })

  test('let through as progress what a member says while it works, and not its answer', async () => {
    const writer = member('writer', async function* (_text, turn) {
      yield turn.status('TASK_STATE_WORKING', 'thinking')
      yield turn.status('TASK_STATE_COMPLETED', 'the answer')
    })
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { writer },
      scheduler: { type: 'workflow', steps: [{ agentId: 'writer' }] },
      guards: { output: ['secrets'] },
    })
    const result = await run(team)
    const said = result.events.flatMap((event) =>
      'statusUpdate' in event ? textOf(event.statusUpdate.status.message?.parts ?? []) : [],
    )
    expect(new Set(said)).toEqual(new Set(['thinking', '']))
    expect(result.text).toBe('the answer')
  })

  test('look at the notes of a question too', async () => {
    const { team } = teamOf({
      guards: { output: ['secrets'] },
      writer: async function* (_text, turn) {
        const message = { ...turn.reply('Which?'), metadata: { why: `for ${key}` } }
        yield { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED', message } } }
      },
    })
    const { task, events } = await run(team)
    expect(task.status.message?.metadata).toEqual({ why: 'for [secret removed]' })
    expect(JSON.stringify(events)).not.toContain(key)
  })

  test('that ask a member leave progress out, and what is judged is not in the trace', async () => {
    const members = { a: scripted(['first']), b: scripted(['last']), judge: scripted(['allow']) }
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: members,
      scheduler: { type: 'workflow', steps: [{ agentId: 'a' }, { agentId: 'b' }] },
      guards: { output: [{ member: 'judge' }] },
    })
    const { text, trace } = await run(team)
    expect(text).toBe('last')
    expect(members.judge.asked).toEqual(['last'])
    const judged = trace.filter((entry) => entry.member === 'judge')
    expect(judged.map((entry) => [entry.type, entry.text])).toEqual([
      ['delegation', ''],
      ['reply', ''],
    ])
  })

  test('a blocked message is rejected before any member hears of it', async () => {
    const { team, writer } = teamOf({ guards: { input: [{ use: 'secrets', action: 'block' }] } })
    const result = await run(team, key)
    expect(result.state).toBe('TASK_STATE_REJECTED')
    expect(writer.asked).toEqual([])
  })

  test('a blocked answer fails, and the caller hears nothing of it', async () => {
    const { team } = teamOf({
      guards: { output: [{ use: 'secrets', action: 'block' }] },
      writer: [{ chunks: ['it is ', key] }],
    })
    const result = await run(team)
    expect(result.state).toBe('TASK_STATE_FAILED')
    expect(JSON.stringify([result.task, result.events])).not.toMatch(/it is |sk-/)
  })

  test('a member does not see in the conversation what was taken out', async () => {
    const seen: string[] = []
    const { team } = teamOf({
      guards: { input: ['secrets'] },
      writer: (_text, turn) =>
        turn.conversation(10).then((messages) => {
          seen.push(JSON.stringify(messages))
          return 'ok'
        }),
    })
    const server = await createServer({ agents: [team], logger: false })
    onTestFinished(() => server.close())
    const send = (text: string) =>
      server.dispatch()('SendMessage', { message: userMessage(text, { contextId: 'c' }) }, {})
    await send(`use ${key}`)
    await send('again')
    expect(seen[1]).toContain('use [secret removed]')
    expect(seen[1]).not.toContain(key)
  })
})

describe('a member as a guard', () => {
  const asGuard: TeamGuards = { output: [{ member: 'judge' }] }

  test.each<[string, MemberScript, GuardVerdict]>([
    ['the word allow', ['Allow.'], { verdict: 'allow' }],
    ['data', [{ data: { verdict: 'allow' } }], { verdict: 'allow' }],
    ['JSON', ['{"verdict":"allow"}'], { verdict: 'allow' }],
    ['JSON in a fence', ['```json\n{"verdict":"allow"}\n```'], { verdict: 'allow' }],
    [
      'a replacement',
      [{ data: { verdict: 'replace', text: 'better' } }],
      { verdict: 'replace', text: 'better' },
    ],
    ['block: reason', ['block: too rude'], { verdict: 'block', reason: 'too rude' }],
    [
      'data that blocks',
      [{ data: { verdict: 'block', reason: 'no' } }],
      { verdict: 'block', reason: 'no' },
    ],
    ['prose', ['I would allow it.'], { verdict: 'block', reason: 'could not be checked' }],
    [
      'prose with JSON',
      ['It says {"verdict":"allow"}'],
      { verdict: 'block', reason: 'could not be checked' },
    ],
    ['nothing', [''], { verdict: 'block', reason: 'could not be checked' }],
    [
      'two verdicts',
      [{ data: [{ verdict: 'allow' }] }],
      { verdict: 'block', reason: 'could not be checked' },
    ],
    [
      'a replacement by nothing',
      [{ data: { verdict: 'replace' } }],
      { verdict: 'block', reason: 'could not be checked' },
    ],
  ])('answers with %s', async (_what, judge, expected) => {
    for (const place of ['step', 'guards'] as const) {
      const made = teamOf({ [place]: asGuard, judge })
      const { state, text } = await run(made.team)
      expect(made.judge.asked).toEqual(['draft'])
      if (expected.verdict === 'block') {
        expect(state).toBe('TASK_STATE_FAILED')
        expect(text).toContain(expected.reason)
      } else expect(text).toBe('text' in expected ? expected.text : 'draft')
    }
  })

  test('is a delegation: a hop of the budget, in the trace, its tokens counted', async () => {
    const metadata = toUsageMetadata({ inputTokens: 5, outputTokens: 1 })
    const { team } = teamOf({
      step: asGuard,
      judge: (_text, turn) => ({ ...turn.reply('allow'), metadata }),
    })
    const result = await run(team)
    expect(result.delegations.map(({ member }) => member)).toEqual(['writer', 'judge'])
    const [artifact] = result.task.artifacts ?? []
    expect(usageOf(artifact?.metadata)).toMatchObject({ inputTokens: 5, outputTokens: 1 })
    const poor = defineTeam({
      id: 'poor',
      name: 'Poor',
      agents: { writer: scripted(['draft']), judge: scripted(['allow']) },
      scheduler: { type: 'workflow', steps: [{ agentId: 'writer', guards: asGuard }] },
      budget: { maxHops: 1 },
    })
    const spent = await run(poor)
    expect(spent.state).toBe('TASK_STATE_FAILED')
    expect(spent.text).toContain('budget of 1 delegations')
    expect(spent.delegations.map(({ member }) => member)).toEqual(['writer'])
  })

  test('that fails or asks lets nothing pass', async () => {
    for (const judge of [[{ fails: 'down' }], [{ asks: 'What?' }]] as const)
      for (const place of ['step', 'guards'] as const) {
        const { state, text } = await run(teamOf({ [place]: asGuard, judge }).team)
        expect(state).toBe('TASK_STATE_FAILED')
        expect(text).not.toContain('draft')
      }
  })

  test('is asked once about the same content, over questions and crashes', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'corral-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const calls = { own: 0 }
    const own = (): GuardVerdict => {
      calls.own++
      return { verdict: 'allow' }
    }
    let awake = false
    const writer = scripted((text, turn) => (awake ? `wrote ${text}` : untilCancelled(turn)))
    const judge = scripted(['allow'])
    const make = () =>
      defineTeam({
        id: 'team',
        name: 'Team',
        agents: { writer, judge },
        scheduler: {
          type: 'workflow',
          steps: [{ agentId: 'writer', guards: { input: [own, { member: 'judge' }] } }],
        },
        guards: { input: [own, { member: 'judge' }] },
      })
    const open = async () => {
      const store = await openSqliteStore(join(directory, 'tasks.db'))
      const server = await createServer({
        agents: [make()],
        store,
        timeouts: { shutdownMs: 0 },
        logger: false,
      })
      const shut = async (): Promise<void> => {
        await server.close()
        await store.close()
      }
      return { server, shut }
    }
    const before = await open()
    const request = { message: userMessage('x'), configuration: { returnImmediately: true } }
    const { id } = taskOf(await before.server.dispatch()('SendMessage', request, {}))
    await expect.poll(() => writer.asked.length).toBe(1)
    await before.shut()
    awake = true
    const after = await open()
    await after.server.recover()
    const read = () => after.server.dispatch()('GetTask', { id }, { extensions: [traceExtension] })
    await expect.poll(async () => (await read()).status.state).toBe('TASK_STATE_COMPLETED')
    await after.shut()
    expect(writer.asked).toHaveLength(2)
    expect(judge.asked).toHaveLength(2)
    expect(calls.own).toBe(2)
  })
})

describe('guards that cannot be', () => {
  const made = (guards: unknown, step?: unknown) => () =>
    teamOf({
      ...(guards ? { guards: guards as TeamGuards } : {}),
      ...(step ? { step: step as TeamGuards } : {}),
    })

  test.each<[unknown, string]>([
    [{ output: ['secret'] }, 'guards.output[0]: names no guard: secret (did you mean secrets?)'],
    [{ output: [{ member: 'jugde' }] }, 'did you mean judge?'],
    [{ outputs: ['secrets'] }, 'did you mean output?'],
    [
      { input: [{ use: 'length', maxx: 1 }] },
      'guards.input[0].maxx is no setting of the guard length (did you mean max?)',
    ],
    [{ input: [{ module: './x.js' }] }, 'is for configuration files'],
    [{ input: [{ use: 'secrets', action: 'hide' }] }, 'must be block or replace'],
    [{ input: [42] }, 'must be a name, a function, or a table'],
    [{ input: 'secrets' }, 'must be a list of guards'],
  ])('are refused with their place: %j', (guards, reason) => {
    expect(made(guards)).toThrow(reason)
    expect(made(undefined, guards)).toThrow('scheduler.steps[0].guards')
  })

  test('on a step that asks no member', () => {
    const a = { agentId: 'a' } as const
    expect(() =>
      defineTeam({
        id: 'team',
        name: 'Team',
        agents: { a: scripted(['x']) },
        scheduler: {
          type: 'workflow',
          // @ts-expect-error which the compiler says, too
          steps: [{ parallel: [a], guards: { output: ['secrets'] } }],
        },
      }),
    ).toThrow('scheduler.steps[0].guards must stand beside agentId')
  })

  test('a judge that is no member does not compile', () => {
    const define = () =>
      defineTeam({
        id: 'team',
        name: 'Team',
        agents: { writer: scripted(['x']), judge: scripted(['allow']) },
        scheduler: {
          type: 'workflow',
          steps: [
            // @ts-expect-error there is no member of this name
            { agentId: 'writer', guards: { output: [{ member: 'jury' }] } },
          ],
        },
        // @ts-expect-error there is no member of this name
        guards: { output: [{ member: 'jury' }] },
      })
    expect(define).toThrow('jury')
  })

  test('a member cannot judge itself', () => {
    expect(made(undefined, { output: [{ member: 'writer' }] })).toThrow(
      '"writer" cannot judge itself',
    )
  })
})
