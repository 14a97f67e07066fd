import { A2AError } from '../../protocol/errors.ts'
import type { Usage } from '../../protocol/usage.ts'
import type { GuardSide } from './guard.ts'

/** What a `ContentBlocked` tells beside its reason. */
export interface BlockDetails {
  /** Whether a message or an answer is blocked. */
  readonly at: GuardSide
  /** What the answer had cost by then. */
  readonly usage?: Usage | undefined
  /** The error behind it, for the log. */
  readonly cause?: unknown
}

/**
 * A guard has blocked a message or an answer. Its words are the guard's reason, which the caller is told: the task is
 * REJECTED where a message was blocked, FAILED where an answer was.
 */
export class ContentBlocked extends A2AError {
  override readonly name: string = 'ContentBlocked'
  /** Whether a message or an answer was blocked. */
  readonly at: GuardSide
  /** What the answer had cost by then. */
  readonly usage: Usage | undefined

  constructor(reason: string, { at, usage, cause }: BlockDetails) {
    super('processingError', reason, cause === undefined ? {} : { cause })
    this.at = at
    this.usage = usage
  }
}
