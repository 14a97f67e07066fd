import type { Json } from '../../protocol/types.ts'
import { nearest } from '../../shared/text.ts'

/**
 * Expressions of workflows: CEL (Common Expression Language) over what a run knows so far. They are read when the team
 * is, with the position of every fault, and compute in bounded time whatever data they meet.
 */

/** An expression that was read. */
export interface Expression extends Reads {
  readonly source: string
  /** What it gives for a scope. @throws ExpressionFault that names the expression and the place in it. */
  evaluate(scope: ExpressionScope): Json
}

/** What an expression looks at. */
export interface Reads {
  /** The names of the steps that it reads results of. */
  readonly steps: readonly string[]
  /** The values of the conversation that it reads; what it gives may differ between two evaluations where there are any. */
  readonly contextKeys: readonly string[]
  /** Whether it reads a variable. */
  uses(name: ExpressionVariable): boolean
}

/** The variables of expressions. */
type ExpressionVariable =
  | 'question'
  | 'previous'
  | 'steps'
  | 'feedback'
  | 'context'
  | 'item'
  | 'round'

/** What the variables stand for. Data that is not there is null. */
export interface ExpressionScope {
  readonly question: ExpressionValue
  readonly previous: ExpressionValue
  /** A step that has not run may be absent: its text is empty. */
  readonly steps: Readonly<Record<string, ExpressionValue>>
  readonly feedback: string
  /** The values under the `contextKeys`. */
  readonly context?: Readonly<Record<string, Json | undefined>>
  readonly item?: Json | undefined
  readonly round?: number | undefined
}

/** Words and data of a step's result or the question. */
export interface ExpressionValue {
  readonly text: string
  readonly data?: Json | undefined
}

/** What an expression may have to give. */
export type ExpressionResult = 'boolean' | 'list'

/** A part of an expression that is ready to compute. */
export type Evaluator = (run: EvaluationRun) => unknown

/** How much one evaluation may do: parts computed for elements of lists, elements copied or compared, 64 characters each. */
const maxWork = 1_000_000

const notRun: ExpressionValue = { text: '' }

/** One evaluation: what it sees, and what it may still do. */
export class EvaluationRun {
  readonly scope: ExpressionScope
  /** The elements that macros are at, the outermost first. */
  readonly elements: unknown[] = []
  #work = maxWork

  constructor(scope: ExpressionScope) {
    this.scope = scope
  }

  /** Counts work. @throws ExpressionFault when there was too much of it. */
  charge(work: number, site: ExpressionSite): void {
    this.#work -= work
    if (this.#work < 0)
      site.fail('it takes too long: the lists or texts that it goes through are too large', true)
  }

  /** Counts the work of going through texts. */
  chargeText(length: number, site: ExpressionSite): void {
    this.charge(1 + Math.floor(length / 64), site)
  }

  step(name: string): ExpressionValue {
    const { steps } = this.scope
    return (Object.hasOwn(steps, name) && steps[name]) || notRun
  }
}

/** Where an expression stands: the whole of its source, or a part of a template. */
export interface Origin {
  /** The expression alone. */
  readonly source: string
  /** Where it begins in what contains it. */
  readonly offset: number
}

/** A place in an expression, for the errors that name it. */
export class ExpressionSite {
  readonly #origin: Origin
  readonly #start: number
  readonly #end: number

  constructor(origin: Origin, { start, end }: { readonly start: number; readonly end: number }) {
    this.#origin = origin
    this.#start = start
    this.#end = end
  }

  /** The source cannot be used. */
  refuse(reason: string): never {
    const excerpt = this.#excerpt()
    throw new ExpressionFault(excerpt ? `${reason}, at ${excerpt}` : reason, {
      position: this.#position(),
      excerpt,
    })
  }

  /** The evaluation cannot go on. */
  fail(reason: string, isFinal = false): never {
    const { source } = this.#origin
    const [position, excerpt] = [this.#position(), this.#excerpt()]
    const whole = shorten(source, 120)
    const place = `character ${position + 1}${excerpt === whole ? '' : `, ${excerpt}`}`
    const message = `the expression ${whole} failed at ${place}: ${reason}`
    throw new ExpressionFault(message, { position, excerpt, isFinal })
  }

  #position(): number {
    return this.#origin.offset + this.#start
  }

  #excerpt(): string {
    return shorten(this.#origin.source.slice(this.#start, this.#end), 40)
  }
}

interface ExpressionFaultPlace {
  readonly position: number
  readonly excerpt: string
  readonly isFinal?: boolean
}

/** Why an expression or a template cannot be read, or gave nothing. */
export class ExpressionFault extends Error {
  override readonly name = 'ExpressionFault'
  /** The offset in the source, that of the template for an expression in one. */
  readonly position: number
  /** The piece of the source that begins there, shortened. */
  readonly excerpt: string
  /** The evaluation was given up: nothing else that the expression says may make up for it. */
  readonly isFinal: boolean

  constructor(message: string, place: ExpressionFaultPlace) {
    super(message)
    this.position = place.position
    this.excerpt = place.excerpt
    this.isFinal = place.isFinal ?? false
  }
}

/** The first line of a text, at most so many characters of it. */
export function shorten(text: string, length: number): string {
  const [line] = text.trim().split('\n', 1)
  const first = line ?? ''
  return first.length > length || first.length < text.trim().length
    ? `${first.slice(0, length - 1)}…`
    : first
}

const member = /(?<![\w.])(?:question|previous|steps|feedback|context|item|round)(?:\.[a-z_]|\[)/i

const compared =
  /(?<![\w.])(?:feedback|item|round) {0,9}(?:[=!<>]=|[<>%])|(?:[=!<>]=|[<>]) {0,9}(?:feedback|item|round)(?!\w)/

/**
 * Whether a text that may as well be words to look for names a variable as an expression does: `previous.data`,
 * `round >= 2`, `2 <= round`.
 */
export function looksLikeExpression(text: string): boolean {
  return member.test(text) || compared.test(text)
}

/** What may be named where an expression stands. */
export interface ExpressionOptions {
  /** The steps that may be named here. */
  readonly steps: readonly string[]
  /** Whether this is within a `map`. */
  readonly item?: boolean
  /** Whether this is within a loop. */
  readonly round?: boolean
  /** What it has to give; anything if absent. */
  readonly result?: ExpressionResult
}

const variables: readonly ExpressionVariable[] = [
  ...(['question', 'previous', 'steps', 'feedback', 'context', 'item', 'round'] as const),
]

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

  /** A step of which the result is read. */
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

function meant(name: string, known: readonly string[]): string {
  const near = nearest(name.slice(0, 100), known)
  if (near) return ` (did you mean ${near}?)`
  return known.length > 0 ? ` (known: ${known.slice(0, 20).join(', ')})` : ''
}

/** A macro's variable may have the name of none of these: it would hide what others read. */
export function isTaken(name: string): boolean {
  return name !== 'item' && name !== 'round' && variables.some((one) => one === name)
}
