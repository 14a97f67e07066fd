import type { MemberReply } from '../scheduler.ts'

/**
 * What named steps gave last. Steps that go on at once have one each around the one that they share, so that what they see
 * does not depend on who is faster.
 */
export class Results {
  readonly #outer: Results | undefined
  #own: Map<string, MemberReply> | undefined

  constructor(outer?: Results) {
    this.#outer = outer
  }

  get(name: string): MemberReply | undefined {
    return this.#own?.get(name) ?? this.#outer?.get(name)
  }

  set(name: string, reply: MemberReply): void {
    this.#own ??= new Map()
    this.#own.set(name, reply)
  }

  /** Takes over what steps gave that have ended. */
  takeFrom(inner: Results): void {
    if (inner.#own) for (const [name, reply] of inner.#own) this.set(name, reply)
  }
}
