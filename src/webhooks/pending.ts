import { createFold } from '../protocol/fold.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Task } from '../protocol/types.ts'
import type { LogRecord, PushConfigRecord, Store, StoredTask } from '../store/store.ts'
import { wants } from './filter.ts'

/** Which webhook a lane serves. */
export interface LaneKey {
  readonly taskId: string
  readonly id: string
}

type EventRecord = Extract<LogRecord, { kind: 'event' }>

/** The next event of a webhook, with all that an attempt needs. */
export interface Pending {
  readonly record: PushConfigRecord
  readonly entry: EventRecord
  readonly stored: StoredTask
}

/** A webhook as it is stored now. */
export async function findConfig(
  store: Store,
  { taskId, id }: LaneKey,
): Promise<PushConfigRecord | undefined> {
  return (await store.pushConfigs(taskId)).find((config) => config.id === id)
}

const firstPage = 4
const maxPage = 256

/**
 * Finds the next event that a webhook wants. Records that it does not want are passed over without a write, except
 * where there are many or the task is finished: then the cursor moves, so that they are not read again and retention
 * does not wait for them.
 */
export async function findNext(store: Store, key: LaneKey): Promise<Pending | undefined> {
  const record = await findConfig(store, key)
  if (!record) return undefined
  const { taskId } = key
  let seen = record.cursor
  for (let limit = firstPage; ; limit = Math.min(limit * 2, maxPage)) {
    const page = await store.records(taskId, seen, limit)
    const entry = page.find((item) => item.kind === 'event' && wants(record.events, item.event))
    const stored = entry && (await store.get(taskId))
    if (entry?.kind === 'event' && stored) return { record, entry, stored }
    seen = page.at(-1)?.seq ?? seen
    if (page.length < limit) break
  }
  await passOver(store, record, seen)
  return undefined
}

async function passOver(store: Store, record: PushConfigRecord, seen: number): Promise<void> {
  if (seen === record.cursor) return
  const { taskId, id } = record
  const stored = await store.get(taskId)
  const isWorthIt = seen - record.cursor >= maxPage || (stored && isTerminal(stored.head.state))
  if (isWorthIt) await store.commit([{ type: 'cursor', taskId, id, cursor: seen }])
}

/**
 * The task with this event in it. The snapshot may be older than the event: then the event is folded in, and chunks
 * between the two are missing until the next snapshot. It may also be newer: then the event's status stands in it.
 */
export function taskWith({ stored, entry: { seq, event } }: Pending): Task {
  if ('task' in event) return event.task
  if (seq > stored.taskVersion) {
    const fold = createFold(stored.task)
    fold.apply(event)
    return fold.snapshot()
  }
  return 'statusUpdate' in event
    ? { ...stored.task, status: event.statusUpdate.status }
    : stored.task
}
