import dagre from '@dagrejs/dagre'
import type { GraphEdge, GraphNode, TeamGraph } from '../../src/console/api.ts'

/** A team as a picture: where its nodes stand and its edges run. An open nested team is a picture within. */
export interface Picture {
  readonly team: TeamGraph
  readonly width: number
  readonly height: number
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly PlacedEdge[]
}

/** A node by its upper left corner. */
export interface PlacedNode {
  readonly node: GraphNode
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  /** The nested team, where it is open. */
  readonly inside?: Picture
}

/** An edge as an SVG path, and where its words stand. */
export interface PlacedEdge {
  readonly edge: GraphEdge
  readonly path: string
  readonly x: number
  readonly y: number
}

/** How a picture is drawn. */
interface LayoutOptions {
  /** Which nested teams are open, by `toPlace`. */
  readonly open: ReadonlySet<string>
  /** Left to right, or on narrow screens top to bottom. */
  readonly direction: 'LR' | 'TB'
}

/** Where the caller's message comes from: a node that is not a member. */
const callerNode: GraphNode = { id: '', name: 'You', kind: 'caller' }

/** So many characters of an edge's label are shown. */
export const longestLabel = 28

/** What surrounds the picture within a nested team. */
const pad = 18
const head = 30

/** Lays a team out; nested teams that are open from within outwards. */
export function layOut(team: TeamGraph, options: LayoutOptions, above = ''): Picture {
  const inside = new Map<string, Picture>()
  for (const { id, team: nested } of team.nodes)
    if (nested && options.open.has(toPlace(above, id)))
      inside.set(id, layOut(nested, options, toPlace(above, id)))
  const isTop = above === ''
  const caller = team.guards ? { ...callerNode, guards: team.guards } : callerNode
  const nodes = isTop ? [caller, ...team.nodes] : team.nodes
  const entries: GraphEdge[] = team.entry.map((to) => ({ from: '', to, kind: 'next' }))
  const edges = isTop ? [...entries, ...team.edges] : team.edges
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: options.direction, nodesep: 26, ranksep: 12, marginx: 2, marginy: 2 })
  graph.setDefaultEdgeLabel(() => ({}))
  const rounds = new Set(edges.flatMap(({ from, to }) => (from === to ? [from] : [])))
  const isFlat = options.direction === 'LR'
  for (const node of nodes) {
    const size = sizeOf(node, inside.get(node.id))
    graph.setNode(keyOf(node.id), rounds.has(node.id) ? withRound(size, isFlat) : size)
  }
  const known = edges.filter(
    ({ from, to }) => graph.hasNode(keyOf(from)) && graph.hasNode(keyOf(to)),
  )
  for (const [i, edge] of known.entries())
    if (edge.from !== edge.to)
      graph.setEdge(keyOf(edge.from), keyOf(edge.to), { ...roomFor(edge) }, `${i}`)
  dagre.layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  const all = nodes.map((node) => {
    const { x, y } = graph.node(keyOf(node.id))
    return placed(node, { x, y, ...sizeOf(node, inside.get(node.id)) }, inside.get(node.id))
  })
  return {
    team,
    width,
    height,
    nodes: all,
    edges: known.map((edge, i) => {
      const own = edge.from === edge.to && all.find(({ node }) => node.id === edge.from)
      if (own) return roundAt(edge, own, isFlat)
      const { points, x, y } = graph.edge({ v: keyOf(edge.from), w: keyOf(edge.to), name: `${i}` })
      const ends = all.filter(({ node: { id } }) => rounds.has(id))
      const met = points.map((point: Point) =>
        ends.reduce((one, end) => drawnTo(end, one, isFlat), point),
      )
      const middle = points[Math.floor(points.length / 2)]
      return { edge, path: toPath(met), x: x ?? middle?.x ?? 0, y: y ?? middle?.y ?? 0 }
    }),
  }
}

/** Room for `88 · 6.1 s`, or the label, above an edge and `2 failed` below it. */
function roomFor({ label = '' }: GraphEdge): Size & { readonly labelpos: 'c' } {
  const width = Math.max(64, Math.round(Math.min(label.length, longestLabel) * 6.1) + 10)
  return { width, height: 34, labelpos: 'c' }
}

/** Room for the words of a round beside its node. */
const roundRoom = 220

