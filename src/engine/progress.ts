import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { TaskState } from '../protocol/types.ts'
import type { LogRecord } from '../store/store.ts'
import { taskEnded } from './faults.ts'
import { stateOf } from './leftover.ts'
import type { TaskLog } from './log.ts'
import type { QueuedMessage } from './messages.ts'

/** A message that was taken in here, and the log that is to have it. */
interface TakenHere {
  readonly queued: Pick<QueuedMessage, 'number' | 'seq'>
  readonly log: Pick<TaskLog, 'version'>
  /** Whether its turn has begun before the first record that is looked at. */
  readonly begun: boolean
}

/**
 * How the turn of one message gets on, as the task's log tells it: whoever runs the task, here or elsewhere.
 * A class, not closures: one is made per stream.
 */
export class TurnProgress {
  readonly #messageId: string
  readonly #here: TakenHere | undefined
  /** The turn's number in the log; beyond all numbers while the message was not seen there. */
  #seen = Number.POSITIVE_INFINITY
  #started: boolean

  constructor(messageId: string, here?: TakenHere) {
    this.#messageId = messageId
    this.#here = here
    this.#started = here?.begun ?? false
  }

  /** The turn's number; beyond all numbers while the message is not stored: another process may be first with its own. */
  get #number(): number {
    if (!this.#here || this.#seen !== Number.POSITIVE_INFINITY) return this.#seen
    const { queued, log } = this.#here
    return queued.seq !== 0 && queued.seq <= log.version ? queued.number : this.#seen
  }

  /**
   * Takes in a record; whether the turn's stream ends with it: the task is ended or asks for input. The fault where the
   * message gets no answer.
   */
  isLast(record: LogRecord): boolean | A2AError {
    return record.kind === 'event' ? this.#isOver(record, isInputRequired) : this.#note(record)
  }

  /** The same for the message's answer, which one that waits for a login, or is silent, has as well. */
  isAnswer(record: LogRecord): boolean | A2AError {
    if (record.kind === 'event') return this.#isOver(record, asksCaller)
    return record.kind === 'rest' ? record.turn >= this.#number : this.#note(record)
  }

  #isOver(
    record: LogRecord & { kind: 'event' },
    asks: (state: TaskState) => boolean,
  ): boolean | A2AError {
    const state = stateOf(record.event)
    if (state === undefined) return false
    if (!isTerminal(state)) return this.#started && asks(state)
    const isTakenIn = this.#number !== Number.POSITIVE_INFINITY
    return isTakenIn || taskEnded(idOf(record), state)
  }

  #note(record: LogRecord): false | A2AError {
    if (record.kind === 'message') {
      if (record.message.messageId === this.#messageId) this.#seen = record.turn
    } else if (record.kind === 'start') this.#started ||= record.turn >= this.#number
    else if (record.kind === 'dropped' && record.messageId === this.#messageId)
      return new A2AError('unsupportedOperation', record.reason)
    return false
  }
}

function isInputRequired(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED'
}

function asksCaller(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED'
}

function idOf({ event }: LogRecord & { kind: 'event' }): string {
  if ('statusUpdate' in event) return event.statusUpdate.taskId
  return 'task' in event ? event.task.id : ''
}
