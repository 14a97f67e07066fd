import type { AuthContext } from '../protocol/call.ts'
import type { Json, Message } from '../protocol/types.ts'
import type { TurnRequest } from '../store/store.ts'
import type { Outcome } from './outcome.ts'

/** A message on its way to a turn. */
export interface Letter {
  readonly number: number
  readonly attempt: number
  readonly message: Message
  readonly request: TurnRequest
  readonly caller: AuthContext | undefined
  readonly outcome: Outcome
  /** Whether an earlier process took it in. */
  readonly recovered?: true
}

/** What a run that was loaded from the store remembers. */
export interface RunMemory {
  readonly turns: number
  /** Results of the steps that earlier attempts of the interrupted turn finished. */
  readonly steps: ReadonlyMap<string, Json> | undefined
  readonly saved: Map<string, Json> | undefined
}

/** What the run of a new task remembers: nothing. */
export const noMemory: RunMemory = { turns: 0, steps: undefined, saved: undefined }
