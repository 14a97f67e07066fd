import { A2AError } from '../../../protocol/errors.ts'
import { textOf } from '../../../protocol/task.ts'
import type { Message, Part } from '../../../protocol/types.ts'
import { delegate, delegateAll } from '../../delegate.ts'
import { replyParts } from '../../reply.ts'
import { askUser, type Run, toMember, traceRun } from '../../run.ts'
import type {
  AgentStep,
  ApprovalStep,
  LoopStep,
  MapStep,
  ParallelStep,
  Step,
  WorkflowConfig,
} from '../../team-config.ts'
import { clip } from '../../trace.ts'
import { Refusal, readVerdict, toQuestion } from '../approval.ts'
import type { Schedule, SchedulerKind } from '../kind.ts'
import { inBatches, toItems } from '../list.ts'
import type { CallRules, MemberReply } from '../scheduler.ts'
import { checkSteps } from './check.ts'
import { checkNames } from './names.ts'
import { inOrder as ordered } from './order.ts'

/** The row of the table: members answer in a fixed order. */
export const workflow: SchedulerKind<WorkflowConfig> = {
  mode: ({ type }) => type,
  check({ steps }, members, refuse) {
    checkSteps(steps, members, refuse)
    checkNames(steps, refuse)
  },
  first({ steps }) {
    const [step] = inOrder(steps)
    return step && 'agentId' in step ? step.agentId : undefined
  },
  create: createWorkflow,
}

/** Where in the workflow a step stands. */
interface Place {
  readonly run: Run
  /** Unique within the run: `2`, `3.1`, `4#2.1`; the second asking of an approval is `2~2`. */
  readonly name: string
  readonly input: Message
  /** The previous answer; none before the first step. */
  readonly previous: MemberReply | undefined
  /** Whether nothing follows, so that the member's words are the team's answer. */
  readonly last: boolean
}

/** The answer of a step; undefined when it was left out. */
type StepResult = Promise<MemberReply | undefined>

/**
 * Members answer in a fixed order: a step's answer is the next one's question. The last step's words go to the caller
 * as they come, those of earlier ones as status texts.
 */
function createWorkflow(config: WorkflowConfig): Schedule {
  const steps = inOrder(config.steps)
  return async (run) => {
    const input = run.memory.message
    const start = { run, name: '', input, previous: undefined, last: true }
    const answer = await runSteps(steps, start)
    if (!answer)
      throw new A2AError('processingError', 'No step of the workflow applies to this message')
    return answer
  }
}

async function runSteps(steps: readonly Step[], start: Place): StepResult {
  let place = start
  for (const [index, step] of steps.entries()) {
    const last = start.last && index === steps.length - 1
    const here: Place = { ...place, name: `${start.name}${index + 1}`, last }
    if (!applies(step, here)) continue
    const answer = await runStep(step, here)
    if (!answer) continue
    place = { ...place, previous: answer, input: toMember(here.run, replyParts(answer)) }
  }
  return place.previous === start.previous ? undefined : place.previous
}

/** A condition is a text that the previous answer contains; before the first answer, the question. */
function applies({ condition }: Step, { run, name, input }: Place): boolean {
  if (!condition || textOf(input.parts).includes(condition)) return true
  traceRun(run, { type: 'skip', team: run.config.id, step: name })
  return false
}

function runStep(step: Step, place: Place): StepResult {
  if ('agentId' in step) return runAgent(step, place)
  if ('parallel' in step) return runParallel(step, place)
  if ('loop' in step) return runLoop(step, place)
  if ('map' in step) return runMap(step, place)
  if ('approval' in step) return runApproval(step, place)
  throw new A2AError('unsupportedOperation', 'Branches do not run yet')
}

async function runAgent(step: AgentStep, { run, name, input, previous, last }: Place): StepResult {
  const reply = await delegate(run, {
    ...callRules(step),
    name,
    agentId: step.agentId,
    message: input,
    facesCaller: previous === undefined,
    ...(last && { live: 'now' }),
  })
  const fresh = run.memory.isFresh(`${name}:${step.agentId}`)
  if (!last && fresh) await report(run, step.agentId, reply)
  return reply
}

