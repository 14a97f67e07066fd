import { secondsFault } from '../../agents/config-checks.ts'
import { toDataSchema, UncheckableSchema } from '../../agents/schema.ts'
import { A2AError } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/task.ts'
import { nearest } from '../../shared/text.ts'
import {
  type ApprovalStep,
  type AskRules,
  type BranchStep,
  hardCap,
  type Join,
  type LoopStep,
  type MapStep,
  type ParallelStep,
  type Step,
  teamDefaults,
  type WorkflowConfig,
} from '../config.ts'
import type { Refuse, TeamPath } from '../errors.ts'
import { looksLikeExpression } from '../expressions/compile.ts'
import { answered } from '../run.ts'
import type { Schedule, SchedulerKind } from '../schedulers/kind.ts'
import type { CallRules } from '../schedulers/scheduler.ts'
import {
  type KnownNames,
  type PlannedStep,
  Results,
  type RuleSite,
  readCondition,
  readContent,
  readList,
} from './rules.ts'
import {
  memberTitle,
  type PlannedJoin,
  type PlannedMap,
  planCall,
  runAgent,
  runApproval,
  runBranch,
  runList,
  runLoop,
  runMap,
  runParallel,
} from './steps.ts'

/** The row of the table: members answer in a fixed order. */
export const workflow: SchedulerKind<WorkflowConfig> = {
  mode: ({ type }) => type,
  check({ steps }, members, refuse) {
    checkSteps(steps, members, refuse)
    checkNames(steps, refuse)
    planWorkflow(steps, refuse)
  },
  first({ steps }) {
    const [first] = inOrder(steps)
    return first && 'agentId' in first.step ? first.step.agentId : undefined
  },
  create: createWorkflow,
}

/** Refuses steps that name agents outside the team, lists without steps, and numbers out of range. */
function checkSteps(steps: readonly Step[], members: ReadonlySet<string>, refuse: Refuse): void {
  const path = ['scheduler', 'steps']
  if (steps.length === 0) refuse('emptyWorkflow', 'a workflow needs at least one step', path)
  checkEach(steps, path, { members, refuse })
}

interface Checking {
  readonly members: ReadonlySet<string>
  readonly refuse: Refuse
}

function checkEach(steps: readonly Step[], path: TeamPath, checking: Checking): void {
  for (const [index, step] of steps.entries()) checkStep(step, [...path, index], checking)
}

function checkStep(step: Step, path: TeamPath, checking: Checking): void {
  if (step.when !== undefined && step.condition !== undefined)
    checking.refuse('invalidStep', 'when cannot stand beside condition', [...path, 'when'])
  if ('agentId' in step) checkCall(step, path, checking)
  else if ('map' in step) checkMap(step.map, [...path, 'map'], checking)
  else if ('loop' in step) checkLoop(step.loop, [...path, 'loop'], checking)
  else if ('branch' in step) checkBranch(step, [...path, 'branch'], checking)
  else if ('approval' in step) checkApproval(step, [...path, 'approval'], checking)
  else {
    const below = [...path, 'parallel']
    if (step.parallel.length === 0)
      checking.refuse('emptyWorkflow', 'a parallel step needs branches', below)
    checkEach(step.parallel, below, checking)
    const { join } = step
    if (typeof join === 'object') checkCall(join, [...path, 'join'], checking)
  }
}

/** The members that it calls, what they must answer, and the same ranges as an agent's own. */
function checkCall(
  call: CallRules & AskRules & { readonly agentId: string },
  path: TeamPath,
  { members, refuse }: Checking,
): void {
  for (const key of ['agentId', 'fallbackAgentId'] as const) {
    const id = call[key]
    if (id !== undefined && !members.has(id))
      refuse('notAMember', `a step names "${id}", which is not a member`, [...path, key])
  }
  for (const name of ['timeoutSeconds', 'maxTaskSeconds'] as const) {
    const seconds = call[name]
    const fault = seconds === undefined ? undefined : secondsFault(seconds)
    if (fault !== undefined)
      refuse('invalidLimit', `${name} ${fault}, not ${seconds}`, [...path, name])
  }
  for (const name of ['maxRetries', 'maxOutputRetries'] as const)
    checkWhole({ name, value: call[name], min: 0, max: 10 }, path, refuse)
  checkOutput(call, path, refuse)
}

