import { nearest } from '../../../shared/nearest.ts'
import type { Refuse, TeamPath } from '../../faults.ts'
import type { Step } from '../../step-config.ts'
import { inOrder } from './order.ts'

/** Refuses names that are no names or stand twice, and approvals whose feedback goes to a step that has not run by then. */
export function checkNames(steps: readonly Step[], refuse: Refuse): void {
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
    // Nobody works anew in an approval.
    if (step.name !== undefined && !('approval' in step)) targets.push(step.name)
  }
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