/** Room on both sides of a node whose work may come back to it at once. */
function withRound({ width, height }: Size, isFlat: boolean): Size {
  return isFlat ? { width, height: height + 2 * 46 } : { width: width + 2 * roundRoom, height }
}

/** A point at the room around a node, moved to the node itself. */
function drawnTo({ x, y, width, height }: PlacedNode, point: Point, isFlat: boolean): Point {
  const [from, to] = isFlat ? [x, x + width] : [y, y + height]
  const across = isFlat ? point.x : point.y
  const along = isFlat ? point.y - (y + height / 2) : point.x - (x + width / 2)
  const room = isFlat ? height / 2 + 46 : width / 2 + roundRoom
  const isAtSide = Math.abs(across - from) < 1 || Math.abs(across - to) < 1
  if (!isAtSide || Math.abs(along) > room + 1) return point
  const most = (isFlat ? height : width) / 2 - 10
  const moved = Math.min(Math.max(along, -most), most)
  return isFlat ? { ...point, y: y + height / 2 + moved } : { ...point, x: x + width / 2 + moved }
}

/** An edge from a node to itself: beneath it, or at its right where the picture goes downwards. */
function roundAt(edge: GraphEdge, node: PlacedNode, isFlat: boolean): PlacedEdge {
  const { x, y, width, height } = node
  if (isFlat) {
    const [left, right, bottom] = [x + width * 0.3, x + width * 0.7, y + height]
    const path = `M${right},${bottom} C${right},${bottom + 30} ${left},${bottom + 30} ${left},${bottom}`
    return { edge, path, x: x + width / 2, y: bottom + 42 }
  }
  const [top, bottom, right] = [y + height * 0.25, y + height * 0.75, x + width]
  const path = `M${right},${bottom} C${right + 36},${bottom} ${right + 36},${top} ${right},${top}`
  return { edge, path, x: right + 34 + roomFor(edge).width / 2, y: y + height / 2 + 6 }
}

/** Whether a picture need not be scrolled in so much room; one that goes to the right is else drawn downwards. */
export function fitsInto(room: number, { width }: Picture): boolean {
  return width * smallest <= room
}

/** By so much a picture may be made smaller; what is still too wide is scrolled. */
export const smallest = 0.78

/** The place of a node: the ids of the nested teams that lead to it, and its own. */
export function toPlace(above: string, id: string): string {
  return above === '' ? id : `${above}/${id}`
}

/** The layout takes an empty name for none. */
function keyOf(id: string): string {
  return `:${id}`
}

/** Where the picture within a node begins. */
export const insideAt: { readonly x: number; readonly y: number } = { x: pad, y: head }

/** Room for `Reviewer · $0.0042` or `3 of 8 items`. */
const shortestLine = 112

function sizeOf({ name, detail, kind }: GraphNode, inside: Picture | undefined): Size {
  if (inside) return { width: inside.width + 2 * pad, height: inside.height + head + pad }
  if (kind === 'caller') return { width: 54, height: 34 }
  if (kind === 'branch') return { width: Math.min(name.length, 16) * 9 + 84, height: 76 }
  const words = Math.min(name.length * 7.8, 190)
  const longest = Math.max(words, Math.min((detail ?? kind).length, 24) * 6.2, shortestLine)
  return { width: Math.round(longest) + 32, height: kind === 'join' ? 46 : 56 }
}

interface Size {
  readonly width: number
  readonly height: number
}

function placed(
  node: GraphNode,
  { x, y, width, height }: Size & { readonly x?: number; readonly y?: number },
  inside: Picture | undefined,
): PlacedNode {
  const corner = { x: (x ?? 0) - width / 2, y: (y ?? 0) - height / 2 }
  return { node, width, height, ...corner, ...(inside && { inside }) }
}

interface Point {
  readonly x: number
  readonly y: number
}

/** A smooth line through points: each middle is met, each point bends it. */
function toPath(points: readonly Point[]): string {
  const [first, ...rest] = points
  const last = rest.pop()
  if (!first || !last) return ''
  let path = `M${at(first)}`
  for (const [i, point] of rest.entries()) {
    const next = rest[i + 1] ?? last
    const end = i === rest.length - 1 ? last : middle(point, next)
    path += ` Q${at(point)} ${at(end)}`
  }
  return rest.length === 0 ? `${path} L${at(last)}` : path
}

function middle(a: Point, b: Point): Point {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }
}

function at({ x, y }: Point): string {
  return `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`
}
