import { A2AError } from '../../protocol/errors.ts'
import { nearest } from '../../shared/text.ts'
import type { Step, WorkflowConfig } from '../config.ts'
import type { Refuse, TeamPath } from '../errors.ts'
import type { Schedule, SchedulerKind } from '../schedulers/kind.ts'
import { Drawing, type StepEdge, type StepNode } from './draw.ts'
import { checkSteps, drawSteps, inOrder, planList, stepKindOf } from './kinds.ts'
import { type PlannedStep, Results, runList } from './steps.ts'

const stepsPath: TeamPath = ['scheduler', 'steps']

/** The row of the table: members answer in a fixed order. */
export const workflow: SchedulerKind<WorkflowConfig> = {
  mode: ({ type }) => type,
  check({ steps }, members, refuse) {
    if (steps.length === 0) refuse('emptyWorkflow', 'a workflow needs at least one step', stepsPath)
    checkSteps(steps, stepsPath, { members, refuse })
    checkNames(steps, stepsPath, { refuse, taken: new Set(), targets: [] })
    planWorkflow(steps, refuse)
  },
  first({ steps }) {
    const [first] = inOrder(steps)
    return first && 'agentId' in first.step ? first.step.agentId : undefined
  },
  create: createWorkflow,
}

interface Naming {
  readonly refuse: Refuse
  /** All names so far. */
  readonly taken: Set<string>
  /** The steps that feedback may go to: earlier ones of this list and of those around it. */
  readonly targets: readonly string[]
}

/** Refuses names that are no names or stand twice, and approvals with feedback to a step that has not run by then. */
function checkNames(steps: readonly Step[], path: TeamPath, naming: Naming): void {
  const targets = [...naming.targets]
  for (const { step, index } of inOrder(steps)) {
    checkNamesOf(step, [...path, index], { ...naming, targets })
    if (step.name !== undefined && !stepKindOf(step).feedbackTo) targets.push(step.name)
  }
}

function checkNamesOf(step: Step, path: TeamPath, naming: Naming): void {
  const { within, feedbackTo } = stepKindOf(step)
  checkName(step, path, naming)
  for (const { steps, at, atOnce } of within?.(step) ?? []) {
    const here = [...path, ...at]
    if (!atOnce) checkNames(steps, here, naming)
    else for (const [index, inner] of steps.entries()) checkNamesOf(inner, [...here, index], naming)
  }
  checkTarget(feedbackTo?.(step), path, naming)
}

function checkName({ name }: Step, path: TeamPath, { refuse, taken }: Naming): void {
  if (name === undefined) return
  const here = [...path, 'name']
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name)) {
    const must = 'name must begin with a letter and go on with letters, digits, "_" or "-"'
    refuse('invalidStep', `${must}, 64 at most, not "${name.slice(0, 80)}"`, here)
  }
  if (taken.has(name)) refuse('duplicateStep', `there is another step "${name}"`, here)
  taken.add(name)
}

function checkTarget(name: string | undefined, path: TeamPath, { refuse, targets }: Naming): void {
  if (name === undefined || targets.includes(name)) return
  const meant = nearest(name, targets)
  const known = targets.length > 0 ? `known here: ${targets.join(', ')}` : 'none has a name here'
  const must = 'onFeedback must name an earlier step of this list or one around it'
  const hint = meant ? `did you mean "${meant}"?` : known
  refuse('unknownStep', `${must}, not "${name}"; ${hint}`, [...path, 'approval', 'onFeedback'])
}

/** Reads the steps of a workflow: rules are compiled once, and what is wrong with one is wrong with the team. */
function planWorkflow(steps: readonly Step[], refuse: Refuse): readonly PlannedStep[] {
  return planList(steps, {
    path: stepsPath,
    names: { steps: [], item: false, round: false },
    refuse,
  })
}

/** Members answer in a fixed order: a step's answer is the next one's question, unless the step says another. */
function createWorkflow(config: WorkflowConfig): Schedule {
  const steps = planWorkflow(config.steps, unchecked)
  return async (run) => {
    const input = run.memory.message
    const known = { results: new Results(), feedback: '', untold: '' }
    const start = { run, name: '', input, previous: undefined, last: true, known }
    const answer = await runList(steps, start)
    if (!answer)
      throw new A2AError('processingError', 'No step of the workflow applies to this message')
    return answer
  }
}

/** A team is checked before its scheduler is made. */
const unchecked: Refuse = (_fault, reason) => {
  throw new TypeError(reason)
}

/** A workflow as nodes and edges. */
interface DrawnWorkflow {
  readonly entry: readonly string[]
  readonly edges: readonly StepEdge[]
  readonly nodes: readonly StepNode[]
}

/** The ways of a workflow: each step follows those before it. */
export function drawWorkflow(steps: readonly Step[], members: readonly string[]): DrawnWorkflow {
  const drawing = new Drawing(members)
  drawSteps(drawing, steps, { at: '', from: { nodes: [], isStart: true } })
  const { entry, edges, nodes } = drawing
  return { entry: [...entry], edges: [...edges.values()], nodes: [...nodes.values()] }
}
