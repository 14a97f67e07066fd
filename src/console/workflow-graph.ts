import { inOrder } from '../team/schedulers/workflow/order.ts'
import type {
  ApprovalStep,
  BranchStep,
  LoopStep,
  MapStep,
  ParallelStep,
  Step,
} from '../team/step-config.ts'
import {
  addEdge,
  type Drawing,
  type DrawnPlace,
  type Front,
  labelled,
  reachMember,
  reachStep,
  startsOf,
  together,
} from './drawing.ts'
import { conditionOf, ruleWords, type StepNode } from './drawn-step.ts'
import type { GraphEdge } from './graph-api.ts'

/** A workflow as nodes and edges. */
interface DrawnWorkflow {
  readonly entry: readonly string[]
  readonly edges: readonly GraphEdge[]
  readonly nodes: readonly StepNode[]
}

/** How often feedback is taken where the step does not say. */
const defaultFeedbackRounds = 5

/** The ways of a workflow: each step follows those before it. */
export function drawWorkflow(steps: readonly Step[], members: readonly string[]): DrawnWorkflow {
  const [entry, edges, nodes] = [new Set<string>(), new Map(), new Map()]
  const drawing: Drawing = { members: new Set(members), entry, edges, nodes, firsts: new Map() }
  drawSteps(drawing, steps, { at: '', from: { nodes: [], isStart: true } })
  return { entry: [...entry], edges: [...edges.values()], nodes: [...nodes.values()] }
}

/** Steps in the order in which they run; where they stand ends where their numbers begin. */
function drawSteps(drawing: Drawing, steps: readonly Step[], start: DrawnPlace): Front {
  let front = start.from
  for (const [index, { step }] of inOrder(steps).entries())
    front = drawStep(drawing, step, { ...start, at: `${start.at}${index + 1}`, from: front })
  return front
}

/** A step that may be left out lets what was before it come through. */
function drawStep(drawing: Drawing, step: Step, place: DrawnPlace): Front {
  const condition = conditionOf(step)
  const known = new Set(drawing.nodes.keys())
  const after = drawKind(drawing, step, { ...place, from: labelled(place.from, condition) })
  if (step.name !== undefined)
    drawing.firsts.set(step.name, startsOf(drawing, nodesSince(drawing, known)))
  return condition === undefined ? after : together([after, place.from])
}

function drawKind(drawing: Drawing, step: Step, place: DrawnPlace): Front {
  if ('parallel' in step) return drawParallel(drawing, step, place)
  if ('branch' in step) return drawBranch(drawing, step, place)
  if ('loop' in step) return drawLoop(drawing, step, place)
  if ('map' in step) return drawMap(drawing, step, place)
  if ('approval' in step) return drawApproval(drawing, step, place)
  return reachMember(drawing, step, { ...place, name: step.name })
}

/** Every one of the steps gets the same question; what they answer comes together in a node of its own. */
function drawParallel(
  drawing: Drawing,
  { parallel, join, name }: ParallelStep,
  place: DrawnPlace,
): Front {
  const ends = parallel.map((step, index) =>
    drawStep(drawing, step, { ...place, at: `${place.at}.${index + 1}` }),
  )
  const here = { ...place, at: `${place.at}.join`, from: together(ends) }
  if (typeof join === 'object') return reachMember(drawing, join, { ...here, name, joins: true })
  const maker = typeof join === 'string' ? 'a template' : 'a function'
  const detail = join === undefined ? 'under headings' : `by ${maker}`
  const id = reachStep(drawing, { name: name ?? 'Join', kind: 'join', detail }, here)
  return { nodes: [{ id }], isStart: false }
}

/** The work goes by the first case that holds; where none has to, it may pass by all of them. */
function drawBranch(
  drawing: Drawing,
  { branch, name = 'Branch' }: BranchStep,
  place: DrawnPlace,
): Front {
  const cases = branch.map(({ when }) => (when === undefined ? 'otherwise' : ruleWords(when)))
  const id = reachStep(drawing, { name, kind: 'branch', cases }, place)
  const ends = branch.map(({ steps }, index) => {
    const origin = { id, label: cases[index] ?? '', cases: [index + 1] }
    const from = { nodes: [origin], isStart: false }
    return drawSteps(drawing, steps, { ...place, at: `${place.at}.${index + 1}.`, from })
  })
  if (branch.at(-1)?.when === undefined) return together(ends)
  const past = { id, label: 'otherwise', cases: [0] }
  return together([...ends, { nodes: [past], isStart: false }])
}

function drawLoop(drawing: Drawing, { loop }: LoopStep, place: DrawnPlace): Front {
  const { steps, until, maxIterations: max } = loop
  const known = new Set(drawing.nodes.keys())
  const end = drawSteps(drawing, steps, { ...place, at: `${place.at}.` })
  const fresh = nodesSince(drawing, known)
  const words = { label: `until “${ruleWords(until)}”`, step: place.at, max }
  for (const { id: from } of end.nodes)
    if (fresh.has(from))
      for (const to of startsOf(drawing, fresh))
        addEdge(drawing, { from, to, kind: 'back', ...words })
  return end
}

function drawMap(drawing: Drawing, { map, name }: MapStep, place: DrawnPlace): Front {
  const words = map.over === undefined ? 'each' : `each of ${ruleWords(map.over)}`
  const here = { ...place, from: labelled(place.from, words), each: place.at }
  if ('agentId' in map) return reachMember(drawing, map, { ...here, name })
  return drawSteps(drawing, map.steps, { ...here, at: `${place.at}.` })
}

/** What is neither a yes nor a no goes back to the step that the approval names. */
function drawApproval(
  drawing: Drawing,
  { approval, name = 'Approval' }: ApprovalStep,
  place: DrawnPlace,
): Front {
  const {
    question: detail,
    onFeedback = '',
    maxFeedbackRounds: max = defaultFeedbackRounds,
  } = approval
  const id = reachStep(drawing, { name, kind: 'approval', detail }, place)
  for (const to of drawing.firsts.get(onFeedback) ?? [])
    addEdge(drawing, { from: id, to, kind: 'back', label: 'feedback', step: place.at, max })
  return { nodes: [{ id }], isStart: false }
}

function nodesSince({ nodes }: Drawing, known: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...nodes.keys()].filter((id) => !known.has(id)))
}
