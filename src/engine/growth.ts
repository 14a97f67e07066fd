import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { TaskState } from '../protocol/types.ts'
import type { LogRecord } from '../store/store.ts'
import { weighRecord } from '../store/weight.ts'

/** How much one task may hold. */
export interface TaskLimits {
  readonly maxTaskBytes: number
  readonly maxTaskEvents: number
  /** The values that one context may keep. */
  readonly maxContextBytes: number
}

/** The limits where nobody set others. */
export const defaultTaskLimits: TaskLimits = {
  maxTaskBytes: 32 * 1024 * 1024,
  maxTaskEvents: 100_000,
  maxContextBytes: 256 * 1024,
}

/** How a task ends, and what its agent saves then, is written however much it holds. */
const lastWords = 64 * 1024

/** How much a task holds, counted as its log grows. A class, not closures: one is made per request. */
export class Growth {
  readonly #limits: TaskLimits
  #bytes: number
  #events: number

  constructor(limits: TaskLimits, bytes: number, events: number) {
    this.#limits = limits
    this.#bytes = bytes
    this.#events = events
  }

  /** About how many bytes the log holds. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts a record that is written. */
  add(record: LogRecord, bytes: number): void {
    this.#bytes += bytes
    if (record.kind === 'event') this.#events++
  }

  /** Why a record of so many bytes is too much in a task of this state; undefined where it is not. */
  refusalOf(record: LogRecord, bytes: number, state: TaskState): A2AError | undefined {
    const { maxTaskBytes, maxTaskEvents } = this.#limits
    const isEvent = record.kind === 'event'
    if (this.#bytes + bytes <= maxTaskBytes && (!isEvent || this.#events < maxTaskEvents))
      return undefined
    if (!isGrowth(record)) return undefined
    if (bytes <= lastWords && (isEnd(record) || isTerminal(state))) return undefined
    return this.#bytes + bytes > maxTaskBytes
      ? tooLarge(`${maxTaskBytes} bytes`)
      : tooLarge(`${maxTaskEvents} events`)
  }
}

/** What a stored log holds. */
export function bytesOf(records: readonly LogRecord[]): number {
  let bytes = 0
  for (const record of records) bytes += weighRecord(record)
  return bytes
}

/** Records that a caller or an agent can make many or large; the others are few and ours. */
function isGrowth({ kind }: LogRecord): boolean {
  return (
    kind === 'event' ||
    kind === 'message' ||
    kind === 'step' ||
    kind === 'state' ||
    kind === 'trace'
  )
}

function isEnd(record: LogRecord): boolean {
  return (
    record.kind === 'event' &&
    'statusUpdate' in record.event &&
    isTerminal(record.event.statusUpdate.status.state)
  )
}

function tooLarge(limit: string): A2AError {
  return new A2AError('processingError', `The task has grown beyond ${limit}; it is given up`)
}
