import { describe, expect, test } from 'vitest'
import type { GraphNode, TaskRecord, TeamGraph } from '../../src/console/api.ts'
import { fitsInto, layOut, type Picture } from '../logic/layout.ts'
import { edgeKey, lightsOfEdges } from '../logic/light.ts'
import { lightTask } from '../logic/task-light.ts'

const node = (id: string): GraphNode => ({ id, name: id, kind: 'function' })
const about = { description: '', scheduler: 'workflow' }
const writers: TeamGraph = {
  ...{ id: 'writers', name: 'Writers', ...about, entry: ['composer'] },
  nodes: [node('composer'), node('editor')],
  edges: [
    { from: 'composer', to: 'editor', kind: 'next' },
    { from: 'editor', to: 'composer', kind: 'back', label: 'until good' },
  ],
}
const studio: TeamGraph = {
  ...{ id: 'studio', name: 'Studio', ...about, entry: ['researcher'] },
  nodes: [node('researcher'), { ...node('writers'), kind: 'team', team: writers }],
  edges: [{ from: 'researcher', to: 'writers', kind: 'next' }],
}

function delegation(seq: number, member: string, rest: object): TaskRecord {
  const entry = { type: 'delegation', call: `${seq}:${member}`, member, step: `${seq}`, ...rest }
  return { seq, kind: 'trace', at: '2026-01-01T00:00:00.000Z', entry }
}

describe('A picture of a team', () => {
  test.each(['LR', 'TB'] as const)('no two nodes cover each other, %s', (direction) => {
    const picture = layOut(studio, { open: new Set(['writers']), direction })
    expectApart(picture)
    const inside = picture.nodes.find(({ node: { id } }) => id === 'writers')?.inside
    expect(inside?.nodes.map(({ node: { id } }) => id)).toEqual(['composer', 'editor'])
    if (inside) expectApart(inside)
  })

  test('an open team takes room for what is in it, a closed one does not', () => {
    const width = (open: ReadonlySet<string>) => layOut(studio, { open, direction: 'LR' }).width
    expect(width(new Set(['writers']))).toBeGreaterThan(width(new Set()) + 100)
  })

  test('every edge is drawn, the way in among them', () => {
    const picture = layOut(studio, { open: new Set(), direction: 'LR' })
    expect(picture.edges.map(({ edge }) => [edge.from, edge.to])).toEqual([
      ['', 'researcher'],
      ['researcher', 'writers'],
    ])
    for (const { path } of picture.edges) expect(path).toMatch(/^M[\d.,-]+ [LQ]/)
  })

  test.each(['LR', 'TB'] as const)(
    'a step that is repeated has its way back beside it, %s',
    (direction) => {
      const back = { from: 'researcher', to: 'researcher', kind: 'back' as const }
      const edges = [...studio.edges, back]
      const picture = layOut({ ...studio, edges }, { open: new Set(), direction })
      expectApart(picture)
      const { x, y, width, height } =
        picture.nodes.find(({ node: { id } }) => id === 'researcher') ?? expect.fail()
      const own = picture.edges.at(-1) ?? expect.fail()
      expect(own.edge).toEqual(back)
      const isBeside = direction === 'LR' ? own.y > y + height : own.x > x + width
      expect(isBeside).toBe(true)
      const next = picture.edges.find(({ edge: { to } }) => to === 'writers') ?? expect.fail()
      const [startX = 0, startY = 0] =
        /^M([\d.]+),([\d.]+)/.exec(next.path)?.slice(1).map(Number) ?? []
      const isAtNode =
        startX >= x && startX <= x + width + 1 && startY >= y && startY <= y + height + 1
      expect(isAtNode).toBe(true)
      expect(own.x).toBeLessThan(picture.width)
      expect(own.y).toBeLessThan(picture.height)
    },
  )

  test('a picture fits where it is as wide as the room, a little smaller at most', () => {
    const picture = layOut(studio, { open: new Set(), direction: 'LR' })
    expect(fitsInto(picture.width * 0.8, picture)).toBe(true)
    expect(fitsInto(picture.width * 0.7, picture)).toBe(false)
  })

  test('an edge to a node that is not there is left out', () => {
    const edges = [...studio.edges, { from: 'researcher', to: 'ghost', kind: 'may' as const }]
    const picture = layOut({ ...studio, edges }, { open: new Set(), direction: 'LR' })
    expect(picture.edges).toHaveLength(2)
  })
})

