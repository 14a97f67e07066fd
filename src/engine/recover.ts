import { A2AError } from '../protocol/errors.ts'
import { principalOf } from '../protocol/operations.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Json, Message, StreamResponse, TaskState } from '../protocol/types.ts'
import { soon } from '../shared/async.ts'
import { isFields, isSame } from '../shared/json.ts'
import type { TurnRequest } from '../store/feed.ts'
import { weighMessage, weighRequest } from '../store/size-limits.ts'
import type { Deaths, LogRecord, TaskHead } from '../store/store.ts'
import type { Engine } from './engine.ts'
import { openingOf, type QueuedMessage, stateOf, stepsOf, TurnAnswer } from './queued-messages.ts'
import { isClearedByStep, mustWait } from './suspects.ts'
import type { TaskRun } from './task-run.ts'

/** How many tasks of an earlier process were resumed, and how many had to fail. */
export interface Recovery {
  /** Tasks that continue. */
  readonly resumed: number
  /** Tasks that could not continue. */
  readonly failed: number
}

/** What became of a task with work left. */
type Resumed = 'resumed' | 'failed'

/** What an attempt to resume a task came to: it was resumed, it is live already, or there is nothing left to do. */
export type ResumeResult = Resumed | 'live' | 'nothing'

/** Heads that are read at once, and tasks that are resumed together before other work gets a turn. */
const pageSize = 500
const burst = 20

/**
 * Resumes every task with work left, oldest first, without keeping others from being served meanwhile. One that cannot
 * be read is left as it is, and does not keep the others from continuing.
 */
export async function recoverAll(engine: Engine): Promise<Recovery> {
  const { store, agentId: agent, logger } = engine
  const { build } = engine.definition
  const counts = { resumed: 0, failed: 0, live: 0, nothing: 0 }
  let after: TaskHead | undefined
  const resumeOne = async ({ id }: TaskHead): Promise<void> => {
    try {
      counts[await engine.tasks.resume(id)]++
    } catch (err) {
      logger.error({ taskId: id, err }, 'A task cannot be taken up')
    }
  }
  for (;;) {
    const heads = await store.claim({ agent, build, limit: pageSize, ...(after && { after }) })
    for (let from = 0; from < heads.length; from += burst) {
      // The next process resumes the rest.
      if (engine.closed) return counts
      await Promise.all(heads.slice(from, from + burst).map(resumeOne))
      await new Promise<void>(soon)
    }
    after = heads.at(-1)
    if (heads.length < pageSize) return counts
  }
}

/**
 * Resumes a task where its last process left it. A turn that never began simply begins. An interrupted one runs again if
 * its agent can resume, with the steps in the log replayed; else the task fails with a reason that says so. The agent of
 * a task that was cancelled or given up is notified.
 */
export function resumeRun(
  engine: Engine,
  run: TaskRun,
  { records, hasInbox }: { readonly records: readonly LogRecord[]; readonly hasInbox: boolean },
): Resumed {
  const { died, refusal: stranded } = engine.stranded.leave(run.log.id)
  if (isTerminal(run.log.state)) {
    if (endedByUs.has(run.log.state)) run.notifyCancelled()
    else run.rest()
    return 'resumed'
  }
  const left = readUnfinished(records, died)
  // No turn is unfinished, but another replica has forwarded an entry: that begins the next turn.
  if (left.messages.length === 0 && hasInbox && !stranded) {
    run.log.busy = false
    return 'resumed'
  }
  const refusal = stranded ?? refusalOf(left, engine.definition.agent.resumable === true, died)
  if (refusal) {
    void run.fail(refusal).catch(() => {}) // a store that rejects it has reported that
    return 'failed'
  }
  engine.logger.info({ taskId: run.log.id, attempt: left.messages[0]?.attempt }, 'Taking up a task')
  const held = left.began && mustWait(left.deaths)
  for (const queued of toQueued(left)) run.requeue(queued, held)
  if (held) addSuspect(engine, run, left)
  return 'resumed'
}