interface WholeNumber {
  readonly name: string
  readonly value: number | undefined
  readonly min: number
  readonly max: number
}

function checkWhole({ name, value, min, max }: WholeNumber, path: TeamPath, refuse: Refuse): void {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return
  const reason = `${name} must be a whole number from ${min} to ${max}, not ${value}`
  refuse('invalidLimit', reason, [...path, name])
}

function checkOutput(call: AskRules, path: TeamPath, refuse: Refuse): void {
  const { outputSchema, jsonSchema } = call
  if (outputSchema === undefined) {
    for (const key of ['jsonSchema', 'maxOutputRetries'] as const)
      if (call[key] !== undefined)
        refuse('invalidSchema', `${key} needs an output schema beside it`, [...path, key])
    return
  }
  try {
    toDataSchema(outputSchema, { at: 'outputSchema', jsonSchema })
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown
    const { path: inner, offset } =
      thrown instanceof UncheckableSchema ? thrown : { path: [], offset: undefined }
    const at = { path: [...path, 'outputSchema', ...inner], offset }
    refuse('invalidSchema', thrown.message, at)
  }
}

/** What is said to one member, and so means nothing to a list of steps. */
const callKeys = [
  ...([
    'timeoutSeconds',
    'maxTaskSeconds',
    'maxRetries',
    'fallbackAgentId',
    'guards',
    'failOn',
  ] as const),
  ...(['input', 'outputSchema', 'jsonSchema', 'maxOutputRetries'] as const),
]

function checkMap(map: MapStep['map'], path: TeamPath, checking: Checking): void {
  const { refuse } = checking
  if ('agentId' in map) checkCall(map, path, checking)
  else {
    for (const key of callKeys)
      if (map[key] !== undefined)
        refuse('invalidStep', `${key} is for one member: say it to the steps`, [...path, key])
    if (map.steps.length === 0) refuse('emptyWorkflow', 'a map needs steps', [...path, 'steps'])
    checkEach(map.steps, [...path, 'steps'], checking)
  }
  const max = Number.MAX_SAFE_INTEGER
  checkWhole({ name: 'maxItems', value: map.maxItems, min: 1, max }, path, refuse)
  checkWhole({ name: 'maxParallel', value: map.maxParallel, min: 1, max: hardCap }, path, refuse)
}

function checkLoop(loop: LoopStep['loop'], path: TeamPath, checking: Checking): void {
  const { steps, maxIterations } = loop
  if (steps.length === 0) checking.refuse('emptyWorkflow', 'a loop needs steps', [...path, 'steps'])
  if (!(Number.isInteger(maxIterations) && maxIterations >= 1 && maxIterations <= hardCap)) {
    const reason = `maxIterations must be from 1 to ${hardCap}, not ${maxIterations}`
    checking.refuse('invalidLimit', reason, [...path, 'maxIterations'])
  }
  checkEach(steps, [...path, 'steps'], checking)
}

function checkBranch({ branch }: BranchStep, path: TeamPath, checking: Checking): void {
  const { refuse } = checking
  if (branch.length === 0) refuse('emptyWorkflow', 'a branch needs cases', path)
  for (const [index, { when, steps }] of branch.entries()) {
    const here = [...path, index]
    if (when === undefined && index < branch.length - 1)
      refuse('invalidStep', 'a case without when runs otherwise and must be the last', here)
    if (steps.length === 0) refuse('emptyWorkflow', 'a case needs steps', [...here, 'steps'])
    checkEach(steps, [...here, 'steps'], checking)
  }
}

function checkApproval({ approval }: ApprovalStep, path: TeamPath, { refuse }: Checking): void {
  const { onFeedback, maxFeedbackRounds: value } = approval
  if (value !== undefined && onFeedback === undefined)
    refuse('invalidStep', 'maxFeedbackRounds needs the name of a step that feedback goes to', [
      ...path,
      'maxFeedbackRounds',
    ])
  checkWhole({ name: 'maxFeedbackRounds', value, min: 1, max: hardCap }, path, refuse)
}