async function runParallel(step: ParallelStep, place: Place): StepResult {
  const branches = step.parallel.map((branch, index) => async (run: Run) => {
    const here = { ...place, run, name: `${place.name}.${index + 1}`, last: false }
    const reply = applies(branch, here) ? await runStep(branch, here) : undefined
    return { title: titleOf(run, branch), reply }
  })
  const parts: Part[] = []
  for (const { title, reply } of await delegateAll(place.run, branches))
    if (reply) parts.push({ text: `${title}:\n` }, ...replyParts(reply), { text: '\n\n' })
  return parts.length > 0 ? answered(place.run, parts.slice(0, -1)) : undefined
}

async function runLoop({ loop }: LoopStep, place: Place): StepResult {
  const steps = inOrder(loop.steps)
  let here: Place = { ...place, last: false }
  for (let round = 1; round <= loop.maxIterations; round++) {
    const answer = await runSteps(steps, { ...here, name: `${place.name}#${round}.` })
    if (!answer) break
    here = { ...here, previous: answer, input: toMember(here.run, replyParts(answer)) }
    if (textOf(replyParts(answer)).includes(String(loop.until))) break
  }
  return here.previous === place.previous ? undefined : here.previous
}

async function runMap({ map }: MapStep, { run, name, input }: Place): StepResult {
  const works = toItems(input.parts).map((item, index) => async (group: Run) => {
    const message = toMember(run, [item])
    const agentId = 'agentId' in map ? map.agentId : ''
    const call = { ...callRules(map), agentId, message, alone: true }
    return delegate(group, { ...call, name: `${name}[${index + 1}]` })
  })
  const replies = await inBatches(run, works, map.maxParallel ?? 8)
  const parts = replies.flatMap((reply) => [...replyParts(reply), { text: '\n' }])
  return answered(run, parts.slice(0, -1))
}

/** Only a clear yes goes on with the answer so far and a clear no ends the run; anything else asks again. */
async function runApproval(step: ApprovalStep, { run, name, input, previous }: Place): StepResult {
  const question = toQuestion(input.parts, step.approval.question)
  for (let round = 1; ; round++) {
    const asked = round === 1 ? question : [unclear, ...question]
    const place = round === 1 ? name : `${name}~${round}`
    const { parts } = askUser(run, place, asked)
    const verdict = readVerdict(parts)
    if (run.memory.isFresh(`${place}:user`)) traceApproval(run, name, { verdict, parts })
    if (verdict === 'no') throw new Refusal()
    if (verdict === 'yes') return previous ?? answered(run, input.parts)
  }
}

const verdicts = { yes: 'approved', no: 'rejected', unclear: 'unclear' } as const

function traceApproval(
  run: Run,
  step: string,
  { verdict, parts }: { readonly verdict: keyof typeof verdicts; readonly parts: readonly Part[] },
): void {
  const team = run.config.id
  traceRun(run, { type: 'approval', team, step, verdict: verdicts[verdict], text: clip(parts) })
}

const unclear: Part = { text: 'That was neither a yes nor a no. Please answer yes or no.\n\n' }

function callRules({ timeoutSeconds, maxRetries, fallbackAgentId, guards }: CallRules): CallRules {
  return {
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(fallbackAgentId !== undefined && { fallbackAgentId }),
    ...(guards && { guards }),
  }
}

function answered(run: Run, parts: readonly Part[]): MemberReply {
  return { state: 'TASK_STATE_COMPLETED', message: run.turn.reply(parts) }
}

function titleOf(run: Run, step: Step): string {
  if (!('agentId' in step)) return 'Result'
  const member = run.config.agents.find(({ agentId }) => agentId === step.agentId)
  return member?.role || step.agentId
}

async function report(run: Run, agentId: string, reply: MemberReply): Promise<void> {
  const title = titleOf(run, { agentId })
  await run.output.progress(`${title}: ${clip(replyParts(reply), 200)}`)
}

function inOrder(steps: readonly Step[]): readonly Step[] {
  return ordered(steps).map(({ step }) => step)
}
