import type { EventStream, Sequenced } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { traceExtension } from '../protocol/extensions.ts'
import { isTerminal } from '../protocol/task.ts'
import type { StreamResponse, TaskStatus } from '../protocol/types.ts'
import { currentTask } from '../store/current.ts'
import type { LogRecord, Scope, Store } from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import type { TurnAnswer } from './answer.ts'
import { taskNotFound } from './faults.ts'
import { isTaskEnd } from './leftover.ts'
import type { VersionedTask } from './log-host.ts'
import type { TurnProgress } from './progress.ts'
import type { TaskRun } from './run.ts'
import { toShownEntry } from './trace.ts'

/** Which message's turn is watched. */
interface WatchSendOptions {
  readonly taskId: string
  readonly contextId: string
  /** How the message's turn gets on. */
  readonly turn: TurnProgress
  readonly answer: TurnAnswer
  /** The task as it was before the message, where the message continues one. */
  readonly before?: VersionedTask | undefined
  /** Whether the log may already hold what follows. */
  readonly replay: boolean
  /** Whether the task's trace is shown too. */
  readonly trace?: boolean | undefined
}

/** The events of one message's turn: the Task first, then what follows, until the task ends or asks for input. */
export function watchSend(hub: Hub, options: WatchSendOptions): EventStream {
  const { taskId, contextId, turn, before, trace, replay } = options
  const watcher = hub.watch(taskId, {
    after: before?.version ?? 0,
    replay,
    show: trace ? createTraceView({ taskId, contextId }, before?.task.status) : showEvent,
    isLast: (record) => turn.isLast(record),
    ...(before && { first: { seq: before.version, event: { task: before.task } } }),
  })
  options.answer.wait().then(
    (answer) => 'message' in answer && watcher.finish({ event: answer }),
    (error) => watcher.end(error),
  )
  return watcher
}

/** What a subscription needs. */
interface WatchTaskOptions {
  readonly store: Store
  readonly hub: Hub
  readonly id: string
  readonly scope: Scope
  /** The live run, if there is one now and it is in scope. */
  live(): TaskRun | undefined
  readonly lastEventId?: number
  /** Whether the task's trace is shown too. */
  readonly trace?: boolean
}

/**
 * Watches a task until it ends: what follows `lastEventId`, or else a snapshot and what follows it. An ended task has
 * nothing to watch, but what follows an id can still be replayed; an id beyond the log gets a fresh snapshot.
 */
export async function watchTask(options: WatchTaskOptions): Promise<EventStream> {
  const { hub, id, lastEventId } = options
  const { task, version } = await currentVersion(options)
  const ended = isTerminal(task.status.state)
  const resume = lastEventId !== undefined && lastEventId <= version ? lastEventId : undefined
  if (ended && lastEventId === undefined)
    throw new A2AError('unsupportedOperation', `Task ${id} is ${task.status.state}`, {
      metadata: { taskId: id },
    })
  const watcher = hub.watch(id, {
    after: resume ?? version,
    replay: true,
    ...(resume === undefined && { first: { seq: version, event: { task } } }),
    show: options.trace
      ? createTraceView({ taskId: id, contextId: task.contextId }, ended ? undefined : task.status)
      : showEvent,
    isLast: isTaskEnd,
  })
  if (ended && (resume === undefined || resume >= version)) watcher.end()
  // It may have ended while the task was read.
  else if (!options.live()) hub.follow(id)
  return watcher
}

async function currentVersion(options: WatchTaskOptions): Promise<VersionedTask> {
  const { store, id, scope, lastEventId = 0 } = options
  const here = await options.live()?.log.snapshot()
  // Who has seen more than there is here knows that another replica has gone on with the task.
  if (here && (lastEventId <= here.version || !store.feed)) return here
  const stored = await store.get(id, scope)
  if (!stored) throw taskNotFound(id)
  return { task: await currentTask(store, stored), version: stored.version }
}

function showEvent(record: LogRecord): Sequenced | undefined {
  return record.kind === 'event' ? { seq: record.seq, event: record.event } : undefined
}

/**
 * Shows events and trace entries. An entry travels as a status event that changes nothing and carries the entry in its
 * metadata: it repeats the status that the watcher saw last, or says that the task works where it has seen none.
 */
function createTraceView(
  ids: { readonly taskId: string; readonly contextId: string },
  begin: TaskStatus | undefined,
): (record: LogRecord) => Sequenced | undefined {
  let status: TaskStatus = begin ?? { state: 'TASK_STATE_WORKING' }
  return (record) => {
    if (record.kind === 'event') status = statusOf(record.event) ?? status
    if (record.kind !== 'trace') return showEvent(record)
    const metadata = { [traceExtension]: toShownEntry(record) }
    return { seq: record.seq, event: { statusUpdate: { ...ids, status, metadata } } }
  }
}

function statusOf(event: StreamResponse): TaskStatus | undefined {
  if ('statusUpdate' in event) return event.statusUpdate.status
  return 'task' in event ? event.task.status : undefined
}