/** Refuses names that are no names or stand twice, and approvals with feedback to a step that has not run by then. */
function checkNames(steps: readonly Step[], refuse: Refuse): void {
  checkList(steps, ['scheduler', 'steps'], { refuse, taken: new Set(), targets: [] })
}

interface Naming {
  readonly refuse: Refuse
  /** All names so far. */
  readonly taken: Set<string>
  /** The steps that feedback may go to: earlier ones of this list and of those around it. */
  readonly targets: readonly string[]
}

function checkList(steps: readonly Step[], path: TeamPath, naming: Naming): void {
  const targets = [...naming.targets]
  for (const { step, index } of inOrder(steps)) {
    const here = [...path, index]
    checkName(step, here, naming)
    checkInner(step, here, { ...naming, targets })
    // No member works again in an approval.
    if (step.name !== undefined && !('approval' in step)) targets.push(step.name)
  }
}

/** A step, and where its list has it. */
interface Placed {
  readonly step: Step
  readonly index: number
}

/** Steps in ascending `order`; one without it stands where the list has it. */
export function inOrder(steps: readonly Step[]): readonly Placed[] {
  return steps
    .map((step, index) => ({ step, index, order: step.order ?? index + 1 }))
    .sort((a, b) => a.order - b.order)
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

function checkInner(step: Step, path: TeamPath, naming: Naming): void {
  if ('parallel' in step)
    // They go on at once: none of them is earlier than another.
    for (const [index, branch] of step.parallel.entries()) {
      const here = [...path, 'parallel', index]
      checkName(branch, here, naming)
      checkInner(branch, here, naming)
    }
  else if ('branch' in step)
    for (const [index, { steps }] of step.branch.entries())
      checkList(steps, [...path, 'branch', index, 'steps'], naming)
  else if ('loop' in step) checkList(step.loop.steps, [...path, 'loop', 'steps'], naming)
  else if ('map' in step && 'steps' in step.map)
    checkList(step.map.steps, [...path, 'map', 'steps'], naming)
  else if ('approval' in step) checkTarget(step.approval.onFeedback, path, naming)
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
  const names = { steps: [], item: false, round: false }
  return planList(steps, { path: ['scheduler', 'steps'], names, refuse })
}

/** Where steps stand, and what may be named there. */
interface StepsSite {
  readonly path: TeamPath
  readonly names: KnownNames
  readonly refuse: Refuse
}

/** A step may name those before it, and what is within those that have ended. */
function planList(steps: readonly Step[], site: StepsSite): readonly PlannedStep[] {
  let { names } = site
  return inOrder(steps).map(({ step, index }) => {
    const planned = planStep(step, { ...site, path: [...site.path, index], names })
    names = knowing(names, namesAfter(step))
    return planned
  })
}

function planStep(step: Step, site: StepsSite): PlannedStep {
  const own = { ...site, step: step.name }
  const agentId = 'agentId' in step ? step.agentId : undefined
  const title = step.name ?? 'Result'
  return {
    name: step.name,
    title: (run) => (agentId === undefined ? title : memberTitle(run, agentId)),
    applies: planApplies(step, own),
    run: planRun(step, own),
  }
}

/** Where the rules of one step stand. */
type OwnSite = Omit<RuleSite, 'key'>

/** A condition is a text that the previous answer contains; before the first answer, the question. */
function planApplies({ when, condition }: Step, site: OwnSite): PlannedStep['applies'] {
  if (when !== undefined)
    return readCondition(when, { ...site, key: 'when', path: [...site.path, 'when'] })
  return condition ? containing(condition) : undefined
}

function planRun(step: Step, site: OwnSite): PlannedStep['run'] {
  if ('agentId' in step) {
    const call = planCall(step, site)
    return (place) => runAgent(call, place)
  }
  if ('parallel' in step) return planParallel(step, site)
  if ('branch' in step) return planBranch(step, site)
  if ('loop' in step) return planLoop(step, site)
  if ('map' in step) return planMap(step, site)
  const { question, onFeedback: target, maxFeedbackRounds } = step.approval
  const maxRounds = maxFeedbackRounds ?? teamDefaults.maxFeedbackRounds
  const approval = { question, target, maxRounds }
  return (place) => runApproval(approval, place)
}

function planParallel({ parallel, join }: ParallelStep, site: OwnSite): PlannedStep['run'] {
  const branches = parallel.map((branch, index) =>
    planStep(branch, { ...site, path: [...site.path, 'parallel', index] }),
  )
  const names = knowing(site.names, parallel.flatMap(namesAfter))
  const at = { ...site, names, path: [...site.path, 'join'] }
  const planned = join === undefined ? undefined : planJoin(join, at)
  return (place) => runParallel(branches, planned, place)
}

function knowing(names: KnownNames, more: readonly string[]): KnownNames {
  return more.length > 0 ? { ...names, steps: [...new Set([...names.steps, ...more])] } : names
}

/** What can be named once a step has ended: the step and what is within it, but for a map, which runs that often. */
function namesAfter(step: Step): readonly string[] {
  const own = step.name === undefined ? [] : [step.name]
  if ('parallel' in step) return [...own, ...step.parallel.flatMap(namesAfter)]
  if ('loop' in step) return [...own, ...step.loop.steps.flatMap(namesAfter)]
  if (!('branch' in step)) return own
  return [...own, ...step.branch.flatMap(({ steps }) => steps.flatMap(namesAfter))]
}

function planJoin(join: Join, site: OwnSite): PlannedJoin {
  if (typeof join === 'object') {
    const call = planCall(join, site)
    return (place) => runAgent(call, place)
  }
  const content = readContent(join, { ...site, key: 'join' })
  return async (place) => answered(place.run, await content(place))
}

function planBranch({ branch }: BranchStep, site: OwnSite): PlannedStep['run'] {
  const cases = branch.map(({ when, steps }, index) => {
    const path = [...site.path, 'branch', index]
    const at = { ...site, key: `case${index + 1}`, path: [...path, 'when'] }
    return {
      when: when === undefined ? undefined : readCondition(when, at),
      steps: planList(steps, { ...site, path: [...path, 'steps'] }),
    }
  })
  return (place) => runBranch(cases, place)
}

/** From the second round on, what all of its steps gave in the round before can be seen. */
function planLoop({ loop }: LoopStep, site: OwnSite): PlannedStep['run'] {
  const { until, maxIterations } = loop
  const path = [...site.path, 'loop']
  const names = { ...knowing(site.names, loop.steps.flatMap(namesAfter)), round: true }
  const steps = planList(loop.steps, { ...site, names, path: [...path, 'steps'] })
  const isOver =
    typeof until === 'string' && !looksLikeExpression(until)
      ? containing(until)
      : readCondition(until, { ...site, names, key: 'until', path: [...path, 'until'] })
  return (place) => runLoop({ steps, until: isOver, maxIterations }, place)
}

function containing(text: string): NonNullable<PlannedStep['applies']> {
  return ({ input }) => textOf(input.parts).includes(text)
}

function planMap({ map, name }: MapStep, site: OwnSite): PlannedStep['run'] {
  const path = [...site.path, 'map']
  const names = { ...site.names, item: true }
  const over = { ...site, key: 'over', path: [...path, 'over'] }
  const planned: PlannedMap = {
    each:
      'steps' in map
        ? planList(map.steps, { ...site, names, path: [...path, 'steps'] })
        : planCall(map, { ...site, names, path }),
    over: map.over === undefined ? undefined : readList(map.over, over),
    maxItems: map.maxItems ?? teamDefaults.maxItems,
    maxParallel: map.maxParallel ?? teamDefaults.maxParallel,
    givesList:
      [name, map.over, map.outputSchema].some((said) => said !== undefined) || 'steps' in map,
  }
  return (place) => runMap(planned, place)
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
