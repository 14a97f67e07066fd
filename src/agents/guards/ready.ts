import type { GuardAction, GuardContent, GuardFunction, GuardSide, GuardVerdict } from './guard.ts'
import type { Cleaner } from './texts.ts'

/** A guard that is ready for use. */
export type ReadyGuard =
  /** Looks at all words that pass, wherever they stand. */
  | {
      readonly kind: 'cleaner'
      readonly name: string
      readonly cleaner: Cleaner
      readonly action: GuardAction
      /** Why it blocks, such as `it has a secret`. */
      readonly reason: string
    }
  /** Asks for a form, which only messages and answers have. */
  | {
      readonly kind: 'form'
      readonly name: string
      judge(content: GuardContent): GuardVerdict | Promise<GuardVerdict>
    }
  /** A function of the user's. */
  | { readonly kind: 'own'; readonly name: string; readonly judge: GuardFunction }
  /** An agent that is asked. */
  | { readonly kind: 'member'; readonly name: string; readonly member: string }

/** The guards of both sides, ready for use. */
export type ReadyGuards = Readonly<Record<GuardSide, readonly ReadyGuard[]>>

/** Whether there is nothing to look at, on either side. */
export function isUnguarded({ input, output }: ReadyGuards): boolean {
  return input.length === 0 && output.length === 0
}

/** What more can be said of a guard that cannot be used; a hint may also stand alone. */
export interface GuardFaultDetail {
  /** What was probably meant, or what there is. */
  readonly hint?: string | undefined
  /** The character at which a text goes wrong. */
  readonly offset?: number | undefined
}

/** Thrown for a guard that cannot be used; it says what is wrong, and where. */
export class GuardFault extends TypeError {
  override readonly name = 'GuardFault'
  /** Where among the guards: `output`, 1, `deny`. */
  readonly path: readonly (string | number)[]
  /** Why, apart from where. */
  readonly reason: string
  /** What was probably meant, or what there is. */
  readonly hint: string | undefined
  /** The character at which it begins, where a text stands there in which something is wrong. */
  readonly offset: number | undefined

  constructor(
    path: readonly (string | number)[],
    reason: string,
    detail: string | GuardFaultDetail = {},
  ) {
    const { hint, offset }: GuardFaultDetail =
      typeof detail === 'string' ? { hint: detail } : detail
    const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
    super(`guards${place} ${reason}${hint ? ` (${hint})` : ''}`)
    this.path = path
    this.reason = reason
    this.hint = hint
    this.offset = offset
  }
}
