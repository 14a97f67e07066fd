import { describe, expect, test } from 'vitest'
import type { Guards } from '../../src/agents/guards/guard.ts'
import type { GraphEdge } from '../../src/console/api.ts'
import { drawWorkflow } from '../../src/team/workflow/plan.ts'

type Steps = Parameters<typeof drawWorkflow>[0]

const members = ['writer', 'reviewer', 'publisher', 'a', 'b', 'c']

function draw(steps: Steps) {
  const { entry, edges, nodes } = drawWorkflow(steps, members)
  return { entry, edges, nodes, ways: edges.map(wayOf) }
}

function wayOf({ from, to, kind, label }: GraphEdge): string {
  const arrow = kind === 'back' ? '⇠' : kind === 'may' ? '?' : '→'
  return `${from} ${arrow} ${to}${label === undefined ? '' : `: ${label}`}`
}

describe('The drawing of a workflow', () => {
  test('gives steps their names and places, and each step of a member a node of its own', () => {
    const { nodes, ways, entry } = draw([
      { name: 'draft', agentId: 'writer' },
      { name: 'review', agentId: 'reviewer', outputSchema: { type: 'object' } },
      { name: 'fix', agentId: 'writer', when: 'steps.review.data.score < 0.8' },
      { agentId: 'publisher' },
    ])
    expect(nodes).toEqual([
      { id: 'writer', member: 'writer', step: '1', name: 'draft' },
      { id: 'reviewer', member: 'reviewer', step: '2', name: 'review', data: true },
      { id: 'writer-2', member: 'writer', step: '3', name: 'fix' },
      { id: 'publisher', member: 'publisher', step: '4' },
    ])
    expect(entry).toEqual(['writer'])
    expect(ways).toEqual([
      'writer → reviewer',
      'reviewer → writer-2: if steps.review.data.score < 0.8',
      'writer-2 → publisher',
      'reviewer → publisher',
    ])
  })

  test('an id that a further step would get is left to the member that has it', () => {
    const { nodes } = drawWorkflow([{ agentId: 'a' }, { agentId: 'a' }], ['a', 'a-2'])
    expect(nodes.map(({ id }) => id)).toEqual(['a', 'a-3'])
  })

  test('a step with a condition that begins a case is reached under both', () => {
    const { ways } = draw([
      { branch: [{ when: 'x', steps: [{ agentId: 'a', condition: 'y' }] }] },
      { agentId: 'b' },
    ])
    expect(ways).toContain('branch-1 → a: x, if “y”')
  })

  test('a branch has its cases, each with what it asks, and an else', () => {
    const { nodes, edges, ways } = draw([
      { agentId: 'reviewer' },
      {
        name: 'publish',
        branch: [
          {
            when: "steps.review.data.risk == 'high'",
            steps: [{ approval: { question: 'Publish?' } }, { agentId: 'publisher' }],
          },
          { steps: [{ agentId: 'publisher' }] },
        ],
      },
      { agentId: 'a' },
    ])
    const cases = ["steps.review.data.risk == 'high'", 'otherwise']
    expect(nodes.find(({ kind }) => kind === 'branch')).toEqual({
      ...{ id: 'branch-1', name: 'publish', kind: 'branch', step: '2', cases },
    })
    expect(nodes.map(({ id, step }) => [id, step])).toEqual([
      ['reviewer', '1'],
      ['branch-1', '2'],
      ['approval-1', '2.1.1'],
      ['publisher', '2.1.2'],
      ['publisher-2', '2.2.1'],
      ['a', '3'],
    ])
    expect(ways).toEqual([
      'reviewer → branch-1',
      `branch-1 → approval-1: ${cases[0]}`,
      'approval-1 → publisher',
      'branch-1 → publisher-2: otherwise',
      'publisher → a',
      'publisher-2 → a',
    ])
    expect(edges.flatMap((edge) => edge.cases ?? [])).toEqual([1, 2])
  })

  test('a branch without an else may be passed by', () => {
    const { edges } = draw([
      { branch: [{ when: 'previous.data.ok', steps: [{ agentId: 'a' }] }] },
      { agentId: 'b' },
    ])
    expect(edges).toContainEqual({
      ...{ from: 'branch-1', to: 'b', kind: 'next', label: 'otherwise', cases: [0] },
    })
  })

  test('ways of several cases to one step are one edge', () => {
    const { edges } = draw([
      {
        branch: [
          { when: 'x', steps: [{ agentId: 'a', when: 'y' }] },
          { steps: [{ agentId: 'b', condition: 'z' }] },
        ],
      },
      { agentId: 'c' },
    ])
    expect(edges.filter(({ from, to }) => from === 'branch-1' && to === 'c')).toEqual([
      { from: 'branch-1', to: 'c', kind: 'next', label: 'x or otherwise', cases: [1, 2] },
    ])
  })

  test.each([
    [
      undefined,
      { id: 'join-1', name: 'Join', kind: 'join', detail: 'under headings', step: '1.join' },
    ],
    [
      '{{ steps.x.text }}',
      { id: 'join-1', name: 'Join', kind: 'join', detail: 'by a template', step: '1.join' },
    ],
    [
      () => 'x',
      { id: 'join-1', name: 'Join', kind: 'join', detail: 'by a function', step: '1.join' },
    ],
    [{ agentId: 'c' }, { id: 'c', member: 'c', joins: true, step: '1.join' }],
  ])('parallel steps fan out and come together in a join, %#', (join, node) => {
    const { nodes, ways, entry } = draw([
      { parallel: [{ agentId: 'a' }, { agentId: 'b' }], ...(join !== undefined && { join }) },
      { agentId: 'publisher' },
    ])
    expect(entry).toEqual(['a', 'b'])
    expect(nodes[2]).toEqual(node)
    expect(ways).toEqual([`a → ${node.id}`, `b → ${node.id}`, `${node.id} → publisher`])
  })

  test('a map says what it goes over, of one member or of steps', () => {
    const one = draw([
      { agentId: 'a' },
      { name: 'all', map: { agentId: 'b', over: 'previous.data' } },
    ])
    expect(one.nodes[1]).toEqual({ id: 'b', member: 'b', name: 'all', step: '2', each: '2' })
    expect(one.ways).toEqual(['a → b: each of previous.data'])
    const many = draw([{ agentId: 'a' }, { map: { steps: [{ agentId: 'b' }, { agentId: 'c' }] } }])
    expect(many.nodes.slice(1).map(({ id, step, each }) => [id, step, each])).toEqual([
      ['b', '2.1', '2'],
      ['c', '2.2', '2'],
    ])
    expect(many.ways).toEqual(['a → b: each', 'b → c'])
  })

  test('a loop goes back to where it began, and says how often it may', () => {
    const { edges } = draw([
      { agentId: 'a' },
      {
        loop: {
          steps: [{ agentId: 'b' }, { agentId: 'c' }],
          until: 'previous.data.done',
          maxIterations: 4,
        },
      },
    ])
    expect(edges.filter(({ kind }) => kind === 'back')).toEqual([
      {
        ...{ from: 'c', to: 'b', kind: 'back', label: 'until “previous.data.done”' },
        ...{ step: '2', max: 4 },
      },
    ])
  })

  test('the guards of a step are named', () => {
    const polite = () => ({ verdict: 'allow' }) as const
    const guards: Guards = {
      input: [{ use: 'length', max: 10 }, { member: 'judge' }],
      output: ['secrets', { module: './guards/tone.js' }, polite],
    }
    const guarded = { agentId: 'a', guards }
    expect(draw([guarded]).nodes[0]?.guards).toEqual({
      input: ['length', 'judge'],
      output: ['secrets', 'tone.js', 'polite'],
    })
    const bare = { agentId: 'a', guards: { input: [] } }
    expect(draw([bare]).nodes[0]).not.toHaveProperty('guards')
  })

  test('feedback goes back to the step that the approval names', () => {
    const { edges } = draw([
      { name: 'draft', agentId: 'writer' },
      {
        branch: [
          {
            steps: [{ approval: { question: 'Good?', onFeedback: 'draft', maxFeedbackRounds: 2 } }],
          },
        ],
      },
    ])
    expect(edges.filter(({ kind }) => kind === 'back')).toEqual([
      {
        ...{ from: 'approval-1', to: 'writer', kind: 'back', label: 'feedback' },
        ...{ step: '2.1.1', max: 2 },
      },
    ])
  })
})
