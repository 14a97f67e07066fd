import { describe, expect, test } from 'vitest'
import { A2AError } from '../../../src/protocol/errors.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { Json } from '../../../src/protocol/types.ts'
import type { Step, StepScope } from '../../../src/team/config.ts'
import { AgentManager } from '../../../src/team/manager.ts'
import { defineTeam, Team } from '../../../src/team/team.ts'
import { createFakeClock, runTeam } from '../../../src/testing/index.ts'
import { member } from '../../fixtures/members.ts'
import { callsOf, entriesOf, flow, runFlow } from '../schedulers/workflow/scene.ts'

const echo = member('echo', (text) => text)

test('a map over many items lets others have their turn in between', async () => {
  let inTick = 0
  let most = 0
  const busy = member('busy', (text) => {
    if (inTick++ === 0) setImmediate(() => (inTick = 0))
    most = Math.max(most, inTick)
    return text
  })
  const over = () => Array.from({ length: 200 }, (_, i) => i)
  const run = await runFlow(flow({ busy }, { map: { over, agentId: 'busy', maxParallel: 4 } }), 'x')
  expect(run.text.split('\n')).toHaveLength(200)
  expect(most).toBeLessThanOrEqual(8)
})

describe('what a function of a rule gives', () => {
  test('is a list of JSON, the same in every run', async () => {
    const over = () => [new Date(0), undefined, { a: undefined }] as never
    const team = flow(
      { echo },
      { map: { over, agentId: 'echo', input: '{{ item }}' } },
      { approval: { question: 'Well?' } },
    )
    const run = await runFlow(team, 'x', 'hm', 'yes')
    expect(run.text).toBe('1970-01-01T00:00:00.000Z\n\n{}')
  })

  test('is refused, with the step, where it is no JSON', async () => {
    const over = () => [1n] as never
    const run = await runFlow(flow({ echo }, { name: 'all', map: { over, agentId: 'echo' } }), 'x')
    expect(run.text).toBe('Step "all", over: it must give a list of JSON values')
  })

  test.each<readonly [string, unknown]>([
    ['a part that is none', [{ words: 'x' }]],
    ['no part', []],
    ['a number', 3],
    ['data that is no JSON', [{ data: 1n }]],
  ])('is refused, with the step, where it is %s', async (_name, given) => {
    const run = await runFlow(
      flow({ echo }, { name: 'say', agentId: 'echo', input: () => given as never }),
      'x',
    )
    expect(run.state).toBe('TASK_STATE_FAILED')
    expect(run.text).toMatch(/^Step "say", input: it must give a text or parts/)
    expect(run.delegations).toEqual([])
  })

  test('is told to the log with its step where it throws, and to nobody else', async () => {
    const logged: unknown[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => logged.push(fields) }
    const when = () => {
      throw new Error('the key is 123')
    }
    const team = flow({ echo }, { name: 'first', agentId: 'echo', when })
    const run = await runTeam(team, 'x', { logger: log })
    expect(run.text).toBe('The agent failed to process the message')
    const { err } = logged[0] as { readonly err: Error }
    expect(err.message).toBe('Step "first", when has thrown')
    expect(err.cause).toMatchObject({ message: 'the key is 123' })
  })
})

describe('a function of a rule that comes to no end', () => {
  test('is left when the time of the run is over', async () => {
    const clock = createFakeClock()
    const when = () => {
      clock.advance(3_000)
      return new Promise<boolean>(() => {})
    }
    const team = defineTeam({
      id: 'flow',
      name: 'Flow',
      agents: { echo },
      scheduler: { type: 'workflow', steps: [{ agentId: 'echo', when }] },
      budget: { maxSeconds: 3 },
      clock,
    })
    const run = await runTeam(team, 'x', { logger: false })
    expect(run.state).toBe('TASK_STATE_FAILED')
    expect(run.text).toBe('The team took longer than 3 s')
  })
})

