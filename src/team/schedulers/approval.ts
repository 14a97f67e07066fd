import { notApproved } from '../../agents/approval.ts'
import type { Part } from '../../protocol/types.ts'

/**
 * The question of an approval: the answer so far, then what is asked. What is long is cut, and what is left out is named,
 * so that nobody approves unseen what he takes to be the whole.
 */
export function toQuestion(answer: readonly Part[], question: string): readonly Part[] {
  let [characters, bytes] = [maxShown, maxFileBytes]
  const shown = answer.map((part): Part => {
    if ('text' in part) {
      const left = part.text.length - characters
      const text = left > 0 ? `${part.text.slice(0, characters)}${leftOut(left)}` : part.text
      characters = Math.max(characters - part.text.length, 0)
      return text === part.text ? part : { ...part, text }
    }
    if ('url' in part) return part
    const size = 'raw' in part ? part.raw.length : JSON.stringify(part.data).length
    if (size > ('raw' in part ? bytes : characters)) return { text: leftOut(size, nameOf(part)) }
    if ('raw' in part) bytes -= size
    else characters -= size
    return part
  })
  return [...shown, { text: `\n\n${question}` }]
}

const maxShown = 20_000
const maxFileBytes = 1_000_000

function leftOut(size: number, what = 'text'): string {
  return `\n[… ${size} characters of ${what} are not shown]`
}

function nameOf(part: Part): string {
  return part.filename ?? ('data' in part ? 'data' : 'a file')
}

/** Ends a run because the user did not approve; the team turns it into a rejected task. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  constructor(reason: string = notApproved) {
    super(reason)
  }
}

/** What an approval asks, and where what is neither a yes nor a no goes. */
export interface ApprovalRules {
  readonly question: string
  /** The step that works again with it; nobody if absent. */
  readonly target: string | undefined
  /** How often, before the run is refused. */
  readonly maxRounds: number
}

/** Sends a run back to an earlier step with what the user said; the list that has the step goes on from there. */
export class Feedback extends Error {
  override readonly name = 'Feedback'
  readonly approval: ApprovalRules
  readonly text: string

  constructor(approval: ApprovalRules, text: string) {
    super(`Going back to step ${approval.target}`)
    this.approval = approval
    this.text = text
  }
}
