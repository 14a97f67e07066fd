import { describe, expect, test } from 'vitest'
import type { GraphNode, TaskRecord, TeamGraph } from '../../src/console/api.ts'
import type { JsonObject } from '../../src/protocol/types.ts'
import { drawWorkflow } from '../../src/team/workflow/plan.ts'
import { toHops } from '../logic/hops.ts'
import { edgeKey } from '../logic/light.ts'
import { edgeWords, lineOf, nodeTitle, toneOf } from '../logic/picture-words.ts'
import { lightTask } from '../logic/task-light.ts'

/** A team of this workflow as the page gets it. */
function teamOf(steps: Parameters<typeof drawWorkflow>[0]): TeamGraph {
  const { nodes, ...ways } = drawWorkflow(steps, [])
  const about = { id: 'team', name: 'Team', description: '', scheduler: 'workflow' }
  return {
    ...{ ...about, ...ways },
    nodes: nodes.map((node): GraphNode => ({ name: node.id, kind: 'function', ...node })),
  }
}

/** A log of these entries and questions, numbered from 1. */
function logOf(...entries: readonly (JsonObject | string)[]): readonly TaskRecord[] {
  return entries.map((entry, i): TaskRecord => {
    const at = new Date(i * 1_000).toISOString()
    if (typeof entry !== 'string')
      return { seq: i + 1, kind: 'trace', at, entry: { team: 'team', ...entry } }
    const parts = [{ text: entry }]
    const message = { messageId: `m${i}`, role: 'ROLE_AGENT', parts } as const
    const status = { state: 'TASK_STATE_INPUT_REQUIRED', timestamp: at, message } as const
    return {
      ...{ seq: i + 1, kind: 'event' },
      event: { statusUpdate: { taskId: 't', contextId: 'c', status } },
    }
  })
}

function call(step: string, member: string): JsonObject {
  return { type: 'delegation', call: `${step}:${member}`, member, step, try: 1, text: 'do' }
}

function reply(step: string, member: string, rest: JsonObject = {}): JsonObject {
  const state = 'TASK_STATE_COMPLETED'
  return { type: 'reply', call: `${step}:${member}`, member, step, state, text: 'ok', ...rest }
}

function find({ nodes }: TeamGraph, id: string): GraphNode {
  const node = nodes.find((one) => one.id === id)
  if (!node) throw new Error(`There is no ${id}`)
  return node
}

