/** Why a pattern cannot be used, and where in it. */
export class PatternFault extends Error {
  override readonly name = 'PatternFault'
  /** The offset in the pattern. */
  readonly position: number

  constructor(message: string, position: number) {
    super(message)
    this.position = position
  }
}
