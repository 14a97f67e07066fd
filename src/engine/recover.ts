import { principalOf } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { TaskState } from '../protocol/types.ts'
import { soon } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { Deaths, LogRecord, Store, TaskHead } from '../store/store.ts'
import { weighMessage, weighRequest } from '../store/weight.ts'
import { TurnAnswer } from './answer.ts'
import { type Leftover, readLeftover } from './leftover.ts'
import type { QueuedMessage } from './messages.ts'
import type { TaskRun } from './run.ts'
import { mustWait, type Suspects } from './suspects.ts'

/** How many tasks of an earlier process a start took up, and how many it had to fail. */
export interface Recovery {
  /** Tasks that go on. */
  readonly resumed: number
  /** Tasks that could not go on. */
  readonly failed: number
}

/** Heads that are read at once, and tasks that are taken up together before others get a word in. */
const pageSize = 500
const burst = 20

/**
 * Takes up every task with work left, oldest first, without keeping others from being served meanwhile. One that
 * cannot be read is left as it is, and does not keep the others from going on.
 */
export async function recoverAll(options: RecoverOptions): Promise<Recovery> {
  const { store, agent, build, takeUp, isClosed, logger } = options
  const counts = { resumed: 0, failed: 0, live: 0, nothing: 0 }
  let after: TaskHead | undefined
  const takeUpOne = async ({ id }: TaskHead): Promise<void> => {
    try {
      counts[await takeUp(id)]++
    } catch (err) {
      logger.error({ taskId: id, err }, 'A task cannot be taken up')
    }
  }
  for (;;) {
    const heads = await store.claim({ agent, build, limit: pageSize, ...(after && { after }) })
    for (let from = 0; from < heads.length; from += burst) {
      if (isClosed()) return counts
      await Promise.all(heads.slice(from, from + burst).map(takeUpOne))
      await new Promise<void>(soon)
    }
    after = heads.at(-1)
    if (heads.length < pageSize) return counts
  }
}

/** What taking up all tasks needs. */
interface RecoverOptions {
  readonly store: Store
  readonly agent: string
  readonly build: string
  readonly logger: Logger
  /** Takes up one task. */
  takeUp(id: string): Promise<Taken>
  /** Whether the process is about to stop: the next one takes up the rest. */
  isClosed(): boolean
}

/** What became of a task that was taken up. */
export type TakenUp = 'resumed' | 'failed'

/** What a look at a task came to: it was taken up, it is live already, or there is nothing left to do. */
export type Taken = TakenUp | 'live' | 'nothing'

/** What it takes to go on with a task. */
interface GoOnOptions {
  /** Whether the agent can take up an interrupted turn. */
  readonly resumable: boolean
  readonly logger: Logger
  readonly suspects: Suspects
  /** Whether the process that ran the task is dead, or only its store failed. */
  readonly died: boolean
  /** Why the task must fail, where it must. */
  readonly refusal: A2AError | undefined
}

/**
 * Goes on with a task where its last process left it. A turn that never began simply begins. An interrupted one runs
 * again if its agent can resume, with the steps in the log replayed; else the task fails with a reason that says so.
 * The agent of a task that was cancelled or given up is told.
 */
export function goOn(run: TaskRun, records: readonly LogRecord[], options: GoOnOptions): TakenUp {
  if (isTerminal(run.log.state)) {
    if (endedByUs.has(run.log.state)) run.tellEnd()
    else run.rest()
    return 'resumed'
  }
  const left = readLeftover(records, options.died)
  const refusal = options.refusal ?? refusalOf(left, options)
  if (refusal) {
    void run.fail(refusal).catch(() => {}) // a store that refuses has said so
    return 'failed'
  }
  options.logger.info(
    { taskId: run.log.id, attempt: left.messages[0]?.attempt },
    'Taking up a task',
  )
  const held = left.began && mustWait(left.deaths)
  for (const queued of toQueued(left)) run.mailbox.readd(queued, held)
  if (held) suspect(run, left, options)
  return 'resumed'
}

