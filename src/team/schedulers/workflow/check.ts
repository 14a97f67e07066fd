import { toDataSchema, UncheckableSchema } from '../../../agents/schema.ts'
import { hardCap } from '../../budget.ts'
import type { Refuse, TeamPath } from '../../faults.ts'
import type {
  ApprovalStep,
  AskRules,
  BranchStep,
  LoopStep,
  MapStep,
  Step,
} from '../../step-config.ts'
import type { CallRules } from '../scheduler.ts'

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
  checkWhole({ name: 'maxParallel', value: map.maxParallel, min: 1, max: hardCap }, path, refuse)
}

/** What is said to one member, and so means nothing to a list of steps. */
const callKeys = [
  ...(['timeoutSeconds', 'maxRetries', 'fallbackAgentId', 'guards'] as const),
  ...(['input', 'outputSchema', 'jsonSchema', 'maxOutputRetries'] as const),
]

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
  const { timeoutSeconds } = call
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds < 300)) {
    const reason = `timeoutSeconds must be > 0 and < 300 seconds, not ${timeoutSeconds}`
    refuse('invalidLimit', reason, [...path, 'timeoutSeconds'])
  }
  for (const name of ['maxRetries', 'maxOutputRetries'] as const)
    checkWhole({ name, value: call[name], min: 0, max: 10 }, path, refuse)
  checkOutput(call, path, refuse)
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

interface Whole {
  readonly name: string
  readonly value: number | undefined
  readonly min: number
  readonly max: number
}

function checkWhole({ name, value, min, max }: Whole, path: TeamPath, refuse: Refuse): void {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return
  const reason = `${name} must be a whole number from ${min} to ${max}, not ${value}`
  refuse('invalidLimit', reason, [...path, name])
}
