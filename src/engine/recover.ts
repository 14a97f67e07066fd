import { A2AError } from '../protocol/errors.ts'
import { isInterrupted } from '../protocol/task.ts'
import type { Json, Message, StreamResponse, Task, TaskState } from '../protocol/types.ts'
import type { Logger } from '../shared/log.ts'
import type { LogRecord, Store, TaskHead, TurnRequest } from '../store/store.ts'
import type { Letter, RunMemory } from './letter.ts'
import { loadMemory } from './load.ts'
import { Outcome } from './outcome.ts'
import type { Run } from './run.ts'

/** Attempts of one turn without a finished step between them: a task that kills the process does not do so for ever. */
const maxAttempts = 3

/** How many tasks a start took up, and how many it had to fail. */
export interface Recovery {
  readonly resumed: number
  readonly failed: number
}

/** What recovery needs of its engine. */
export interface RecoverOptions {
  readonly store: Store
  readonly agentId: string
  /** Whether the agent can take up an interrupted turn. */
  readonly resumable: boolean
  readonly logger: Logger
  /** Whether a task is live already: it began after the start, there is nothing to take up. */
  isLive(id: string): boolean
  reopen(
    head: TaskHead,
    stored: { readonly task: Task; readonly version: number },
    memory: RunMemory,
  ): Run
}

/**
 * Takes up every task that was SUBMITTED or WORKING. A turn that never began simply begins. An interrupted one runs
 * again if its agent can resume, with the steps in the log replayed; else the task fails with a reason that says so.
 */
export async function recoverRuns(options: RecoverOptions): Promise<Recovery> {
  let resumed = 0
  let failed = 0
  for (const head of await options.store.unfinished()) {
    if (head.scope.agent !== options.agentId) continue
    const outcome = await recoverOne(head, options)
    if (outcome === 'resumed') resumed++
    else if (outcome === 'failed') failed++
  }
  return { resumed, failed }
}

async function recoverOne(
  head: TaskHead,
  options: RecoverOptions,
): Promise<'resumed' | 'failed' | 'left'> {
  // In this order: one that is not live cannot become so while we recover, and one that was has ended since.
  if (options.isLive(head.id)) return 'left'
  const stored = await options.store.get(head.id)
  if (!stored || !isUnfinished(stored.head.state)) return 'left'
  const { task, memory, records } = await loadMemory(options.store, stored)
  const interrupted = findInterrupted(records)
  const steps = interrupted && stepsOf(records, interrupted.number)
  const run = options.reopen(head, { task, version: stored.version }, { ...memory, steps })
  const refusal = refusalOf(interrupted, options.resumable)
  if (refusal || !interrupted) {
    await run.fail(refusal ?? new A2AError('internal', 'The log of this task is incomplete'))
    return 'failed'
  }
  options.logger.info({ taskId: head.id, attempt: interrupted.attempt }, 'Taking up a task again')
  run.resume({ ...interrupted, outcome: new Outcome() })
  for (const waiting of findWaiting(records, interrupted.number))
    run.resume({ ...waiting, outcome: new Outcome() })
  return 'resumed'
}

function isUnfinished(state: TaskState): boolean {
  return state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_WORKING'
}

interface Interrupted extends Omit<Letter, 'outcome'> {
  readonly began: boolean
}

/** The turn that was under way: the last one started, or if that has ended or none was, the next message's. */
function findInterrupted(records: readonly LogRecord[]): Interrupted | undefined {
  let number = 0
  let attempts = 0
  let ended = true
  for (const record of records) {
    if (record.kind === 'start') {
      // Progress since the last attempt is seen as a step; it starts the count anew.
      attempts = record.turn === number ? attempts + 1 : 1
      number = record.turn
      ended = false
    } else if (record.kind === 'step') attempts = 0
    else if (record.kind === 'event') ended = endsTurn(record.event) ?? ended
  }
  if (ended) return first(findWaiting(records, number))
  const opening = messageOf(records, number)
  if (!opening) return undefined
  const letter = { number, attempt: attempts + 1, caller: undefined, ...opening }
  return { ...letter, began: true, recovered: true }
}

/** A turn that asks its client is over, unless it goes on working by itself. */
function endsTurn(event: StreamResponse): boolean | undefined {
  if (!('statusUpdate' in event)) return undefined
  const { state } = event.statusUpdate.status
  if (isInterrupted(state)) return true
  return state === 'TASK_STATE_WORKING' ? false : undefined
}

function first(waiting: Iterable<Omit<Letter, 'outcome'>>): Interrupted | undefined {
  for (const letter of waiting) return { ...letter, began: false }
  return undefined
}

function* findWaiting(
  records: readonly LogRecord[],
  after: number,
): Generator<Omit<Letter, 'outcome'>> {
  const dropped = new Set(records.flatMap((r) => (r.kind === 'dropped' ? [r.messageId] : [])))
  for (const record of records) {
    if (record.kind !== 'message' || record.turn <= after) continue
    const { turn, message, request } = record
    if (!dropped.has(message.messageId))
      yield { number: turn, attempt: 1, message, request, caller: undefined, recovered: true }
  }
}

function messageOf(
  records: readonly LogRecord[],
  turn: number,
): { message: Message; request: TurnRequest } | undefined {
  for (const record of records)
    if (record.kind === 'message' && record.turn === turn)
      return { message: record.message, request: record.request }
  return undefined
}

function stepsOf(records: readonly LogRecord[], turn: number): Map<string, Json> {
  const steps = new Map<string, Json>()
  for (const record of records)
    if (record.kind === 'step' && record.turn === turn) steps.set(record.name, record.result)
  return steps
}

function refusalOf(interrupted: Interrupted | undefined, resumable: boolean): A2AError | undefined {
  if (!interrupted?.began) return undefined
  if (!resumable)
    return new A2AError(
      'processingError',
      'The server restarted while this task was running, and its agent cannot resume',
    )
  if (interrupted.attempt > maxAttempts)
    return new A2AError(
      'processingError',
      `The server stopped ${maxAttempts} times while this task was running; it is given up`,
    )
  return undefined
}
