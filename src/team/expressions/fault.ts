/** Why an expression or a template cannot be read, or gave nothing. */
export class ExpressionFault extends Error {
  override readonly name = 'ExpressionFault'
  /** The offset in the source, that of the template for an expression in one. */
  readonly position: number
  /** The piece of the source that begins there, shortened. */
  readonly excerpt: string
  /** The evaluation was given up: nothing else that the expression says may make up for it. */
  readonly isFinal: boolean

  constructor(message: string, place: FaultPlace) {
    super(message)
    this.position = place.position
    this.excerpt = place.excerpt
    this.isFinal = place.isFinal ?? false
  }
}

interface FaultPlace {
  readonly position: number
  readonly excerpt: string
  readonly isFinal?: boolean
}

/** Where an expression stands: the whole of its source, or a part of a template. */
export interface Origin {
  /** The expression alone. */
  readonly source: string
  /** Where it begins in what contains it. */
  readonly offset: number
}

/** A place in an expression, where faults are told. */
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

/** The first line of a text, at most so many characters of it. */
export function shorten(text: string, length: number): string {
  const [line] = text.trim().split('\n', 1)
  const first = line ?? ''
  return first.length > length || first.length < text.trim().length
    ? `${first.slice(0, length - 1)}…`
    : first
}