describe('The light of a task', () => {
  const branching = teamOf([
    { agentId: 'a' },
    {
      branch: [
        { when: 'previous.data.ok', steps: [{ agentId: 'b' }] },
        { steps: [{ agentId: 'c' }] },
      ],
    },
    { agentId: 'd' },
  ])

  test('falls on the way that a branch took, and not on the others', () => {
    const branch = { type: 'branch', step: '2', case: 2 }
    // A run that is repeated tells of its branch again.
    const log = logOf(call('1', 'a'), branch, branch, call('2.2.1', 'c'), call('3', 'd'))
    const { lights } = lightTask(branching, log)
    expect(lights.get('branch-1')).toMatchObject({ count: 1, taken: [2] })
    const lit = branching.edges.filter((edge) => lights.get(edgeKey('', edge))?.count)
    expect(lit.map(({ from, to }) => `${from}>${to}`)).toEqual([
      ...['a>branch-1', 'branch-1>c', 'c>d'],
    ])
    const node = find(branching, 'branch-1')
    expect(lineOf(node, lights.get('branch-1'))).toBe('case 2')
    expect(nodeTitle(node, lights.get('branch-1'))).toContain('case 2: otherwise, taken')
  })

  test('passes by a branch of which no case holds', () => {
    const team = teamOf([
      { agentId: 'a' },
      { branch: [{ when: 'false', steps: [{ agentId: 'b' }] }] },
      { agentId: 'c' },
    ])
    const log = logOf(call('1', 'a'), { type: 'skip', step: '2' }, call('3', 'c'))
    const { lights } = lightTask(team, log)
    expect(lineOf(find(team, 'branch-1'), lights.get('branch-1'))).toBe('no case')
    expect(lights.get(edgeKey('', { from: 'branch-1', to: 'c' }))?.count).toBe(1)
    expect(toneOf(lights.get('b'))).toBe('skipped')
  })

  test('shows on the edges of a branch what the cases ask, also after work went there', () => {
    const log = logOf(call('1', 'a'), { type: 'branch', step: '2', case: 1 }, call('2.1.1', 'b'))
    const { lights } = lightTask(branching, log)
    const edge = branching.edges.find(({ to }) => to === 'b')
    const said = edge && edgeWords(edge, lights.get(edgeKey('', edge)))
    expect(said).toEqual({ words: 'previous.data.ok', more: '1 · now' })
  })

  test('goes through the join of parallel steps', () => {
    const team = teamOf([{ parallel: [{ agentId: 'a' }, { agentId: 'b' }] }, { agentId: 'c' }])
    const { lights } = lightTask(team, logOf(call('1.1', 'a'), call('1.2', 'b'), call('2', 'c')))
    expect(lights.get('join-1')?.count).toBe(1)
    for (const edge of team.edges) expect(lights.get(edgeKey('', edge))?.count).toBe(1)
  })

  test('counts the items of a map', () => {
    const team = teamOf([{ map: { agentId: 'a' } }])
    const log = logOf(
      { type: 'map', step: '1', items: 3 },
      ...[call('1[1]', 'a'), call('1[2]', 'a'), reply('1[1]', 'a')],
    )
    const { lights } = lightTask(team, log)
    expect(lights.get('a')).toMatchObject({ running: 1, items: { done: 1, all: 3 } })
    expect(lineOf(find(team, 'a'), lights.get('a'))).toBe('1 of 3 items')
  })

  test('says in which round a loop is', () => {
    const steps = [{ agentId: 'a' }, { agentId: 'b' }]
    const team = teamOf([{ loop: { steps, until: 'done', maxIterations: 4 } }])
    const back = team.edges.find(({ kind }) => kind === 'back')
    const words = (log: readonly TaskRecord[]): unknown =>
      back && edgeWords(back, lightTask(team, log).lights.get(edgeKey('', back))).words
    expect(words([])).toBe('until “done”')
    expect(words(logOf(call('1#1.1', 'a')))).toBe('round 1 of 4')
    expect(words(logOf(...['1#1.1', '1#1.2', '1#2.1'].map((at) => call(at, 'a'))))).toBe(
      'round 2 of 4',
    )
  })

  test('waits at an approval until the user has said something, and goes back by feedback', () => {
    const team = teamOf([
      { name: 'draft', agentId: 'a' },
      { approval: { question: 'Good?', onFeedback: 'draft' } },
      { agentId: 'b' },
    ])
    const asked = [call('1', 'a'), reply('1', 'a'), 'The draft\n\nGood?']
    const waiting = lightTask(team, logOf(...asked)).lights
    expect(toneOf(waiting.get('approval-1'))).toBe('waits')
    expect(waiting.get(edgeKey('', { from: 'a', to: 'approval-1' }))?.count).toBe(1)
    const feedback = { type: 'approval', step: '2', verdict: 'feedback', text: 'shorter' }
    const again = [...asked, feedback, call('1', 'a')]
    const { lights, stories } = lightTask(team, logOf(...again))
    expect(toneOf(lights.get('approval-1'))).toBe('visited')
    expect(lineOf(find(team, 'approval-1'), lights.get('approval-1'))).toBe('feedback')
    const back = team.edges.find(({ kind }) => kind === 'back')
    const light = back && lights.get(edgeKey('', back))
    expect(light).toMatchObject({ count: 1, round: 1 })
    expect(back && edgeWords(back, light).words).toBe('feedback 1 of 5')
    expect(stories.get('approval-1')?.verdicts).toMatchObject([{ text: 'shorter' }])
  })

  test('marks a member that asks the user, until it is answered', () => {
    const team = teamOf([{ agentId: 'a' }])
    const asks = reply('1', 'a', { state: 'TASK_STATE_INPUT_REQUIRED' })
    const asked = [call('1', 'a'), asks, 'May I?']
    expect(toneOf(lightTask(team, logOf(...asked)).lights.get('a'))).toBe('waits')
    const answered = lightTask(team, logOf(...asked, call('1', 'a')))
    expect(toneOf(answered.lights.get('a'))).toBe('running')
  })

  test('says that a step was left out', () => {
    const team = teamOf([{ agentId: 'a' }, { agentId: 'b', when: 'false' }, { agentId: 'c' }])
    const log = logOf(call('1', 'a'), { type: 'skip', step: '2' }, call('3', 'c'))
    const { lights } = lightTask(team, log)
    expect(toneOf(lights.get('b'))).toBe('skipped')
    expect(lights.get(edgeKey('', { from: 'a', to: 'c' }))?.count).toBe(1)
  })

  test('colours guards by the gravest that they found: of members, of steps, of the team', () => {
    const team = teamOf([{ agentId: 'a' }, { agentId: 'b' }])
    const guard = (facts: JsonObject): JsonObject => ({ type: 'guard', guard: 'secrets', ...facts })
    const log = logOf(
      guard({ at: 'input', verdict: 'allow' }),
      call('1', 'a'),
      guard({ at: '1:a/output', verdict: 'replace', reason: 'a key' }),
      guard({ at: '1:a/output', verdict: 'allow' }),
      call('2', 'b'),
      guard({ at: 'input', step: '2', verdict: 'block', reason: 'too long' }),
    )
    const { lights, stories } = lightTask(team, log)
    expect(lights.get('')?.guards).toEqual({ input: 'allow' })
    expect(lights.get('a')?.guards).toEqual({ output: 'replace' })
    expect(lights.get('b')?.guards).toEqual({ input: 'block' })
    expect(toneOf(lights.get('b'))).toBe('troubled')
    expect(stories.get('b')?.guards).toMatchObject([{ verdict: 'block', reason: 'too long' }])
    // As callers are told, and as servers tell that have no field for the side.
    const shown = [
      { path: '1:a', side: 'output', at: '1:a/output' },
      { path: '1:a/output', at: '1:a/output' },
    ]
    for (const facts of shown) {
      const told = lightTask(team, logOf(call('1', 'a'), guard({ ...facts, verdict: 'block' })))
      expect(told.lights.get('a')?.guards).toEqual({ output: 'block' })
    }
    const [first, second] = toHops(log)
    expect(first?.guards).toMatchObject([{ side: 'output', reason: 'a key' }, {}])
    expect(second?.guards).toMatchObject([{ side: 'input', verdict: 'block' }])
  })

  test('adds up what a node cost', () => {
    const team = teamOf([{ agentId: 'a' }])
    const log = logOf(
      ...[call('1', 'a'), reply('1', 'a', { costUsd: 0.002 })],
      ...[call('1', 'a'), reply('1', 'a', { costUsd: 0.003 })],
    )
    const light = lightTask(team, log).lights.get('a')
    expect(light?.costUsd).toBeCloseTo(0.005)
    expect(lineOf(find(team, 'a'), light)).toBe('$0.005')
  })
})
