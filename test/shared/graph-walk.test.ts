import { describe, expect, test } from 'vitest'
import {
  createWalk,
  createWalks,
  nodeOfCall,
  roundsOf,
  stepPlace,
} from '../../src/shared/graph-walk.ts'

/** A graph from its edges, `a>b`; what is named like a kind is of that kind. */
function graphOf(edges: string) {
  const pairs = edges.split(' ').map((edge) => edge.split('>'))
  const ids = [...new Set(pairs.flat())]
  return {
    nodes: ids.map((id) => {
      const kind = /^(join|branch|approval)/.exec(id)?.[0]
      return kind ? { id, kind, step: id } : { id, kind: 'function' }
    }),
    edges: pairs.map(([from = '', to = '']) => ({ from, to })),
  }
}

/** The edges over which work came to these nodes, in order. */
function edgesTaken(edges: string, visits: string): readonly string[] {
  const walk = createWalk(graphOf(edges))
  return visits
    .split(' ')
    .flatMap((id) => walk.arrive(id))
    .map(({ from, to }) => `${from.join('+')}>${to}`)
}

describe('A way through a graph', () => {
  test('comes from outside, then from step to step', () => {
    expect(edgesTaken('a>b b>c', 'a b c')).toEqual(['>a', 'a>b', 'b>c'])
  })

  test('does not light the edge around a step that was done', () => {
    expect(edgesTaken('a>b b>c a>c', 'a b c')).toEqual(['>a', 'a>b', 'b>c'])
    expect(edgesTaken('a>b b>c a>c', 'a c')).toEqual(['>a', 'a>c'])
  })

  test('comes from all where parallel work comes together', () => {
    expect(edgesTaken('p>a p>b a>c b>c', 'p a b c')).toEqual(['>p', 'p>a', 'p>b', 'a+b>c'])
  })

  test('passes a join that says nothing, and the one of a step that was left out it does not', () => {
    const graph = 'p>a p>b a>join b>join join>n p>n'
    expect(edgesTaken(graph, 'p a b n').slice(3)).toEqual(['a+b>join', 'join>n'])
    expect(edgesTaken(graph, 'p n')).toEqual(['>p', 'p>n'])
  })

  test('goes back in a loop, again through the join within it', () => {
    const graph = 'p>a p>b a>join b>join join>c c>a c>b'
    expect(edgesTaken(graph, 'p a b c a b c').slice(5)).toEqual([
      ...['c>a', 'c>b', 'a+b>join', 'join>c'],
    ])
  })

  test('goes back by feedback to a step that was left out at first', () => {
    const graph = 'review>fix fix>approval review>approval approval>fix approval>done'
    expect(edgesTaken(graph, 'review approval fix approval done')).toEqual([
      ...['>review', 'review>approval', 'approval>fix', 'fix>approval', 'approval>done'],
    ])
  })

  test('a further try comes from where the first one came', () => {
    expect(edgesTaken('a>b', 'a b b')).toEqual(['>a', 'a>b', 'a>b'])
  })

  test('of a leader goes out to members and back', () => {
    expect(edgesTaken('l>a a>l l>b b>l', 'l a b l b')).toEqual([
      ...['>l', 'l>a', 'l>b', 'a+b>l', 'l>b'],
    ])
  })

  test('is followed no further than somebody would look', () => {
    const walk = createWalk(graphOf('a>b'))
    const counts = Array.from({ length: 600 }, () => walk.arrive('a').length)
    expect(counts.filter((count) => count > 0)).toHaveLength(512)
  })
})

describe('The name of a step', () => {
  test.each([
    ['2', '2'],
    ['4#2.1', '4.1'],
    ['4#2.1#13.2', '4.1.2'],
    ['2[3]', '2'],
    ['3[2].1~2', '3.1'],
    ['2@3.1.join', '2.1.join'],
  ])('%s stands at %s', (step, place) => {
    expect(stepPlace(step)).toBe(place)
  })

  test('tells the rounds of the loops around it', () => {
    expect(roundsOf('4#2.1#13.2')).toEqual([
      { place: '4', round: 2 },
      { place: '4.1', round: 13 },
    ])
  })

  test('leads to the node of the step, or of the member that stands in', () => {
    const nodes = [
      { id: 'a', kind: 'function', member: 'a', step: '1' },
      { id: 'a-2', kind: 'function', member: 'a', step: '2.1' },
      { id: 'b', kind: 'function' },
    ]
    expect(nodeOfCall(nodes, '2#1.1', 'a')?.id).toBe('a-2')
    expect(nodeOfCall(nodes, '2#1.1', 'b')?.id).toBe('b')
    expect(nodeOfCall(nodes, '9', 'a')?.id).toBe('a')
    expect(nodeOfCall(nodes, '1', 'nobody')).toBe(undefined)
  })
})

test('runs of nested graphs are told apart by the calls that lead to them', () => {
  const inner = graphOf('x>y')
  const walks = createWalks<Nested>({
    nodes: [
      { id: 't', kind: 'team', member: 't', step: '1', team: inner },
      { id: 't-2', kind: 'team', member: 't', step: '2', team: inner },
    ],
    edges: [],
  })
  expect(walks('1:t')?.above).toBe('t')
  expect(walks('2:t')?.above).toBe('t-2')
  walks('1:t')?.walk.arrive('x')
  expect(walks('1:t')?.walk.arrive('y')).toEqual([{ to: 'y', from: ['x'] }])
  expect(walks('2:t')?.walk.arrive('y')).toEqual([{ to: 'y', from: [''] }])
  expect(walks('3:nobody')).toBe(undefined)
  expect(walks('1:t/1:x')).toBe(undefined)
})

interface Nested extends ReturnType<typeof graphOf> {
  readonly nodes: { id: string; kind: string; member?: string; step?: string; team?: Nested }[]
}
