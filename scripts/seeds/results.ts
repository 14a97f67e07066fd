/** What a run says of each statement. */
import type { Shown, Statement } from './table.ts'

/** A test that ran, by its file and its whole name. */
export interface Ran {
  readonly path: string
  readonly name: string
  readonly state: 'passed' | 'failed' | 'skipped'
}

export type Verdict = 'kept' | 'differs' | 'not kept'

/** A statement with its result. */
export interface Result {
  readonly number: string
  readonly statement: string
  readonly result: Verdict
  /** How it differs, or why it is not kept. */
  readonly why?: string
}

/** Judges a statement by the tests and examples that ran, and by what its page says. */
export function judge(statement: Statement, ran: readonly Ran[], isSaid: boolean): Result {
  const { number, words, differs, shown } = statement
  const why =
    shown.map((one) => faultOf(one, ran)).find((fault) => fault !== undefined) ??
    (differs === undefined && shown.length === 0 ? 'nothing shows it' : undefined) ??
    (isSaid ? undefined : 'its page does not have its row: npm run snippets')
  if (why !== undefined) return { number, statement: words, result: 'not kept', why }
  if (differs !== undefined) return { number, statement: words, result: 'differs', why: differs }
  return { number, statement: words, result: 'kept' }
}

/** Why something does not show a statement: a test failed, or none ran. */
function faultOf({ path, words }: Shown, ran: readonly Ran[]): string | undefined {
  const meant = ran.filter(
    (one) =>
      (path.endsWith('/') ? one.path.startsWith(path) : one.path === path) &&
      (words === undefined || one.name.includes(words)),
  )
  const failed = meant.find(({ state }) => state === 'failed')
  if (failed) return `${failed.path} > ${failed.name} failed`
  if (meant.some(({ state }) => state === 'passed')) return undefined
  return `${path}${words === undefined ? '' : ` > ${words}`} did not run`
}
