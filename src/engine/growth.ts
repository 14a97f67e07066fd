import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { TaskState } from '../protocol/types.ts'
import type { SharedBudget } from '../shared/budget.ts'
import type { LogRecord } from '../store/store.ts'

/** How much one task may hold. */
export interface TaskLimits {
  readonly maxTaskBytes: number
  readonly maxTaskEvents: number
  /** The values that one context may keep. */
  readonly maxContextBytes: number
}

/** What bounds the growth of tasks. */
export interface GrowthHost {
  /** How much one task may hold. */
  readonly limits: TaskLimits
  /** The bytes that all live tasks hold together, by principal; without bound if absent. */
  readonly live?: SharedBudget | undefined
}

/** What a task holds that was stored before. */
interface StoredGrowth {
  readonly bytes: number
  readonly events: number
}

/** The limits where nobody set others. */
export const defaultTaskLimits: TaskLimits = {
  maxTaskBytes: 32 * 1024 * 1024,
  maxTaskEvents: 100_000,
  maxContextBytes: 256 * 1024,
}

/** What a task may hold beyond what counts among the bytes of all live ones: most never count, and others in steps. */
const freeBytes = 16 * 1024

/** How a task ends, and what its agent saves then, is written however much it holds. */
const lastWords = 64 * 1024

/** How much a task holds, counted as its log grows. A class, not closures: one is made per request. */
export class Growth {
  readonly #limits: TaskLimits
  readonly #live: SharedBudget | undefined
  /** Whose share of the live bytes it takes. */
  readonly principal: string
  #bytes: number
  #events: number
  /** How much of it counts among the bytes of all live tasks. */
  #counted = 0

  constructor({ limits, live }: GrowthHost, principal: string, stored?: StoredGrowth) {
    this.#limits = limits
    this.#live = live
    this.principal = principal
    this.#bytes = stored?.bytes ?? 0
    this.#events = stored?.events ?? 0
    this.hold()
  }

  /** The task is at hand, so it counts among the live ones. May be called twice. */
  hold(): void {
    if (this.#bytes > this.#counted + freeBytes) this.#count(this.#bytes - this.#counted)
  }

  /** About how many bytes the log holds. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts a record that is written. */
  add(record: LogRecord, bytes: number): void {
    this.#bytes += bytes
    if (record.kind === 'event') this.#events++
    this.hold()
  }

  /** The task is at hand no more. May be called twice. */
  release(): void {
    if (this.#counted > 0) this.#count(-this.#counted)
  }

  /** Why a record of so many bytes is too much in a task of this state; undefined where it is not. */
  refusalOf(record: LogRecord, bytes: number, state: TaskState): A2AError | undefined {
    const { maxTaskBytes, maxTaskEvents } = this.#limits
    const isEvent = record.kind === 'event'
    const after = this.#bytes + bytes
    const isStep = after > this.#counted + freeBytes
    const isCrowded = isStep && this.#live?.fits(this.principal, after - this.#counted) === false
    if (!isCrowded && after <= maxTaskBytes && (!isEvent || this.#events < maxTaskEvents))
      return undefined
    if (!isGrowth(record)) return undefined
    if (bytes <= lastWords && (isEnd(record) || isTerminal(state))) return undefined
    if (after > maxTaskBytes) return tooLarge(`${maxTaskBytes} bytes`)
    return isCrowded ? tooManyLive() : tooLarge(`${maxTaskEvents} events`)
  }

  #count(by: number): void {
    this.#counted += by
    this.#live?.change(this.principal, by)
  }
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

function tooManyLive(): A2AError {
  return new A2AError(
    'processingError',
    'The tasks that run hold as much as they may together; this one is given up. Send it again later',
  )
}

function tooLarge(limit: string): A2AError {
  return new A2AError('processingError', `The task has grown beyond ${limit}; it is given up`)
}
