import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { TaskState } from '../protocol/types.ts'
import type { LogRecord } from '../store/store.ts'
import { taskEnded } from './faults.ts'
import { stateOf } from './leftover.ts'

/**
 * How the turn of one message gets on, as the task's log tells it: whoever runs the task, here or elsewhere.
 * A class, not closures: one is made per stream.
 */
export class TurnProgress {
  readonly #messageId: string
  /** The turn's number; beyond all numbers while the message is not in the log. */
  #number: number
  #started: boolean
  #fault: A2AError | undefined

  constructor(messageId: string, number: number = Number.POSITIVE_INFINITY, started = false) {
    this.#messageId = messageId
    this.#number = number
    this.#started = started
  }

  /** Why the message has no answer, once it is known that it gets none. */
  get fault(): A2AError | undefined {
    return this.#fault
  }

  /** Takes in a record; true where the turn's stream ends with it: the task is ended or asks for input. */
  isLast(record: LogRecord): boolean {
    if (record.kind === 'event') return this.#isOver(record, isInputRequired)
    this.#note(record)
    return false
  }

  /** Takes in a record; true where the message is answered with it: also one that waits for a login, or is silent. */
  isAnswer(record: LogRecord): boolean {
    if (record.kind === 'event') return this.#isOver(record, asksCaller)
    this.#note(record)
    if (record.kind === 'rest' && record.turn >= this.#number) return true
    return this.#fault !== undefined
  }

  #isOver(record: LogRecord & { kind: 'event' }, asks: (state: TaskState) => boolean): boolean {
    const state = stateOf(record.event)
    if (state === undefined) return false
    if (!isTerminal(state)) return this.#started && asks(state)
    if (this.#number === Number.POSITIVE_INFINITY) this.#fault = taskEnded(idOf(record), state)
    return true
  }

  #note(record: LogRecord): void {
    if (record.kind === 'message') this.#noteMessage(record)
    else if (record.kind === 'start') this.#started ||= record.turn >= this.#number
    else if (record.kind === 'dropped' && record.messageId === this.#messageId)
      this.#fault = new A2AError('unsupportedOperation', record.reason)
  }

  /** A number that another message has is no longer this one's: it was sent again, and comes later. */
  #noteMessage({ turn, message }: LogRecord & { kind: 'message' }): void {
    if (message.messageId === this.#messageId) this.#number = turn
    else if (turn === this.#number) {
      this.#number = Number.POSITIVE_INFINITY
      this.#started = false
    }
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
