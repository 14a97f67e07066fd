import { toDataSchema, UncheckableSchema } from '../../agents/schema.ts'
import { textOf } from '../../protocol/task.ts'
import { numberFault, type RowTable } from '../../shared/rows.ts'
import {
  type AgentStep,
  type ApprovalStep,
  type AskRules,
  type BranchStep,
  hardCap,
  type Join,
  type LoopStep,
  type MapStep,
  type ParallelStep,
  type Step,
} from '../config.ts'
import type { Refuse, TeamPath } from '../errors.ts'
import { looksLikeExpression } from '../expressions/compile.ts'
import { answered } from '../run.ts'
import type { CallRules } from '../schedulers/scheduler.ts'
import { type Drawing, type DrawnPlace, type Front, labelled, ruleWords, together } from './draw.ts'
import { approvalRows, askRows, callRows, mapRows, type StepKey } from './keys.ts'
import {
  type KnownNames,
  type ReadyRule,
  type RuleSite,
  readCondition,
  readContent,
  readList,
} from './rules.ts'
import {
  type PlannedJoin,
  type PlannedMap,
  PlannedStep,
  type PlannedWork,
  planCall,
  runAgent,
  runApproval,
  runBranch,
  runLoop,
  runMap,
  runParallel,
} from './steps.ts'

/** All that the rest of a workflow asks of one kind of step. */
interface StepKind<S> {
  /** Refuses a step that cannot be in a team of these members, or that has such a step within it. */
  check(step: S, path: TeamPath, checking: Checking): void
  /** The steps within it. */
  within?(step: S): readonly StepsWithin[]
  /** The step that works again with what the user said. No member works again in a step of such a kind. */
  feedbackTo?(step: S): string | undefined
  /** Reads its rules and plans what is within it; gives what runs it. */
  plan(step: S, site: OwnSite): PlannedWork
  /** Draws its nodes and the edges to them; gives where work comes from after it. */
  draw(drawing: Drawing, step: S, place: DrawnPlace): Front
}

/** Steps that stand within a step. */
interface StepsWithin {
  readonly steps: readonly Step[]
  /** Where they stand in it. */
  readonly at: TeamPath
  /** They go on at once: none of them is earlier than another. */
  readonly atOnce?: true
  /** They run once per item, so nothing after them can name them. */
  readonly perItem?: true
}

/** What a step can be, each by its key. One without its row does not compile. */
const stepKinds: { readonly [Key in StepKey]: StepKind<Extract<Step, Record<Key, unknown>>> } = {
  agentId: {
    check: checkCall,
    plan: planAgent,
    draw: (drawing, step, place) => drawing.member(step, { ...place, name: step.name }),
  },
  parallel: {
    check: checkParallel,
    within: ({ parallel }) => [{ steps: parallel, at: ['parallel'], atOnce: true }],
    plan: planParallel,
    draw: drawParallel,
  },
  branch: {
    check: checkBranch,
    within: ({ branch }) =>
      branch.map(({ steps }, index) => ({ steps, at: ['branch', index, 'steps'] })),
    plan: planBranch,
    draw: drawBranch,
  },
  loop: {
    check: checkLoop,
    within: ({ loop }) => [{ steps: loop.steps, at: ['loop', 'steps'] }],
    plan: planLoop,
    draw: drawLoop,
  },
  map: {
    check: checkMap,
    within: ({ map }) =>
      'steps' in map ? [{ steps: map.steps, at: ['map', 'steps'], perItem: true }] : [],
    plan: planMap,
    draw: drawMap,
  },
  approval: {
    check: checkApproval,
    feedbackTo: ({ approval }) => approval.onFeedback,
    plan: planApproval,
    draw: drawApproval,
  },
}

