import type { A2AError } from '../../src/protocol/errors.ts'
import { isTerminal } from '../../src/protocol/task.ts'
import type { StreamResponse, TaskState } from '../../src/protocol/types.ts'

/** What users did and were told, and what was seen to be wrong: kept outside of every process. */
export interface Ledger {
  readonly sends: Sent[]
  readonly cancels: Cancelled[]
  readonly streams: Watched[]
  readonly changes: Changed[]
  /** Reads of single tasks. */
  readonly reads: Read[]
  /** Calls that store or delete webhooks. */
  readonly hookings: Hooking[]
  /** Tasks whose cancel their agent has heard of. */
  readonly heardCancels: Set<string>
  /** What must never happen, and did. */
  readonly violations: string[]
  violate(what: string): void
}

/** A message that a user sent. */
export interface Sent {
  readonly messageId: string
  readonly key?: string
  /** The task that it was sent to, or that it made. */
  taskId: string | undefined
  /** Told that it is taken in. */
  acknowledged: boolean
  /** Told that its task has ended, as its answer. */
  ended?: boolean
  /** How the call ended. */
  outcome: Outcome
}

/** A cancel that a user asked for. */
export interface Cancelled {
  readonly taskId: string
  acknowledged: boolean
  outcome: Outcome
}

/** An artifact that a user added to a task. */
export interface Changed {
  readonly taskId: string
  readonly artifactId: string
  /** Told that it is there. */
  acknowledged: boolean
  /** Told how the task is, and it is not there though the task would have taken it. */
  ignored?: boolean
  outcome: Outcome
}

/** A task that a user looked at. */
export interface Read {
  readonly taskId: string
  readonly process: string
  readonly from: number
  /** When its answer came. */
  to?: number
}

/** A webhook that a user stored or deleted. */
export interface Hooking {
  readonly id: string
  readonly taskId: string
  readonly kind: 'add' | 'remove'
  outcome: Outcome
}

/** `open` has no answer yet, `cut` lost its replica. */
export type Outcome = 'open' | 'answered' | 'cut' | A2AError

/** A stream that a user read. */
export interface Watched {
  taskId: string
  /** Whether it is watched until the task ends, wherever that is; else until a message is answered. */
  readonly toEnd: boolean
  readonly since: number
  /** What came, in order. */
  readonly seen: Shown[]
  outcome: Outcome
}

/** One event of a stream, when it came, and by whom. */
export interface Shown {
  readonly seq: number
  readonly event: StreamResponse
  readonly at: number
  readonly process: string
}

/** Whether an artifact was added by a user. */
export function isNote(artifactId: string): boolean {
  return artifactId.startsWith('note ')
}

/** Makes an empty ledger. */
export function createLedger(): Ledger {
  const violations: string[] = []
  return {
    sends: [],
    cancels: [],
    streams: [],
    changes: [],
    reads: [],
    hookings: [],
    heardCancels: new Set(),
    violations,
    violate(what) {
      if (!violations.includes(what)) violations.push(what)
    },
  }
}

/** Whether the last that came is the end of the task. */
export function endsStream(entry: Watched): boolean {
  const state = lastState(entry)
  return state !== undefined && isTerminal(state)
}

/** Whether the last that came ends a turn. */
export function hasTurnEnd(entry: Watched): boolean {
  return (
    endsStream(entry) || (lastState(entry) === 'TASK_STATE_INPUT_REQUIRED' && entry.seen.length > 1)
  )
}

function lastState({ seen }: Watched): TaskState | undefined {
  const last = seen.at(-1)?.event
  if (!last) return undefined
  if ('statusUpdate' in last) return last.statusUpdate.status.state
  return 'task' in last ? last.task.status.state : undefined
}
