const yes: ReadonlySet<string> = new Set([
  'yes',
  'y',
  'ok',
  'okay',
  'approve',
  'approved',
  'go',
  'go ahead',
])
const no: ReadonlySet<string> = new Set(['no', 'n', 'reject', 'rejected', 'stop', 'cancel'])

/** Whether a user's answer says yes and nothing else. */
export function isYes(answer: string): boolean {
  return yes.has(plain(answer))
}

/** Whether a user's answer says no and nothing else. */
export function isRefusal(answer: string): boolean {
  return no.has(plain(answer))
}

function plain(answer: string): string {
  return answer
    .trim()
    .toLowerCase()
    .replace(/[.!]+$/, '')
}

/** Ends a run because the user did not approve; the team turns it into a rejected task. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  constructor() {
    super('The user did not approve')
  }
}