describe('The light of a graph', () => {
  const records = [
    delegation(1, 'researcher', { team: 'studio' }),
    delegation(2, 'writers', { team: 'studio' }),
    delegation(3, 'composer', { team: 'writers', path: '2:writers' }),
    delegation(4, 'editor', { team: 'writers', path: '2:writers' }),
    delegation(5, 'composer', { team: 'writers', path: '2:writers' }),
  ]

  test('goes along the edges that the work took', () => {
    const { lights } = lightTask(studio, records)
    expect(lights.get(edgeKey('', { from: '', to: 'researcher' }))?.count).toBe(1)
    expect(lights.get(edgeKey('', { from: 'researcher', to: 'writers' }))?.count).toBe(1)
    expect(lights.get(edgeKey('writers', { from: '', to: 'composer' }))?.count).toBe(1)
    expect(lights.get(edgeKey('writers', { from: 'editor', to: 'composer' }))?.count).toBe(1)
    expect(lights.get('writers/composer')).toMatchObject({ count: 2, running: 2 })
    expect(lights.get('writers/editor')?.count).toBe(1)
  })

  test('comes from everybody where work comes together, and a second try from there too', () => {
    const joined: TeamGraph = {
      ...{ id: 'joined', name: 'Joined', ...about, entry: ['a', 'b'] },
      nodes: [node('a'), node('b'), node('c')],
      edges: [
        { from: 'a', to: 'c', kind: 'next' },
        { from: 'b', to: 'c', kind: 'next' },
      ],
    }
    const members = ['a', 'b', 'c', 'c']
    const calls = members.map((one, i) => delegation(i + 1, one, { team: 'joined' }))
    const { lights } = lightTask(joined, calls)
    expect(lights.get(edgeKey('', { from: 'a', to: 'c' }))?.count).toBe(2)
    expect(lights.get(edgeKey('', { from: 'b', to: 'c' }))?.count).toBe(2)
    expect(lights.get(edgeKey('', { from: '', to: 'b' }))?.count).toBe(1)
    expect(lights.get('c')?.count).toBe(2)
  })

  test('of a call behind an approval falls on the edge that leaves it', () => {
    const asking: TeamGraph = {
      ...{ id: 'asking', name: 'Asking', ...about, entry: ['a'] },
      nodes: [node('a'), { ...node('ask'), kind: 'approval' }, node('b')],
      edges: [
        { from: 'a', to: 'ask', kind: 'next' },
        { from: 'ask', to: 'b', kind: 'next' },
      ],
    }
    const fact = { from: '', to: 'b', count: 3, failures: 0, running: 0, last: [] }
    const lights = lightsOfEdges(asking, [{ team: 'asking', ...fact }])
    expect(lights.get(edgeKey('', { from: 'ask', to: 'b' }))?.count).toBe(3)
    expect(lights.get(edgeKey('', { from: '', to: 'b' }))).toBe(undefined)
  })

  test('of many tasks says how many, how fast and how badly', () => {
    const facts = { from: '', to: 'composer', count: 96, failures: 2, running: 1, p50Ms: 5_000 }
    const lights = lightsOfEdges(studio, [{ team: 'writers', ...facts, last: [] }])
    const { from: _, to: __, ...light } = facts
    expect(lights.get(edgeKey('writers', { from: '', to: 'composer' }))).toEqual(light)
    expect(lights.get('writers/composer')).toEqual(light)
    expect(lights.get('researcher')).toBe(undefined)
  })
})

function expectApart({ nodes }: Picture): void {
  for (const [i, a] of nodes.entries())
    for (const b of nodes.slice(i + 1)) {
      const apart =
        a.x + a.width <= b.x ||
        b.x + b.width <= a.x ||
        a.y + a.height <= b.y ||
        b.y + b.height <= a.y
      expect(apart, `${a.node.id} and ${b.node.id}`).toBe(true)
    }
}
