import { approvalExtension } from '../protocol/extensions.ts'
import { textOf } from '../protocol/task.ts'
import type { JsonObject, Part } from '../protocol/types.ts'
import { trimEnd } from '../shared/text.ts'
import type { Draft, Turn } from './agent.ts'

/** What a user's answer to an approval says. */
export type ApprovalVerdict = 'yes' | 'no' | 'unclear'

/**
 * Reads the answer to an approval: a word of the lists and nothing else, whatever its case and closing punctuation, or
 * a data part `{"approved": true}` or `{"approved": false}`, whatever is said beside it. What says both is unclear, and
 * so is everything else: nobody has approved by "no, don't", and "yes, but" is no yes.
 */
export function readVerdict(parts: readonly Part[]): ApprovalVerdict {
  const data = parts.flatMap((part) => ('data' in part ? verdictOfData(part) : []))
  const clear = new Set([...data, verdictOfText(textOf(parts))])
  clear.delete('unclear')
  const [verdict = 'unclear'] = clear
  return clear.size === 1 ? verdict : 'unclear'
}

/** What a trace calls the verdicts. */
export const verdictNames: Readonly<Record<ApprovalVerdict, 'approved' | 'rejected' | 'unclear'>> =
  {
    yes: 'approved',
    no: 'rejected',
    unclear: 'unclear',
  }

/** What stands before a question that is asked again. */
export const askedAgain = 'That was neither a yes nor a no. Please answer yes or no.\n\n'

/** Why a task is rejected whose user did not approve. */
export const notApproved = 'The user did not approve'

/** Ends a task because its user did not approve; a team that the agent is a member of ends likewise. */
export function toRefusal(turn: Turn, reason: string = notApproved): Draft {
  const metadata = { [approvalExtension]: { approved: false } }
  const message = { ...turn.reply(reason), metadata }
  return { statusUpdate: { status: { state: 'TASK_STATE_REJECTED', message } } }
}

/** Whether the metadata of a rejected answer say that it was the user who did not approve. */
export function isRefusal(metadata: JsonObject | undefined): boolean {
  const said = metadata?.[approvalExtension]
  return typeof said === 'object' && said !== null && 'approved' in said && said.approved === false
}

/**
 * What a user may say to an approval, in lower case and without closing punctuation. Only these words decide; whoever
 * says more or something else is asked again. A further language is a further line in each list.
 */
const words: Readonly<Record<'yes' | 'no', ReadonlySet<string>>> = {
  yes: new Set([
    ...['yes', 'y', 'yes please', 'ok', 'okay', 'approve', 'approved', 'go', 'go ahead'],
    ...['ja', 'j', 'ja bitte', 'jawohl', 'genehmigt', 'freigegeben', 'einverstanden'],
  ]),
  no: new Set([
    ...['no', 'n', 'no thanks', 'reject', 'rejected', 'stop', 'cancel'],
    ...['nein', 'nein danke', 'abgelehnt', 'ablehnen', 'stopp', 'abbrechen'],
  ]),
}

/** Longer than any word of the lists with its punctuation: not worth a look. */
const maxLength = 100

function verdictOfText(text: string): ApprovalVerdict {
  if (text.length > maxLength) return 'unclear'
  const word = trimEnd(text.normalize('NFKC').trim().toLowerCase(), '.!… ')
  if (words.yes.has(word)) return 'yes'
  return words.no.has(word) ? 'no' : 'unclear'
}

function verdictOfData({ data }: Extract<Part, { readonly data: unknown }>): ApprovalVerdict {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return 'unclear'
  const [[key, approved] = [], ...others] = Object.entries(data)
  if (key !== 'approved' || others.length > 0 || typeof approved !== 'boolean') return 'unclear'
  return approved ? 'yes' : 'no'
}
