import { nearest } from '../../shared/nearest.ts'
import type { ExpressionOptions, ExpressionVariable, Reads } from './expression.ts'
import { type ExpressionSite, shorten } from './fault.ts'

const variables: readonly ExpressionVariable[] = [
  ...(['question', 'previous', 'steps', 'feedback', 'context', 'item', 'round'] as const),
]

/**
 * Whether a text that may as well be words to look for names a variable as an expression does: `previous.data`,
 * `round >= 2`, `2 <= round`.
 */
export function looksLikeExpression(text: string): boolean {
  return member.test(text) || compared.test(text)
}

const member = /(?<![\w.])(?:question|previous|steps|feedback|context|item|round)(?:\.[a-z_]|\[)/i
const compared =
  /(?<![\w.])(?:feedback|item|round) {0,9}(?:[=!<>]=|[<>%])|(?:[=!<>]=|[<>]) {0,9}(?:feedback|item|round)(?!\w)/

/** Collects what an expression reads, and refuses what it may not name. */
export class ReadNames implements Reads {
  readonly #options: ExpressionOptions
  readonly #used = new Set<ExpressionVariable>()
  readonly #steps = new Set<string>()
  readonly #contextKeys = new Set<string>()

  constructor(options: ExpressionOptions) {
    this.#options = options
  }

  get steps(): readonly string[] {
    return [...this.#steps]
  }

  get contextKeys(): readonly string[] {
    return [...this.#contextKeys]
  }

  uses(name: ExpressionVariable): boolean {
    return this.#used.has(name)
  }

  /** A variable that is read. */
  useVariable(name: string, site: ExpressionSite): ExpressionVariable {
    const variable = variables.find((one) => one === name)
    if (!variable)
      return site.refuse(`${shorten(name, 60)} is not known here${meant(name, variables)}`)
    if (variable === 'item' && !this.#options.item)
      site.refuse('item is not known here: only the steps of a map have an item')
    if (variable === 'round' && !this.#options.round)
      site.refuse('round is not known here: only the steps of a loop have a round')
    this.#used.add(variable)
    return variable
  }

  /** A step whose result is read. */
  useStep(name: string, site: ExpressionSite): void {
    const { steps } = this.#options
    if (!steps.includes(name))
      site.refuse(`there is no step ${shorten(name, 60)} before this one${meant(name, steps)}`)
    this.#steps.add(name)
  }

  /** A value of the conversation that is read. */
  useContext(key: string): void {
    this.#contextKeys.add(key)
  }
}

/** A macro's variable may have the name of none of these: it would hide what others read. */
export function isTaken(name: string): boolean {
  return name !== 'item' && name !== 'round' && variables.some((one) => one === name)
}

function meant(name: string, known: readonly string[]): string {
  const near = nearest(name.slice(0, 100), known)
  if (near) return ` (did you mean ${near}?)`
  return known.length > 0 ? ` (known: ${known.slice(0, 20).join(', ')})` : ''
}
