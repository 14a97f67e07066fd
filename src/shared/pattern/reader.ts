import { PatternFault } from './fault.ts'

/** Goes through the source of a pattern. */
export class PatternReader {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  get at(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#source.length
  }

  /** Whether this stands here. */
  sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at)
  }

  /** Goes past this if it stands here. */
  take(text: string): boolean {
    if (!this.sees(text)) return false
    this.#at += text.length
    return true
  }

  /** Goes past what an expression, which begins here, finds. */
  match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#source) ?? undefined
    if (found) this.#at += found[0].length
    return found
  }

  /** The next character, which is gone past. */
  next(): string {
    const code = this.#source.codePointAt(this.#at)
    if (code === undefined) return this.fail('the pattern ends too early')
    const character = String.fromCodePoint(code)
    this.#at += character.length
    return character
  }

  fail(message: string, at: number = this.#at): never {
    throw new PatternFault(message, at)
  }
}