describe('a map', () => {
  const list = (length: number) => (): readonly Json[] =>
    Array.from({ length }, (_, index) => index)

  test('keeps the items whose steps are left out, each in its place', async () => {
    const steps = [{ agentId: 'echo', when: 'item > 1', input: 'big {{ item }}' }]
    const run = await runFlow(flow({ echo }, { map: { over: '[1, 2, 3]', steps } }), 'x')
    expect(textOf(run.task.artifacts?.[0]?.parts ?? [])).toBe('\nbig 2\nbig 3')
    expect(run.task.artifacts?.[0]?.parts[0]).toMatchObject({ data: 1 })
  })

  test('gives the items that the user has approved', async () => {
    const steps = [{ approval: { question: 'Send it?' } }]
    const team = flow(
      { echo },
      { map: { over: '["a", "b"]', steps } },
      { agentId: 'echo', input: 'sent: {{ previous.text }}' },
    )
    expect((await runFlow(team, 'x', 'yes', 'yes')).text).toBe('sent: a\nb')
  })

  test('says how many items there may be', async () => {
    const run = await runFlow(flow({ echo }, { map: { over: list(1_001), agentId: 'echo' } }), 'x')
    expect(run.text).toBe(
      'A list of 1001 items is too long for its map, which takes 1000: raise max_items',
    )
    expect(run.delegations).toEqual([])
    const map = { over: list(4), agentId: 'echo', maxItems: 3 }
    expect((await runFlow(flow({ echo }, { map }), 'x')).text).toContain('which takes 3')
  })

  test('takes a thousand items, and more where it and the budget say so', async () => {
    const run = await runFlow(flow({ echo }, { map: { over: list(1_000), agentId: 'echo' } }), 'x')
    expect(run.delegations).toHaveLength(1_000)
    expect(run.text.split('\n')).toHaveLength(1_000)
    const longer = { map: { over: list(1_200), agentId: 'echo', maxItems: 1_200 } } as const
    expect((await runFlow(flow({ echo }, longer), 'x')).text).toBe(
      'The team has used up its budget of 1000 delegations: raise max_delegations in its budget',
    )
    const team = defineTeam({
      ...{ id: 'flow', name: 'flow', agents: { echo } },
      scheduler: { type: 'workflow', steps: [longer] },
      budget: { maxDelegations: 1_200 },
    })
    expect((await runFlow(team, 'x')).delegations).toHaveLength(1_200)
  })

  test.each([
    [{ maxHops: 2 }, '2 delegations: raise max_hops'],
    [{ maxHops: 3, maxDelegations: 2 }, '2 delegations: raise max_delegations'],
    [{ maxHops: 2, maxDelegations: 3 }, '2 delegations: raise max_hops'],
  ])('ends with the lower limit of %j', async (budget, words) => {
    const steps = [{ map: { over: list(4), agentId: 'echo' } }] as const
    const scheduler = { type: 'workflow', steps } as const
    const team = defineTeam({ id: 'flow', name: 'flow', agents: { echo }, scheduler, budget })
    expect((await runFlow(team, 'x')).text).toContain(words)
  })
})

test('a step that is left out is in the trace once, however often the user is asked', async () => {
  const team = flow(
    { echo },
    { agentId: 'echo' },
    { agentId: 'echo', when: 'false' },
    { approval: { question: 'Well?' } },
  )
  const run = await runFlow(team, 'x', 'hm', 'yes')
  expect(entriesOf(run, 'skip')).toEqual([{ step: '2' }])
})

describe('what rules see', () => {
  test.each<readonly [string, string, readonly string[]]>([
    ['items that are nothing', '[0, "", false, 1]', ['0', '', 'false', '1']],
    ['items that are data', '[{"a": 1}, [2]]', ['{"a":1}', '[2]']],
  ])('is each of %s', async (_what, over, asked) => {
    const member1 = member('m')
    await runFlow(flow({ m: member1 }, { map: { over, agentId: 'm', input: '{{ item }}' } }), 'x')
    expect(member1.asked).toEqual(asked)
  })

  test('is the question before there is an answer, and no round and no item outside of loops and maps', async () => {
    const say = ({ previous, round, item }: StepScope) => `${previous.text} ${round} ${item}`
    expect((await runFlow(flow({ echo }, { agentId: 'echo', input: say }), 'x')).text).toBe(
      'x 0 null',
    )
    const told = flow({ echo }, { agentId: 'echo', input: '{{ previous.text }}!' })
    expect((await runFlow(told, 'x')).text).toBe('x!')
  })

  test('says its own error to the caller where a function throws one of the house', async () => {
    const when = () => {
      throw new A2AError('unsupportedOperation', 'Not on Sundays')
    }
    const run = await runFlow(flow({ echo }, { agentId: 'echo', when }), 'x')
    expect(run.text).toBe('Not on Sundays')
  })

  test('is not what another item of a map has given', async () => {
    const steps = [
      { name: 'one', agentId: 'echo', when: 'item == 1', input: 'first' },
      { agentId: 'echo', input: '[{{ steps.one.text }}]' },
    ]
    const run = await runFlow(
      flow({ echo }, { map: { over: '[1, 2]', steps, maxParallel: 1 } }),
      'x',
    )
    expect(run.text).toBe('[first]\n[]')
  })

  test('is what a branch has given in this round, not in the one before', async () => {
    const within = [
      { name: 'p', agentId: 'echo', input: 'round {{ round }}' },
      { agentId: 'echo', input: '[{{ steps.p.text }}]' },
    ]
    const loop = {
      steps: [
        { parallel: [{ name: 'way', branch: [{ steps: within }] }], join: '{{ steps.way.text }}' },
      ],
      until: 'round == 2',
      maxIterations: 3,
    }
    expect((await runFlow(flow({ echo }, { loop }), 'x')).text).toBe('[round 2]')
  })

  test.each<readonly [string, Step]>([
    ['a branch', { name: 's', branch: [{ steps: [{ agentId: 'echo', when: 'false' }] }] }],
    [
      'a loop',
      {
        name: 's',
        loop: { steps: [{ agentId: 'echo', when: 'false' }], until: 'true', maxIterations: 2 },
      },
    ],
    ['parallel steps', { name: 's', parallel: [{ agentId: 'echo', when: 'false' }] }],
  ])(
    'is nothing of %s whose steps were all left out, and the answer before it stays',
    async (_what, step) => {
      const run = await runFlow(
        flow({ echo }, { agentId: 'echo' }, step, {
          agentId: 'echo',
          input: '{{ previous.text }} [{{ steps.s.text }}]',
        }),
        'x',
      )
      expect(run.text).toBe('x []')
    },
  )
})