/** Ends that are not an answer of the agent, where there is work left after them. */
const endedByUs: ReadonlySet<TaskState> = new Set<TaskState>([
  'TASK_STATE_CANCELED',
  'TASK_STATE_FAILED',
])

/** The key under which a task stores the digests of the code that its last turn ran with. */
const codeKey = 'corral:code'

/**
 * Stores with a task which code its turn runs with. Code is not part of the definition digest: where a task continues
 * with other code under the same digest, steps of both may mix in one run. The trace says so, and the log once per agent.
 */
export function recordCode(run: TaskRun, code: Readonly<Record<string, string>>): void {
  const { log, engine, definition } = run
  const before = run.load(codeKey)
  if (isSame(before, code)) return
  run.save(codeKey, code)
  if (!log.exists) return // its first commit includes what is saved
  log.append({ kind: 'state', key: codeKey, value: code })
  if (!isFields(before) || log.build !== definition.build) return
  for (const [agent, digest] of Object.entries(code)) {
    const earlier = before[agent]
    if (typeof earlier !== 'string' || earlier === digest) continue
    const entry = { type: 'code-changed', agent, before: earlier, after: digest }
    log.append({ kind: 'trace', at: engine.timestamp(), entry })
    if (engine.changedCode.has(agent)) continue
    engine.changedCode.add(agent)
    engine.logger.warn({ agent, taskId: log.id }, codeChanged)
  }
}

const codeChanged =
  'A task continues with changed code under the same version: where old and new steps must not mix, raise `version`'

function refusalOf(
  { messages, began }: Unfinished,
  resumable: boolean,
  died: boolean,
): A2AError | undefined {
  if (messages.length === 0) return new A2AError('internal', 'The log of this task is incomplete')
  if (!began || resumable) return undefined
  const what = died ? 'The server restarted' : 'The task store failed'
  return new A2AError(
    'processingError',
    `${what} while this task was running, and its agent cannot resume`,
    { why: 'interrupted' },
  )
}

function toQueued({ messages, began, deaths, steps }: Unfinished): readonly QueuedMessage[] {
  return messages.map((message, index) => ({
    ...message,
    caller: undefined,
    principal: principalOf({ auth: message.request }),
    bytes: weighMessage(message.message) + weighRequest(message.request),
    answer: new TurnAnswer(),
    recovered: true,
    ...(began && index === 0 && { deaths, steps }),
  }))
}

function addSuspect(
  { suspects, logger }: Engine,
  run: TaskRun,
  { deaths, died }: Unfinished,
): void {
  const { id } = run.log
  suspects.add({
    id,
    deaths,
    died,
    start: (known) => run.release(known),
    survivedTrial: () => run.survivedTrial(),
    giveUp(known) {
      logger.error({ taskId: id, deaths: known }, 'A task that kills the process is given up')
      void run.giveUp(convicted(known)).catch(() => {}) // a store that rejects it has reported that
    },
  })
}

function convicted({ total }: Deaths): A2AError {
  return new A2AError(
    'processingError',
    `The server stopped ${total} times while this task was running; it is given up`,
  )
}

/** What a process left to do in a task, read from the task's log. */
interface Unfinished {
  /** The turn that was under way, or else the first message that waits; then those that wait behind it. */
  readonly messages: readonly UnfinishedMessage[]
  /** Whether the first of them had begun. */
  readonly began: boolean
  /** The steps that it had finished. */
  readonly steps: ReadonlyMap<string, Json>
  readonly deaths: Deaths
  /** Whether it was running apart, as a suspect does, and had not been cleared, when its process died. */
  readonly died: boolean
}

