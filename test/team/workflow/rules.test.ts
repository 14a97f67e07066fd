import { describe, expect, test } from 'vitest'
import { textOf } from '../../../src/protocol/task.ts'
import type { Json } from '../../../src/protocol/types.ts'
import { defineTeam } from '../../../src/team/team.ts'
import { createFakeClock, runTeam } from '../../../src/testing/index.ts'
import { member } from '../../fixtures/members.ts'
import { callsOf, entriesOf, flow, runFlow } from '../schedulers/workflow/scene.ts'

const echo = member('echo', (text) => text)

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
    const over = (): readonly Json[] => Array.from({ length: 101 }, (_, index) => index)
    const run = await runFlow(flow({ echo }, { map: { over, agentId: 'echo' } }), 'x')
    expect(run.text).toBe('A list of 101 items is too long for a team: it may have 100')
    expect(run.delegations).toEqual([])
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

test('a loop is over when an expression over its round says so', async () => {
  const loop = { steps: [{ agentId: 'echo' }], until: 'round >= 2', maxIterations: 5 }
  const run = await runFlow(flow({ echo }, { loop }), 'x')
  expect(callsOf(run)).toEqual(['1#1.1 echo: x', '1#2.1 echo: x'])
})
