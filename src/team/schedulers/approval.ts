import { textOf } from '../../protocol/task.ts'
import type { Part } from '../../protocol/types.ts'
import { trimEnd } from '../../shared/text.ts'

/** What a user's answer to an approval says. */
type Verdict = 'yes' | 'no' | 'unclear'

/**
 * Reads the answer to an approval: a word of the lists and nothing else, whatever its case and closing punctuation, or
 * a data part `{"approved": true}` or `{"approved": false}`, whatever is said beside it. What says both is unclear, and
 * so is everything else: nobody has approved by "no, don't", and "yes, but" is no yes.
 */
export function readVerdict(parts: readonly Part[]): Verdict {
  const data = parts.flatMap((part) => ('data' in part ? verdictOfData(part) : []))
  const clear = new Set([...data, verdictOfText(textOf(parts))])
  clear.delete('unclear')
  const [verdict = 'unclear'] = clear
  return clear.size === 1 ? verdict : 'unclear'
}

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

  constructor(reason = 'The user did not approve') {
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

function verdictOfText(text: string): Verdict {
  if (text.length > maxLength) return 'unclear'
  const word = trimEnd(text.normalize('NFKC').trim().toLowerCase(), '.!… ')
  if (words.yes.has(word)) return 'yes'
  return words.no.has(word) ? 'no' : 'unclear'
}

function verdictOfData({ data }: Extract<Part, { readonly data: unknown }>): Verdict {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return 'unclear'
  const [[key, approved] = [], ...others] = Object.entries(data)
  if (key !== 'approved' || others.length > 0 || typeof approved !== 'boolean') return 'unclear'
  return approved ? 'yes' : 'no'
}