/** A message that is yet to have its turn, or to continue it. */
interface UnfinishedMessage {
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
export function readUnfinished(records: readonly LogRecord[], dead = true): Unfinished {
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
  survivedTrial: boolean
  stopped: boolean
}

function lastTurn(records: readonly LogRecord[]): LastTurn {
  const none = { number: 0, ended: true, attempts: 0, deaths: noDeaths }
  const turn: LastTurn = { ...none, stepped: false, survivedTrial: false, stopped: false }
  for (const record of records) {
    if (record.kind === 'start') {
      turn.attempts = record.turn === turn.number ? turn.attempts + 1 : 1
      turn.number = record.turn
      turn.deaths = record.deaths ?? noDeaths
      turn.ended = turn.stepped = turn.survivedTrial = turn.stopped = false
    } else if (record.kind === 'event') turn.ended = endsTurn(record.event) ?? turn.ended
    else if (record.kind === 'rest') turn.ended = true
    else if (record.kind === 'step') {
      turn.attempts = 0
      turn.stepped = true
    } else if (record.kind === 'alive') turn.survivedTrial = true
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

/** A planned stop is not a death, and a turn that progressed since its last start is no longer silent. */
function countDeaths(turn: LastTurn): { readonly deaths: Deaths; readonly died: boolean } {
  const { total, apart } = turn.deaths
  const cleared = turn.survivedTrial || (turn.stepped && isClearedByStep(turn.deaths))
  const silent = turn.survivedTrial || turn.stepped ? 0 : turn.deaths.silent
  const alone = cleared ? 0 : turn.deaths.alone
  if (turn.ended || turn.stopped) return { deaths: { total, silent, alone }, died: false }
  const deaths = { total: total + 1, silent: silent + 1, alone }
  const died = apart !== undefined && !cleared
  return { deaths: died ? { ...deaths, apart } : deaths, died }
}

function waitingAfter(records: readonly LogRecord[], turn: number): readonly UnfinishedMessage[] {
  const dropped = new Set(records.flatMap((r) => (r.kind === 'dropped' ? [r.messageId] : [])))
  return records.flatMap((record) => {
    if (record.kind !== 'message' || record.turn <= turn) return []
    const { turn: number, message, request, seq } = record
    return dropped.has(message.messageId) ? [] : [{ number, attempt: 1, message, request, seq }]
  })
}

/** A task's commit was rejected; the error where the task itself is the cause, so that it must fail. */
type StrandedError = A2AError | undefined

const firstLookMs = 250
const lookEveryMs = 2_000
/** A task that is rejected again and again is tried less and less often. */
const maxLookMs = 60_000

/**
 * Tasks whose commit the store rejected. Their runs are gone, and what is stored of them says that they run: once the
 * store can be written again they are resumed from there.
 */
export class Stranded {
  readonly #engine: Engine
  readonly #tasks = new Map<string, StrandedError>()
  #waitMs = firstLookMs
  #lastLook = Number.NEGATIVE_INFINITY
  #cancelLook: (() => void) | undefined
  #closed = false

  constructor(engine: Engine) {
    this.#engine = engine
  }

  add(id: string, error: StrandedError): void {
    this.#tasks.set(id, error)
    if (this.#cancelLook) return
    const isAgain = this.#engine.clock.elapsed() - this.#lastLook < maxLookMs
    this.#waitMs = isAgain ? Math.min(maxLookMs, this.#waitMs * 2) : firstLookMs
    this.#lookAfter(this.#waitMs)
  }

  /** What is known of a task that is resumed: one that was not stranded was left by a process that died. */
  leave(id: string): { readonly died: boolean; readonly refusal: StrandedError } {
    const died = !this.#tasks.has(id)
    const refusal = this.#tasks.get(id)
    this.#tasks.delete(id)
    return { died, refusal }
  }

  close(): void {
    this.#closed = true
    this.#cancelLook?.()
  }

  #lookAfter(ms: number): void {
    if (!this.#closed) this.#cancelLook ??= this.#engine.clock.after(ms, () => void this.#look())
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#engine
    this.#cancelLook = undefined
    this.#lastLook = clock.elapsed()
    for (const id of [...this.#tasks.keys()]) {
      if (this.#closed || !store.health().writable) break
      await this.#resume(id)
    }
    if (this.#tasks.size > 0) this.#lookAfter(lookEveryMs)
  }

  /** A task of which nothing is left to do, or nothing was ever stored, is no longer stranded. */
  async #resume(id: string): Promise<void> {
    try {
      if ((await this.#engine.tasks.resume(id)) === 'nothing') this.#tasks.delete(id)
    } catch {
      // The store cannot be read either; the next look tries again.
    }
  }
}
