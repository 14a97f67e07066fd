import type { Callback, Turn } from '../agents/agent.ts'
import { A2AError } from '../protocol/errors.ts'
import { traceExtension } from '../protocol/extensions.ts'
import type { EventStream, Sequenced } from '../protocol/operations.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Json, JsonObject, TaskStatus } from '../protocol/types.ts'
import { isSameSecret, newId } from '../shared/ids.ts'
import { currentTask, type TracedRecord, withoutError } from '../store/documents.ts'
import type { LogRecord, Scope } from '../store/store.ts'
import { type Hub, showEvent } from '../streams/hub.ts'
import type { Engine } from './engine.ts'
import { taskNotFound } from './errors.ts'
import { isTaskEnd, statusOf, type TurnAnswer, type TurnProgress } from './queued-messages.ts'
import type { VersionedTask } from './task-log.ts'
import type { TaskRun } from './task-run.ts'

/** Which message's turn is watched. */
interface WatchSendOptions {
  readonly taskId: string
  readonly contextId: string
  /** The progress of the message's turn. */
  readonly turn: TurnProgress
  readonly answer: TurnAnswer
  /** The task as it was before the message, where the message continues one. */
  readonly before?: VersionedTask | undefined
  /** Whether the log may already hold what follows. */
  readonly replay: boolean
  /** Whether the task's trace is shown too. */
  readonly trace?: boolean | undefined
  /** Whether the caller may read the words of errors. */
  readonly explains?: boolean | undefined
}

/** The events of one message's turn: the Task first, then what follows, until the task ends or asks for input. */
export function watchSend(hub: Hub, options: WatchSendOptions): EventStream {
  const { taskId, contextId, turn, before, trace, explains = false, replay } = options
  const watcher = hub.watch(taskId, {
    after: before?.version ?? 0,
    replay,
    show: trace ? createTraceView({ taskId, contextId, explains }, before?.task.status) : showEvent,
    isLast: turn.isLast.bind(turn),
    ...(before && { first: { seq: before.version, event: { task: before.task } } }),
  })
  options.answer.wait().then(
    (answer) => 'message' in answer && watcher.finish({ event: answer }),
    (error) => watcher.end(error),
  )
  return watcher
}

/** How a subscription begins, and what it shows. */
export interface SubscriptionStart {
  readonly lastEventId?: number
  /** Whether the task's trace is shown too. */
  readonly trace?: boolean
  /** Whether the caller may read the words of errors. */
  readonly explains?: boolean
}

/**
 * Watches a task until it ends: what follows `lastEventId`, or else a snapshot and what follows it. An ended task has
 * nothing to watch, but what follows an id can still be replayed; an id beyond the log gets a fresh snapshot.
 */
export async function watchTask(
  engine: Engine,
  { id, scope }: { readonly id: string; readonly scope: Scope },
  { lastEventId, trace, explains = false }: SubscriptionStart,
): Promise<EventStream> {
  const { task, version } = await currentVersion(engine, { id, scope, lastEventId })
  const ended = isTerminal(task.status.state)
  const resume = lastEventId !== undefined && lastEventId <= version ? lastEventId : undefined
  if (ended && lastEventId === undefined)
    throw new A2AError('unsupportedOperation', `Task ${id} is ${task.status.state}`, {
      metadata: { taskId: id },
    })
  const watcher = engine.hub.watch(id, {
    after: resume ?? version,
    replay: true,
    ...(resume === undefined && { first: { seq: version, event: { task } } }),
    show: trace
      ? createTraceView(
          { taskId: id, contextId: task.contextId, explains },
          ended ? undefined : task.status,
        )
      : showEvent,
    isLast: isTaskEnd,
  })
  if (ended && (resume === undefined || resume >= version)) watcher.end()
  // It may have ended while the task was read.
  else if (!engine.tasks.live(id, scope)) engine.hub.follow(id)
  return watcher
}

async function currentVersion(
  { store, tasks }: Engine,
  options: { readonly id: string; readonly scope: Scope; readonly lastEventId: number | undefined },
): Promise<VersionedTask> {
  const { id, scope, lastEventId = 0 } = options
  const here = await tasks.live(id, scope)?.log.snapshot()
  // A reader that has seen more than there is here has seen another replica continue the task.
  if (here && (lastEventId <= here.version || !store.feed)) return here
  const stored = await store.get(id, scope)
  if (!stored) throw taskNotFound(id)
  return { task: await currentTask(store, stored), version: stored.version }
}

