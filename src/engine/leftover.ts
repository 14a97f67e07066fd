import { isTerminal } from '../protocol/task.ts'
import type { Json, Message, StreamResponse, TaskState } from '../protocol/types.ts'
import type { Deaths, LogRecord } from '../store/store.ts'
import type { TurnRequest } from '../store/turn-request.ts'
import { isClearedByStep } from './suspects.ts'

/** What a process left to do in a task, as the task's log tells it. */
export interface Leftover {
  /** The turn that was under way, or else the first message that waits; then those that wait behind it. */
  readonly messages: readonly LeftMessage[]
  /** Whether the first of them had begun. */
  readonly began: boolean
  /** The steps that it had finished. */
  readonly steps: ReadonlyMap<string, Json>
  readonly deaths: Deaths
  /** Whether it was running apart, as a suspect does, and had not been cleared, when its process died. */
  readonly died: boolean
}

/** A message whose turn is still to come, or to be gone on with. */
interface LeftMessage {
  readonly number: number
  readonly attempt: number
  readonly message: Message
  readonly request: TurnRequest
  /** Where the message stands in the log. */
  readonly seq: number
}

/** The deaths of a turn that has seen none. */
const noDeaths: Deaths = { total: 0, silent: 0, alone: 0 }

/**
 * Reads what is left to do. Nothing is guessed from the task's state: a turn ends by its records.
 * @param dead Whether the process that ran it is dead; where its store only failed, that is no attempt either.
 */
export function readLeftover(records: readonly LogRecord[], dead = true): Leftover {
  const last = lastTurn(records)
  if (!dead) stop(last)
  const waiting = waitingAfter(records, last.number)
  const opening = last.ended ? undefined : openingOf(records, last.number)
  const { deaths, died } = countDeaths(last)
  if (!opening)
    return { messages: waiting, began: false, steps: new Map(), deaths: noDeaths, died: false }
  const first = { number: last.number, attempt: last.attempts + 1, ...opening }
  const steps = stepsOf(records, last.number)
  return { messages: [first, ...waiting], began: true, steps, deaths, died }
}

/** The turn that started last, and what became of it. */
interface LastTurn {
  number: number
  ended: boolean
  /** Starts without a finished step after them, planned stops aside. */
  attempts: number
  deaths: Deaths
  /** Whether it has finished a step since its last start, so that running again does not repeat everything. */
  stepped: boolean
  /** Whether it has run for long enough since its last start. */
  outlived: boolean
  stopped: boolean
}

function lastTurn(records: readonly LogRecord[]): LastTurn {
  const none = { number: 0, ended: true, attempts: 0, deaths: noDeaths }
  const turn: LastTurn = { ...none, stepped: false, outlived: false, stopped: false }
  for (const record of records) {
    if (record.kind === 'start') {
      turn.attempts = record.turn === turn.number ? turn.attempts + 1 : 1
      turn.number = record.turn
      turn.deaths = record.deaths ?? noDeaths
      turn.ended = turn.stepped = turn.outlived = turn.stopped = false
    } else if (record.kind === 'event') turn.ended = endsTurn(record.event) ?? turn.ended
    else if (record.kind === 'rest') turn.ended = true
    else if (record.kind === 'step') {
      turn.attempts = 0
      turn.stepped = true
    } else if (record.kind === 'alive') turn.outlived = true
    else if (record.kind === 'stop') stop(turn)
  }
  return turn
}

function stop(turn: LastTurn): void {
  turn.attempts = Math.max(0, turn.attempts - 1)
  turn.stopped = true
}

/** A turn that asks its client for input is over. One that waits for credentials may go on by itself. */
function endsTurn(event: StreamResponse): boolean | undefined {
  const state = stateOf(event)
  if (state === 'TASK_STATE_INPUT_REQUIRED') return true
  return 'statusUpdate' in event && state === 'TASK_STATE_WORKING' ? false : undefined
}

/** Whether a record says that its turn is over, for good or until the client answers. */
export function isTurnEnd(record: LogRecord): boolean {
  if (record.kind !== 'event') return record.kind === 'rest'
  return isTaskEnd(record) || stateOf(record.event) === 'TASK_STATE_INPUT_REQUIRED'
}

/** Whether a record says that its task is over. */
export function isTaskEnd(record: LogRecord): boolean {
  const state = record.kind === 'event' ? stateOf(record.event) : undefined
  return state !== undefined && isTerminal(state)
}

/** The state that an event tells; undefined where it tells none. */
export function stateOf(event: StreamResponse): TaskState | undefined {
  if ('statusUpdate' in event) return event.statusUpdate.status.state
  return 'task' in event ? event.task.status.state : undefined
}

/** A planned stop is no death, and who got on since the last start is no longer silent. */
function countDeaths(turn: LastTurn): { readonly deaths: Deaths; readonly died: boolean } {
  const { total, apart } = turn.deaths
  const cleared = turn.outlived || (turn.stepped && isClearedByStep(turn.deaths))
  const silent = turn.outlived || turn.stepped ? 0 : turn.deaths.silent
  const alone = cleared ? 0 : turn.deaths.alone
  if (turn.ended || turn.stopped) return { deaths: { total, silent, alone }, died: false }
  const deaths = { total: total + 1, silent: silent + 1, alone }
  const died = apart !== undefined && !cleared
  return { deaths: died ? { ...deaths, apart } : deaths, died }
}

function waitingAfter(records: readonly LogRecord[], turn: number): readonly LeftMessage[] {
  const dropped = new Set(records.flatMap((r) => (r.kind === 'dropped' ? [r.messageId] : [])))
  return records.flatMap((record) => {
    if (record.kind !== 'message' || record.turn <= turn) return []
    const { turn: number, message, request, seq } = record
    return dropped.has(message.messageId) ? [] : [{ number, attempt: 1, message, request, seq }]
  })
}

/** The message that opened a turn, as the log has it. */
export function openingOf(
  records: readonly LogRecord[],
  turn: number,
): Pick<LeftMessage, 'message' | 'request' | 'seq'> | undefined {
  for (const record of records)
    if (record.kind === 'message' && record.turn === turn) {
      const { message, request, seq } = record
      return { message, request, seq }
    }
  return undefined
}

/** The results of a turn's finished steps, as the log has them. */
export function stepsOf(records: readonly LogRecord[], turn: number): Map<string, Json> {
  const steps = new Map<string, Json>()
  for (const record of records)
    if (record.kind === 'step' && record.turn === turn) steps.set(record.name, record.result)
  return steps
}