describe('what is left out or in between', () => {
  test('a loop is over with the first round that gives nothing', async () => {
    const loop = {
      steps: [{ agentId: 'echo', when: 'round == 1' }],
      until: 'false',
      maxIterations: 4,
    }
    const run = await runFlow(flow({ echo }, { loop }), 'x')
    expect(run.text).toBe('x')
    expect(entriesOf(run, 'skip')).toEqual([{ step: '1#2.1' }])
  })

  const slow = member('slow', async function* () {
    yield 'one '
    yield 'two'
  })

  test.each<readonly [string, readonly Step[]]>([
    ['a loop', [{ loop: { steps: [{ agentId: 'slow' }], until: 'true', maxIterations: 2 } }]],
    ['a map', [{ map: { agentId: 'slow' } }]],
    ['steps of a map', [{ map: { steps: [{ agentId: 'slow' }] } }]],
    ['parallel steps', [{ parallel: [{ agentId: 'slow' }, { agentId: 'slow' }] }]],
    ['an earlier branch', [{ branch: [{ steps: [{ agentId: 'slow' }] }] }, { agentId: 'echo' }]],
  ])('the words of %s come when they are whole', async (_what, steps) => {
    const { events } = await runFlow(flow({ slow, echo }, ...steps), 'x')
    expect(events.filter((event) => 'artifactUpdate' in event)).toHaveLength(1)
  })

  test('parallel steps without a member of their own stand under their names', async () => {
    const branch = [{ steps: [{ agentId: 'echo' }] }]
    const run = await runFlow(
      flow({ echo }, { parallel: [{ branch }, { name: 'b', branch }] }),
      'x',
    )
    expect(run.text).toBe('Result:\nx\n\nb:\nx')
  })

  test('a member stands under its role, and its progress is cut where it is long', async () => {
    const manager = new AgentManager()
    manager.registerWithId(
      'a',
      member('a', () => 'x'.repeat(201)),
    )
    manager.registerWithId(
      'b',
      member('b', () => 'y'.repeat(200)),
    )
    const agents = [
      { agentId: 'a', role: 'Painter' },
      { agentId: 'b', role: '' },
    ]
    const steps = [
      { agentId: 'a' },
      { agentId: 'b' },
      { parallel: [{ agentId: 'a' }, { agentId: 'b' }] },
    ]
    const scheduler = { type: 'workflow', steps } as const
    const team = new Team({ id: 't', name: 'T', description: '', agents, scheduler }, manager)
    const { events, text } = await runTeam(team, 'x', { logger: false })
    const said = events.flatMap((event) =>
      'statusUpdate' in event ? textOf(event.statusUpdate.status.message?.parts ?? []) : [],
    )
    expect(new Set(said)).toEqual(
      new Set(['', `Painter: ${'x'.repeat(199)}…`, `b: ${'y'.repeat(200)}`]),
    )
    expect(text).toBe(`Painter:\n${'x'.repeat(201)}\n\nb:\n${'y'.repeat(200)}`)
  })

  test('what the user approves stays as it is', async () => {
    const two = member('two', async function* (_text, turn) {
      yield turn.artifact({ artifactId: 'text', parts: [{ text: 'one' }] })
      yield turn.artifact({ artifactId: 'chart', parts: [{ url: 'https://x/y.png' }] })
    })
    const team = flow({ two }, { agentId: 'two' }, { approval: { question: 'Good?' } })
    const { task } = await runFlow(team, 'x', 'yes')
    expect(task.artifacts?.map(({ artifactId }) => artifactId)).toEqual(['response-2', 'chart'])
  })

  test.each([
    ['*bold*\n-5\n1.5', ['*bold*', '-5', '1.5']],
    ['• a\n  * b\n\n12) c\n', ['a', 'b', 'c']],
  ])('a list is taken line by line, without its marks alone: %j', async (text, asked) => {
    const m = member('m')
    await runFlow(flow({ m }, { map: { agentId: 'm' } }), text)
    expect(m.asked).toEqual(asked)
  })
})

test('a loop is over when an expression over its round says so', async () => {
  const loop = { steps: [{ agentId: 'echo' }], until: 'round >= 2', maxIterations: 5 }
  const run = await runFlow(flow({ echo }, { loop }), 'x')
  expect(callsOf(run)).toEqual(['1#1.1 echo: x', '1#2.1 echo: x'])
})