/** The task that is shown, and whether the words of errors are. */
interface TraceOptions {
  readonly taskId: string
  readonly contextId: string
  readonly explains: boolean
}

/**
 * Shows events and trace entries. An entry travels as a status event that changes nothing and carries the entry in its
 * metadata: it repeats the status that the watcher saw last, or says that the task works where it has seen none.
 */
function createTraceView(
  { explains, ...ids }: TraceOptions,
  begin: TaskStatus | undefined,
): (record: LogRecord) => Sequenced | undefined {
  let status: TaskStatus = begin ?? { state: 'TASK_STATE_WORKING' }
  return (record) => {
    if (record.kind === 'event') status = statusOf(record.event) ?? status
    if (record.kind !== 'trace') return showEvent(record)
    const metadata = { [traceExtension]: toShownEntry(record, explains) }
    return { seq: record.seq, event: { statusUpdate: { ...ids, status, metadata } } }
  }
}

/**
 * An entry of the trace as callers see it: what was recorded, when (`time`), and by which way through nested teams it was
 * reached (`path`). The path also stands where members write it, under `at`; behind it a guard writes its side there. What
 * a tool threw is shown only where `explains` is set.
 */
export function toShownEntry(record: TracedRecord, explains: boolean): JsonObject {
  const { at, entry } = explains ? record : withoutError(record)
  const path = pathOf(entry)
  return { ...entry, time: at, ...(path !== undefined && { path }) }
}

function pathOf({ at, side }: JsonObject): string | undefined {
  if (typeof at !== 'string') return undefined
  if (typeof side !== 'string' || side === '') return at
  if (at === side) return undefined
  return at.endsWith(`/${side}`) ? at.slice(0, -side.length - 1) : at
}

/** The key under which a task stores the token of its callback. */
const tokenKey = 'corral:callback'

/**
 * Reports of remote systems to the tasks of an engine. A report only wakes the turn that listens for it, so a forged, lost or
 * repeated report changes nothing. The token of a task is stored in its log and begins with the sequence number of its
 * record, so that any replica checks it by reading that one record.
 */
export class Callbacks {
  readonly #engine: Engine
  readonly #url: string | undefined
  readonly #listeners = new Map<string, Set<() => void>>()

  constructor(engine: Engine, url: string | undefined) {
    this.#engine = engine
    this.#url = url
  }

  /** The callback of a task; undefined where no remote system can reach this server. */
  async open(turn: Pick<Turn, 'load' | 'save'>, run: TaskRun): Promise<Callback | undefined> {
    const { id } = run.log
    if (this.#url === undefined) return undefined
    run.openTask()
    const known = run.load(tokenKey)
    const token = typeof known === 'string' ? known : `${run.log.seq + 1}.${newId()}`
    await (token === known ? run.log.committed() : turn.save(tokenKey, token))
    const url = `${this.#url}/${encodeURIComponent(id)}`
    return { url, token, listen: (called) => this.#listen(id, called) }
  }

  /** Accepts a report; false where the task has no callback or the token does not match. */
  async receive(taskId: string, token: string): Promise<boolean> {
    const { store, tasks } = this.#engine
    const expected = tasks.get(taskId)?.load(tokenKey) ?? (await this.#stored(taskId, token))
    if (typeof expected !== 'string' || !(await isSameSecret(expected, token))) return false
    this.called(taskId)
    // All have one key, so several that wait for the owner are one entry: it asks the remote system once for all of them.
    if (!this.#listeners.has(taskId))
      await store.feed?.forward(taskId, { kind: 'call', key: 'call' }, Number.MAX_SAFE_INTEGER)
    return true
  }

  /** Wakes the listeners of a task. */
  called(taskId: string): void {
    for (const listener of this.#listeners.get(taskId) ?? []) listener()
  }

  /** The stored token of a task that does not run here. */
  async #stored(taskId: string, token: string): Promise<Json | undefined> {
    const place = /^[1-9][0-9]{0,14}(?=\.)/.exec(token)
    if (!place) return undefined
    const [record] = await this.#engine.store.records(taskId, Number(place[0]) - 1, 1)
    return record?.kind === 'state' && record.key === tokenKey ? record.value : undefined
  }

  #listen(taskId: string, called: () => void): () => void {
    const listeners = this.#listeners.get(taskId) ?? new Set()
    this.#listeners.set(taskId, listeners.add(called))
    return () => {
      listeners.delete(called)
      if (listeners.size === 0) this.#listeners.delete(taskId)
    }
  }
}