/** The row of a step. */
export function stepKindOf(step: Step): StepKind<Step> {
  const kinds = Object.entries<object>(stepKinds)
  const known = kinds.find(([key]) => Reflect.get(step, key) !== undefined)
  return known?.[1] as StepKind<Step> // every step has one of the keys, and the row is of that kind
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

/** What steps are checked against. */
interface Checking {
  readonly members: ReadonlySet<string>
  readonly refuse: Refuse
}

/** Refuses steps that name agents outside the team, lists without steps, and numbers out of range. */
export function checkSteps(steps: readonly Step[], path: TeamPath, checking: Checking): void {
  for (const [index, step] of steps.entries()) {
    const here = [...path, index]
    if (step.when !== undefined && step.condition !== undefined)
      checking.refuse('invalidStep', 'when cannot stand beside condition', [...here, 'when'])
    stepKindOf(step).check(step, here, checking)
  }
}

/** Where steps stand, and what may be named there. */
interface StepsSite {
  readonly path: TeamPath
  readonly names: KnownNames
  readonly refuse: Refuse
}

/** A step may name those before it, and what is within those that have ended. */
export function planList(steps: readonly Step[], site: StepsSite): readonly PlannedStep[] {
  let { names } = site
  return inOrder(steps).map(({ step, index }) => {
    const planned = planStep(step, { ...site, path: [...site.path, index], names })
    names = knowing(names, namesAfter(step))
    return planned
  })
}

function planStep(step: Step, site: StepsSite): PlannedStep {
  const own = { ...site, step: step.name }
  const applies = planApplies(step, own)
  return new PlannedStep(step, applies, stepKindOf(step).plan(step, own))
}

/** What can be named once a step has ended: the step and what is within it, but for what runs once per item. */
function namesAfter(step: Step): readonly string[] {
  const own = step.name === undefined ? [] : [step.name]
  const lists = stepKindOf(step).within?.(step) ?? []
  return [
    ...own,
    ...lists.flatMap(({ steps, perItem }) => (perItem ? [] : steps.flatMap(namesAfter))),
  ]
}

function knowing(names: KnownNames, more: readonly string[]): KnownNames {
  return more.length > 0 ? { ...names, steps: [...new Set([...names.steps, ...more])] } : names
}

/** Where the rules of one step stand. */
type OwnSite = Omit<RuleSite, 'key'>

/** A condition is a text that the previous answer contains; before the first answer, the question. */
function planApplies({ when, condition }: Step, site: OwnSite): ReadyRule<boolean> | undefined {
  if (when !== undefined)
    return readCondition(when, { ...site, key: 'when', path: [...site.path, 'when'] })
  return condition ? containing(condition) : undefined
}

function containing(text: string): ReadyRule<boolean> {
  return ({ input }) => textOf(input.parts).includes(text)
}

/** Steps in the order in which they run; where they stand ends where their numbers begin. */
export function drawSteps(drawing: Drawing, steps: readonly Step[], start: DrawnPlace): Front {
  let front = start.from
  for (const [index, { step }] of inOrder(steps).entries())
    front = drawStep(drawing, step, { ...start, at: `${start.at}${index + 1}`, from: front })
  return front
}

/** A step that may be left out lets what was before it come through. */
function drawStep(drawing: Drawing, step: Step, place: DrawnPlace): Front {
  const condition = conditionOf(step)
  const known = new Set(drawing.nodes.keys())
  const after = stepKindOf(step).draw(drawing, step, {
    ...place,
    from: labelled(place.from, condition),
  })
  if (step.name !== undefined) drawing.firsts.set(step.name, drawing.startsOf(drawing.since(known)))
  return condition === undefined ? after : together([after, place.from])
}

/** Under which condition a step runs, in words; undefined where it always does. */
function conditionOf({ when, condition }: Step): string | undefined {
  if (when !== undefined) return `if ${ruleWords(when)}`
  return condition ? `if “${condition}”` : undefined
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
  checkNumbers({ ...callRows, ...askRows }, { at: path, values: call }, refuse)
  checkOutput(call, path, refuse)
}

interface Numbers {
  readonly at: TeamPath
  readonly values: object
}

/** Refuses numbers that their rows do not allow. */
function checkNumbers(rows: RowTable, { at, values }: Numbers, refuse: Refuse): void {
  for (const [name, row] of Object.entries(rows)) {
    const value: unknown = Reflect.get(values, name)
    const fault = typeof value === 'number' ? numberFault(row, value) : undefined
    if (fault !== undefined) refuse('invalidLimit', `${name} ${fault}, not ${value}`, [...at, name])
  }
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

function planAgent(step: AgentStep, site: OwnSite): PlannedWork {
  const call = planCall(step, site)
  return (place) => runAgent(call, place)
}

function checkParallel({ parallel, join }: ParallelStep, path: TeamPath, checking: Checking): void {
  const below = [...path, 'parallel']
  if (parallel.length === 0)
    checking.refuse('emptyWorkflow', 'a parallel step needs branches', below)
  checkSteps(parallel, below, checking)
  if (typeof join === 'object') checkCall(join, [...path, 'join'], checking)
}

function planParallel({ parallel, join }: ParallelStep, site: OwnSite): PlannedWork {
  const branches = parallel.map((branch, index) =>
    planStep(branch, { ...site, path: [...site.path, 'parallel', index] }),
  )
  const names = knowing(site.names, parallel.flatMap(namesAfter))
  const at = { ...site, names, path: [...site.path, 'join'] }
  const planned = join === undefined ? undefined : planJoin(join, at)
  return (place) => runParallel(branches, planned, place)
}

function planJoin(join: Join, site: OwnSite): PlannedJoin {
  if (typeof join === 'object') {
    const call = planCall(join, site)
    return (place) => runAgent(call, place)
  }
  const content = readContent(join, { ...site, key: 'join' })
  return async (place) => answered(place.run, await content(place))
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
  if (typeof join === 'object') return drawing.member(join, { ...here, name, joins: true })
  const maker = typeof join === 'string' ? 'a template' : 'a function'
  const detail = join === undefined ? 'under headings' : `by ${maker}`
  const id = drawing.step({ name: name ?? 'Join', kind: 'join', detail }, here)
  return { nodes: [{ id }], isStart: false }
}

function checkBranch({ branch }: BranchStep, at: TeamPath, checking: Checking): void {
  const path = [...at, 'branch']
  const { refuse } = checking
  if (branch.length === 0) refuse('emptyWorkflow', 'a branch needs cases', path)
  for (const [index, { when, steps }] of branch.entries()) {
    const here = [...path, index]
    if (when === undefined && index < branch.length - 1)
      refuse('invalidStep', 'a case without when runs otherwise and must be the last', here)
    if (steps.length === 0) refuse('emptyWorkflow', 'a case needs steps', [...here, 'steps'])
    checkSteps(steps, [...here, 'steps'], checking)
  }
}

function planBranch({ branch }: BranchStep, site: OwnSite): PlannedWork {
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

/** The work goes by the first case that holds; where none has to, it may pass by all of them. */
function drawBranch(
  drawing: Drawing,
  { branch, name = 'Branch' }: BranchStep,
  place: DrawnPlace,
): Front {
  const cases = branch.map(({ when }) => (when === undefined ? 'otherwise' : ruleWords(when)))
  const id = drawing.step({ name, kind: 'branch', cases }, place)
  const ends = branch.map(({ steps }, index) => {
    const origin = { id, label: cases[index] ?? '', cases: [index + 1] }
    const from = { nodes: [origin], isStart: false }
    return drawSteps(drawing, steps, { ...place, at: `${place.at}.${index + 1}.`, from })
  })
  if (branch.at(-1)?.when === undefined) return together(ends)
  const past = { id, label: 'otherwise', cases: [0] }
  return together([...ends, { nodes: [past], isStart: false }])
}

function checkLoop({ loop }: LoopStep, at: TeamPath, checking: Checking): void {
  const path = [...at, 'loop']
  const { steps, maxIterations } = loop
  if (steps.length === 0) checking.refuse('emptyWorkflow', 'a loop needs steps', [...path, 'steps'])
  if (!(Number.isInteger(maxIterations) && maxIterations >= 1 && maxIterations <= hardCap)) {
    const reason = `maxIterations must be from 1 to ${hardCap}, not ${maxIterations}`
    checking.refuse('invalidLimit', reason, [...path, 'maxIterations'])
  }
  checkSteps(steps, [...path, 'steps'], checking)
}

/** From the second round on, what all of its steps gave in the round before can be seen. */
function planLoop({ loop }: LoopStep, site: OwnSite): PlannedWork {
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

function drawLoop(drawing: Drawing, { loop }: LoopStep, place: DrawnPlace): Front {
  const { steps, until, maxIterations: max } = loop
  const known = new Set(drawing.nodes.keys())
  const end = drawSteps(drawing, steps, { ...place, at: `${place.at}.` })
  const fresh = drawing.since(known)
  const words = { label: `until “${ruleWords(until)}”`, step: place.at, max }
  for (const { id: from } of end.nodes)
    if (fresh.has(from))
      for (const to of drawing.startsOf(fresh)) drawing.edge({ from, to, kind: 'back', ...words })
  return end
}

function checkMap({ map }: MapStep, at: TeamPath, checking: Checking): void {
  const path = [...at, 'map']
  const { refuse } = checking
  if ('agentId' in map) checkCall(map, path, checking)
  else {
    for (const key of Object.keys({ ...callRows, ...askRows }))
      if (Reflect.get(map, key) !== undefined)
        refuse('invalidStep', `${key} is for one member: say it to the steps`, [...path, key])
    if (map.steps.length === 0) refuse('emptyWorkflow', 'a map needs steps', [...path, 'steps'])
    checkSteps(map.steps, [...path, 'steps'], checking)
  }
  checkNumbers(mapRows, { at: path, values: map }, refuse)
}

function planMap({ map, name }: MapStep, site: OwnSite): PlannedWork {
  const path = [...site.path, 'map']
  const names = { ...site.names, item: true }
  const over = { ...site, key: 'over', path: [...path, 'over'] }
  const planned: PlannedMap = {
    each:
      'steps' in map
        ? planList(map.steps, { ...site, names, path: [...path, 'steps'] })
        : planCall(map, { ...site, names, path }),
    over: map.over === undefined ? undefined : readList(map.over, over),
    maxItems: map.maxItems ?? mapRows.maxItems.default,
    maxParallel: map.maxParallel ?? mapRows.maxParallel.default,
    givesList:
      [name, map.over, map.outputSchema].some((said) => said !== undefined) || 'steps' in map,
  }
  return (place) => runMap(planned, place)
}

function drawMap(drawing: Drawing, { map, name }: MapStep, place: DrawnPlace): Front {
  const words = map.over === undefined ? 'each' : `each of ${ruleWords(map.over)}`
  const here = { ...place, from: labelled(place.from, words), each: place.at }
  if ('agentId' in map) return drawing.member(map, { ...here, name })
  return drawSteps(drawing, map.steps, { ...here, at: `${place.at}.` })
}

function checkApproval({ approval }: ApprovalStep, at: TeamPath, { refuse }: Checking): void {
  const path = [...at, 'approval']
  const { onFeedback, maxFeedbackRounds } = approval
  if (maxFeedbackRounds !== undefined && onFeedback === undefined)
    refuse('invalidStep', 'maxFeedbackRounds needs the name of a step that feedback goes to', [
      ...path,
      'maxFeedbackRounds',
    ])
  checkNumbers(approvalRows, { at: path, values: approval }, refuse)
}

function planApproval({ approval }: ApprovalStep): PlannedWork {
  const { question, onFeedback: target, maxFeedbackRounds } = approval
  const maxRounds = maxFeedbackRounds ?? approvalRows.maxFeedbackRounds.default
  const rules = { question, target, maxRounds }
  return (place) => runApproval(rules, place)
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
    maxFeedbackRounds: max = approvalRows.maxFeedbackRounds.default,
  } = approval
  const id = drawing.step({ name, kind: 'approval', detail }, place)
  for (const to of drawing.firsts.get(onFeedback) ?? [])
    drawing.edge({ from: id, to, kind: 'back', label: 'feedback', step: place.at, max })
  return { nodes: [{ id }], isStart: false }
}
