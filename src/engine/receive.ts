import { principalOf } from '../protocol/call.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Logger } from '../shared/log.ts'
import type { InboxEntry, InboxItem } from '../store/feed.ts'
import type { Store } from '../store/store.ts'
import { weighMessage, weighRequest } from '../store/weight.ts'
import { TaskRun } from './run.ts'
import type { Runs } from './runs.ts'

/** Takes in what other replicas have stored for the tasks that run here. */
export interface Receiver {
  /** Looks into the inbox of a task. */
  receive(taskId: string): Promise<void>
  /** Takes entries into a live task: each with the records that answer it, or away where the task takes no more. */
  take(run: TaskRun, mail: readonly InboxItem[]): void
}

/** What receiving needs of the engine. */
interface ReceiverOptions {
  readonly store: Store
  readonly runs: Runs
  readonly logger: Logger
  /** Whether nothing more may begin. */
  isClosed(): boolean
}

/** Makes what takes in mail; where one process has the store to itself there is none. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const {
    store: { feed },
    runs,
    logger,
    isClosed,
  } = options

  function take(run: TaskRun, mail: readonly InboxItem[]): void {
    const { id: taskId } = run.log
    const unwanted = mail.filter(({ number, entry }) => !isTaken(run, number, entry))
    if (unwanted.length === 0) return
    const numbers = unwanted.map(({ number }) => number)
    // Only an end that is stored makes them unwanted.
    run.log.whenCommitted((refusal) => {
      if (refusal) return
      feed?.dismiss(taskId, numbers).catch((err) => logger.warn({ taskId, err }, notDismissed))
    })
  }

  return {
    take,
    async receive(taskId) {
      const mail = (await feed?.inbox(taskId)) ?? []
      if (mail.length === 0) return
      const run = await runs.find(taskId)
      // What another replica runs by now is its to receive.
      if (!(run instanceof TaskRun)) return
      try {
        // What comes while the process stops is taken by whoever goes on with the task.
        if (!isClosed()) take(run, mail)
      } finally {
        runs.release(run)
      }
    },
  }
}

const notDismissed = 'What a task no longer takes stays in its inbox for now'

/** Whether an entry is taken in, now or before; one that the task cannot take any more is not. */
function isTaken(run: TaskRun, number: number, entry: InboxEntry): boolean {
  if (run.log.hasTaken(number)) return true
  // The same may have come by another entry, where the answer to the first was lost.
  if (run.hasForwarded(entry.key)) return false
  if (isTerminal(run.log.state)) return false
  if (entry.kind === 'message') return isMessageTaken(run, number, entry)
  if (entry.kind === 'cancel') {
    run.log.take(number)
    void run.cancel().catch(() => {}) // a store that refuses has said so
    return true
  }
  return isAmended(run, number, entry)
}

function isMessageTaken(
  run: TaskRun,
  number: number,
  { message, request }: InboxEntry & { kind: 'message' },
): boolean {
  const refusal = run.log.refusalOf({ kind: 'message', turn: 0, message, request })
  if (refusal) {
    run.outgrow(refusal)
    return false
  }
  run.log.take(number)
  run.accept(message, request, {
    auth: undefined,
    principal: principalOf({ auth: request }),
    bytes: weighMessage(message) + weighRequest(request),
  })
  return true
}

function isAmended(
  run: TaskRun,
  number: number,
  { key, events }: InboxEntry & { kind: 'amend' },
): boolean {
  try {
    run.log.take(number)
    run.amend(events, key)
    return true
  } catch {
    // It does not fit what the task has become: the one who asked finds the task as it is.
    return false
  }
}
