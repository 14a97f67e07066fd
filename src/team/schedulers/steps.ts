import { hardCap } from '../budget.ts'
import type { Refuse, TeamPath } from '../faults.ts'
import type { LoopStep, MapStep, Step } from '../team-config.ts'
import type { CallRules } from './scheduler.ts'

/** Refuses steps that name agents outside the team, lists without steps, and numbers out of range. */
export function checkSteps(
  steps: readonly Step[],
  members: ReadonlySet<string>,
  refuse: Refuse,
): void {
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
  if ('agentId' in step) checkCall(step, path, checking)
  else if ('map' in step) checkMap(step.map, [...path, 'map'], checking)
  else if ('loop' in step) checkLoop(step.loop, [...path, 'loop'], checking)
  else if ('parallel' in step) {
    const below = [...path, 'parallel']
    if (step.parallel.length === 0)
      checking.refuse('emptyWorkflow', 'a parallel step needs branches', below)
    checkEach(step.parallel, below, checking)
  }
}

function checkMap(map: MapStep['map'], path: TeamPath, checking: Checking): void {
  checkCall(map, path, checking)
  const { maxParallel = 1 } = map
  if (Number.isInteger(maxParallel) && maxParallel >= 1 && maxParallel <= hardCap) return
  const reason = `maxParallel must be a whole number from 1 to ${hardCap}, not ${maxParallel}`
  checking.refuse('invalidLimit', reason, [...path, 'maxParallel'])
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

/** The members that it calls, and the same ranges as an agent's own. */
function checkCall(
  call: CallRules & { readonly agentId: string },
  path: TeamPath,
  { members, refuse }: Checking,
): void {
  for (const key of ['agentId', 'fallbackAgentId'] as const) {
    const id = call[key]
    if (id !== undefined && !members.has(id))
      refuse('notAMember', `a step names "${id}", which is not a member`, [...path, key])
  }
  const { timeoutSeconds, maxRetries } = call
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds < 300)) {
    const reason = `timeoutSeconds must be > 0 and < 300 seconds, not ${timeoutSeconds}`
    refuse('invalidLimit', reason, [...path, 'timeoutSeconds'])
  }
  if (
    maxRetries !== undefined &&
    !(Number.isInteger(maxRetries) && maxRetries >= 0 && maxRetries <= 10)
  ) {
    const reason = `maxRetries must be a whole number from 0 to 10, not ${maxRetries}`
    refuse('invalidLimit', reason, [...path, 'maxRetries'])
  }
}
