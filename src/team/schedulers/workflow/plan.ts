import { textOf } from '../../../protocol/task.ts'
import { teamDefaults } from '../../defaults.ts'
import { looksLikeExpression } from '../../expressions/names.ts'
import type { Refuse, TeamPath } from '../../faults.ts'
import { answered } from '../../run.ts'
import type { BranchStep, Join, LoopStep, MapStep, ParallelStep, Step } from '../../step-config.ts'
import { memberTitle, runAgent } from './agent.ts'
import { runApproval } from './approval.ts'
import { runBranch } from './branch.ts'
import { planCall } from './call.ts'
import { runLoop } from './loop.ts'
import { type PlannedMap, runMap } from './map.ts'
import { inOrder } from './order.ts'
import { type PlannedJoin, runParallel } from './parallel.ts'
import type { PlannedStep } from './place.ts'
import { type KnownNames, type RuleSite, readCondition, readContent, readList } from './rules.ts'

/** Where steps stand, and what may be named there. */
interface Site {
  readonly path: TeamPath
  readonly names: KnownNames
  readonly refuse: Refuse
}

/** Reads the steps of a workflow: rules are compiled once, and what is wrong with one is wrong with the team. */
export function planWorkflow(steps: readonly Step[], refuse: Refuse): readonly PlannedStep[] {
  const names = { steps: [], item: false, round: false }
  return planList(steps, { path: ['scheduler', 'steps'], names, refuse })
}

/** A step may name those before it, and what is within those that have ended. */
function planList(steps: readonly Step[], site: Site): readonly PlannedStep[] {
  let { names } = site
  return inOrder(steps).map(({ step, index }) => {
    const planned = planStep(step, { ...site, path: [...site.path, index], names })
    names = knowing(names, namesAfter(step))
    return planned
  })
}

function planStep(step: Step, site: Site): PlannedStep {
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
  return condition ? ({ input }) => textOf(input.parts).includes(condition) : undefined
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
    maxParallel: map.maxParallel ?? teamDefaults.maxParallel,
    givesList:
      [name, map.over, map.outputSchema].some((said) => said !== undefined) || 'steps' in map,
  }
  return (place) => runMap(planned, place)
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
