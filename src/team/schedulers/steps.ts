import { hardCap } from '../budget.ts'
import type { Refuse } from '../faults.ts'
import type { Step } from '../team-config.ts'
import type { CallRules } from './scheduler.ts'

/** Steps in ascending `order`; one without it stands where the list has it. */
export function inOrder(steps: readonly Step[]): readonly Step[] {
  return steps
    .map((step, index) => ({ step, order: step.order ?? index + 1 }))
    .sort((a, b) => a.order - b.order)
    .map(({ step }) => step)
}

/** Refuses steps that name agents outside the team, lists without steps, and numbers out of range. */
export function checkSteps(
  steps: readonly Step[],
  members: ReadonlySet<string>,
  refuse: Refuse,
): void {
  if (steps.length === 0) refuse('emptyWorkflow', 'a workflow needs at least one step')
  for (const id of steps.flatMap(agentsOf))
    if (!members.has(id)) refuse('notAMember', `a step names "${id}", which is not a member`)
  for (const step of steps) checkStep(step, refuse)
}

/** The members that a step calls. */
function agentsOf(step: Step): readonly string[] {
  if ('agentId' in step) return withFallback(step)
  if ('parallel' in step) return step.parallel.flatMap(agentsOf)
  if ('loop' in step) return step.loop.steps.flatMap(agentsOf)
  return 'map' in step ? withFallback(step.map) : []
}

function withFallback(call: CallRules & { readonly agentId: string }): readonly string[] {
  return call.fallbackAgentId ? [call.agentId, call.fallbackAgentId] : [call.agentId]
}

function checkStep(step: Step, refuse: Refuse): void {
  if ('agentId' in step) checkCall(step, refuse)
  else if ('map' in step) checkCall(step.map, refuse)
  else if ('parallel' in step) {
    if (step.parallel.length === 0) refuse('emptyWorkflow', 'a parallel step needs branches')
    for (const branch of step.parallel) checkStep(branch, refuse)
  } else if ('loop' in step) {
    const { steps, maxIterations } = step.loop
    if (steps.length === 0) refuse('emptyWorkflow', 'a loop needs steps')
    if (!(Number.isInteger(maxIterations) && maxIterations >= 1 && maxIterations <= hardCap))
      refuse('invalidLimit', `maxIterations must be from 1 to ${hardCap}, not ${maxIterations}`)
    for (const inner of steps) checkStep(inner, refuse)
  }
}

/** The same ranges as an agent's own. */
function checkCall({ timeoutSeconds, maxRetries }: CallRules, refuse: Refuse): void {
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds < 300))
    refuse('invalidLimit', `timeoutSeconds must be > 0 and < 300 seconds, not ${timeoutSeconds}`)
  if (
    maxRetries !== undefined &&
    !(Number.isInteger(maxRetries) && maxRetries >= 0 && maxRetries <= 10)
  )
    refuse('invalidLimit', `maxRetries must be a whole number from 0 to 10, not ${maxRetries}`)
}