/** Ends that are no answer of the agent's, where there is work left after them. */
const endedByUs: ReadonlySet<TaskState> = new Set<TaskState>([
  'TASK_STATE_CANCELED',
  'TASK_STATE_FAILED',
])

function toQueued({ messages, began, deaths, steps }: Leftover): readonly QueuedMessage[] {
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

function suspect(
  run: TaskRun,
  { deaths, died }: Leftover,
  { suspects, logger }: GoOnOptions,
): void {
  const { id } = run.log
  suspects.add({
    id,
    deaths,
    died,
    start: (known) => run.mailbox.release(known),
    outlived: () => run.outlived(),
    giveUp(known) {
      logger.error({ taskId: id, deaths: known }, 'A task that kills the process is given up')
      void run.giveUp(convicted(known)).catch(() => {}) // a store that refuses has said so
    },
  })
}

function convicted({ total }: Deaths): A2AError {
  return new A2AError(
    'processingError',
    `The server stopped ${total} times while this task was running; it is given up`,
  )
}

function refusalOf(
  { messages, began }: Leftover,
  { resumable, died }: GoOnOptions,
): A2AError | undefined {
  if (messages.length === 0) return new A2AError('internal', 'The log of this task is incomplete')
  if (!began || resumable) return undefined
  const what = died ? 'The server restarted' : 'The task store failed'
  return new A2AError(
    'processingError',
    `${what} while this task was running, and its agent cannot resume`,
  )
}

/**
 * Tasks whose commit the store refused. Their runs are gone, and what is stored of them says that they run: once the
 * store can be written again they are taken up from there, by themselves.
 */
export interface Stranded {
  /** A task's commit was refused; `fault` is why where the task itself is at fault, so that it must fail. */
  add(id: string, fault: A2AError | undefined): void
  /** What is to be known of a task that is taken up: one that was not stranded was left by a process that died. */
  leave(id: string): { readonly died: boolean; readonly refusal: A2AError | undefined }
  close(): void
}

/** What looking after stranded tasks needs. */
interface StrandedOptions {
  readonly store: Pick<Store, 'health'>
  readonly clock: Clock
  takeUp(id: string): Promise<Taken>
}

const firstLookMs = 250
const lookEveryMs = 2_000
/** A task that is refused again and again is looked at less and less often. */
const maxLookMs = 60_000

/** Looks after stranded tasks. */
export function createStranded({ store, clock, takeUp }: StrandedOptions): Stranded {
  const tasks = new Map<string, A2AError | undefined>()
  let waitMs = firstLookMs
  let lastLook = Number.NEGATIVE_INFINITY
  let callOff: (() => void) | undefined
  let closed = false

  function lookAfter(ms: number): void {
    if (!closed) callOff ??= clock.after(ms, look)
  }

  async function look(): Promise<void> {
    callOff = undefined
    lastLook = clock.elapsed()
    for (const id of [...tasks.keys()]) {
      if (closed || !store.health().writable) break
      await takeUpOne(id)
    }
    if (tasks.size > 0) lookAfter(lookEveryMs)
  }

  /** One of which nothing is left to do, or nothing was ever stored, is no longer stranded. */
  async function takeUpOne(id: string): Promise<void> {
    try {
      if ((await takeUp(id)) === 'nothing') tasks.delete(id)
    } catch {
      // The store cannot be read either; the next look tries again.
    }
  }

  return {
    add(id, fault) {
      tasks.set(id, fault)
      if (callOff) return
      const isAgain = clock.elapsed() - lastLook < maxLookMs
      waitMs = isAgain ? Math.min(maxLookMs, waitMs * 2) : firstLookMs
      lookAfter(waitMs)
    },
    leave(id) {
      const died = !tasks.has(id)
      const refusal = tasks.get(id)
      tasks.delete(id)
      return { died, refusal }
    },
    close() {
      closed = true
      callOff?.()
    },
  }
}
