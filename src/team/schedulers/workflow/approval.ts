import {
  type ApprovalVerdict,
  askedAgain,
  readVerdict,
  verdictNames,
} from '../../../agents/approval.ts'
import type { Part } from '../../../protocol/types.ts'
import { answered, askUser, type Run, traceRun } from '../../run.ts'
import { clip } from '../../trace.ts'
import { type ApprovalRules, Feedback, Refusal, toQuestion } from '../approval.ts'
import { toStepResult } from '../result.ts'
import type { StepAnswer, StepPlace } from './place.ts'

/**
 * Only a clear yes goes on with the answer so far and a clear no ends the run. Anything else goes as feedback to the step
 * that the approval names, where it names one and something is said; else the user is asked again.
 */
export async function runApproval(approval: ApprovalRules, place: StepPlace): StepAnswer {
  const { run, name, input, previous } = place
  const question = toQuestion(input.parts, approval.question)
  for (let round = 1; ; round++) {
    const asked = round === 1 ? question : [{ text: askedAgain }, ...question]
    const here = round === 1 ? name : `${name}~${round}`
    const { parts } = askUser(run, here, asked)
    const verdict = verdictOf(parts, approval)
    if (run.memory.isFresh(`${here}:user`)) traceApproval(run, name, { verdict, parts })
    if (verdict === 'no') throw new Refusal()
    if (verdict === 'yes') return previous ?? answered(run, input.parts)
    if (verdict === 'feedback') throw new Feedback(approval, toStepResult(parts).text)
  }
}

type Verdict = ApprovalVerdict | 'feedback'

const verdicts = { ...verdictNames, feedback: 'feedback' } as const

function verdictOf(parts: readonly Part[], { target }: ApprovalRules): Verdict {
  const verdict = readVerdict(parts)
  if (verdict !== 'unclear' || target === undefined) return verdict
  return toStepResult(parts).text.trim() === '' ? 'unclear' : 'feedback'
}

function traceApproval(
  run: Run,
  step: string,
  { verdict, parts }: { readonly verdict: Verdict; readonly parts: readonly Part[] },
): void {
  const team = run.config.id
  traceRun(run, { type: 'approval', team, step, verdict: verdicts[verdict], text: clip(parts) })
}
