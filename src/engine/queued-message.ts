import type { AuthContext } from '../protocol/call.ts'
import type { Json, Message } from '../protocol/types.ts'
import type { Deaths, TurnRequest } from '../store/store.ts'
import type { TurnAnswer } from './answer.ts'

/** A message that was taken in: it waits for its turn, or its turn runs. */
export interface QueuedMessage {
  /** Which message of the task it is, from 1; its turn has the same number. */
  readonly number: number
  readonly attempt: number
  readonly message: Message
  readonly request: TurnRequest
  readonly caller: AuthContext | undefined
  readonly answer: TurnAnswer
  /** Where the message stands in the log; 0 while it stands nowhere. */
  seq: number
  /** Whether an earlier process took it in. */
  readonly recovered?: true
  /** Results of the steps that earlier attempts of its turn finished. */
  readonly steps?: ReadonlyMap<string, Json>
  /** The deaths of the process that its turn has seen. */
  deaths?: Deaths
}

/** What a run that was loaded from the store remembers. */
export interface RunMemory {
  readonly turns: number
  /** What the agent saved with the task. */
  readonly saved: Map<string, Json> | undefined
}
