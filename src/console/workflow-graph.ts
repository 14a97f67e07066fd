import type { Step } from '../team/team-config.ts'
import type { GraphEdge, GraphNode } from './api.ts'

/** What of a workflow has been drawn so far. */
interface Drawing {
  readonly entry: Set<string>
  readonly edges: Map<string, GraphEdge>
  readonly extra: GraphNode[]
}

/** Where work comes from: the nodes that were last, and whether the team's caller may be meant. */
interface Front {
  readonly nodes: readonly string[]
  readonly isStart: boolean
}

/** The ways of a workflow: each step follows those before it. */
export function drawWorkflow(steps: readonly Step[]): {
  readonly entry: readonly string[]
  readonly edges: readonly GraphEdge[]
  readonly extra: readonly GraphNode[]
} {
  const drawing: Drawing = { entry: new Set(), edges: new Map(), extra: [] }
  drawSteps(drawing, steps, { nodes: [], isStart: true })
  return {
    entry: [...drawing.entry],
    edges: [...drawing.edges.values()],
    extra: drawing.extra,
  }
}

/** Steps in the order in which they run. */
function drawSteps(drawing: Drawing, steps: readonly Step[], from: Front): Front {
  const ordered = steps
    .map((step, index) => ({ step, order: step.order ?? index + 1 }))
    .sort((a, b) => a.order - b.order)
  let front = from
  for (const { step } of ordered) {
    const after = drawStep(drawing, step, front)
    // A step that may be left out lets what was before it come through.
    front = step.condition ? join([after, front]) : after
  }
  return front
}

function drawStep(drawing: Drawing, step: Step, from: Front): Front {
  const label = step.condition ? `if “${step.condition}”` : undefined
  if ('agentId' in step) return reach(drawing, step.agentId, { from, label, ...step })
  if ('map' in step) {
    const each = label ?? 'each'
    if ('steps' in step.map) return drawSteps(drawing, step.map.steps, from)
    return reach(drawing, step.map.agentId, { from, label: each, ...step.map })
  }
  if ('approval' in step) {
    const id = `approval-${drawing.extra.length + 1}`
    const { question } = step.approval
    drawing.extra.push({ id, name: 'Approval', kind: 'approval', detail: question })
    return reach(drawing, id, { from, label })
  }
  if ('parallel' in step)
    return join(step.parallel.map((branch) => drawSteps(drawing, [branch], from)))
  if ('branch' in step) return join(step.branch.map(({ steps }) => drawSteps(drawing, steps, from)))
  const { steps, until } = step.loop
  const before = new Set(drawing.edges.keys())
  const end = drawSteps(drawing, steps, from)
  const fresh = [...drawing.edges].filter(([key]) => !before.has(key)).map(([, edge]) => edge)
  const first = from.isStart ? [...drawing.entry] : []
  const starts = fresh.filter((edge) => from.nodes.includes(edge.from)).map(({ to }) => to)
  for (const last of end.nodes)
    for (const start of new Set([...starts, ...first]))
      addEdge(drawing, { from: last, to: start, kind: 'back', label: `until “${until}”` })
  return end
}

interface Reach {
  readonly from: Front
  readonly label?: string | undefined
  readonly fallbackAgentId?: string | undefined
}

function reach(drawing: Drawing, id: string, { from, label, fallbackAgentId }: Reach): Front {
  if (from.isStart) drawing.entry.add(id)
  for (const node of from.nodes)
    addEdge(drawing, { from: node, to: id, kind: 'next', ...(label !== undefined && { label }) })
  if (fallbackAgentId === undefined) return { nodes: [id], isStart: false }
  addEdge(drawing, { from: id, to: fallbackAgentId, kind: 'may', label: 'fallback' })
  return { nodes: [id, fallbackAgentId], isStart: false }
}

function addEdge({ edges }: Drawing, edge: GraphEdge): void {
  const key = `${edge.from}\n${edge.to}\n${edge.kind}`
  if (!edges.has(key)) edges.set(key, edge)
}

function join(fronts: readonly Front[]): Front {
  return {
    nodes: [...new Set(fronts.flatMap(({ nodes }) => nodes))],
    isStart: fronts.some(({ isStart }) => isStart),
  }
}
