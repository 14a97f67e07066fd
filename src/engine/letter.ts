import type { AuthContext } from '../protocol/call.ts'
import type { Json, Message } from '../protocol/types.ts'
import type { Deaths, TurnRequest } from '../store/store.ts'
import type { Outcome } from './outcome.ts'

/** A message on its way to a turn. */
export interface Letter {
  readonly number: number
  readonly attempt: number
  readonly message: Message
  readonly request: TurnRequest
  readonly caller: AuthContext | undefined
  readonly outcome: Outcome
  /** Where its message stands in the log; 0 while it stands nowhere. */
  seq: number
  /** Whether it was taken in before this run of its task. */
  readonly recovered?: true
  /** Results of the steps that earlier attempts of its turn finished. */
  readonly steps?: ReadonlyMap<string, Json>
  /** The deaths of the process that its turn has seen. */
  deaths?: Deaths
}

/** What a run that was loaded from the store remembers. */
export interface RunMemory {
  readonly turns: number
  readonly saved: Map<string, Json> | undefined
}

/** What the run of a new task remembers: nothing. */
export const noMemory: RunMemory = { turns: 0, saved: undefined }
