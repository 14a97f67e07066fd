import { isTerminal } from '../protocol/task.ts'
import type { Task } from '../protocol/types.ts'
import { foldRecords } from '../store/current.ts'
import type { LogRecord, PushConfigRecord, Store, StoredTask } from '../store/store.ts'
import { wants } from './filter.ts'

/** Which webhook: its delivery queue is found by this. */
export interface WebhookKey {
  readonly taskId: string
  readonly id: string
}

type EventRecord = Extract<LogRecord, { kind: 'event' }>

/** The next event of a webhook, with all that an attempt needs. */
export interface Pending {
  readonly record: PushConfigRecord
  readonly entry: EventRecord
  /** The first event that this delivery tells of; the entry itself, but where chunks have piled up before it. */
  readonly since: number
  readonly stored: StoredTask
}

/** A webhook as it is stored now. */
export async function findConfig(
  store: Store,
  { taskId, id }: WebhookKey,
): Promise<PushConfigRecord | undefined> {
  return (await store.pushConfigs(taskId)).find((config) => config.id === id)
}

const firstPage = 4
const maxPage = 256

/**
 * Finds the next event that a webhook wants. Where each delivery carries the whole task, chunks that have piled up come
 * with the change of state behind them, or with the last of them. Records that it does not want are passed over without a write, except
 * where there are many or the task is finished: then the cursor moves, so that they are not read again and retention
 * does not wait for them.
 */
export async function findNext(store: Store, key: WebhookKey): Promise<Pending | undefined> {
  const record = await findConfig(store, key)
  if (!record) return undefined
  const { taskId } = key
  // Read before the records, so that it holds nothing which they do not tell of.
  const stored = await store.get(taskId, undefined, { light: !needsTask(record) })
  const pile: EventRecord[] = []
  let seen = record.cursor
  for (let limit = firstPage; ; limit = Math.min(limit * 2, maxPage)) {
    const page = await store.records(taskId, seen, limit)
    const complete = pileUp(pile, page, record)
    seen = page.at(-1)?.seq ?? seen
    if (complete || page.length < limit) break
  }
  const [first] = pile
  const entry = pile.at(-1)
  if (stored && first && entry) return { record, entry, since: first.seq, stored }
  await passOver(store, record, seen)
  return undefined
}

/** Takes what the webhook wants from a page; true once the next delivery is complete. */
function pileUp(
  pile: EventRecord[],
  page: readonly LogRecord[],
  record: PushConfigRecord,
): boolean {
  for (const item of page) {
    if (item.kind !== 'event' || !wants(record.events, item.event)) continue
    // Of a pile only its first and its last are needed.
    if (pile.length > 1) pile.pop()
    pile.push(item)
    if (!carriesTask(record) || !('artifactUpdate' in item.event)) return true
  }
  return false
}

/** Whether a delivery tells of more than its event. */
function needsTask({ dialect }: PushConfigRecord): boolean {
  return dialect !== '1.0' && dialect !== '1.0-rc'
}

/** In 0.3 a delivery is the task itself. */
function carriesTask({ dialect }: PushConfigRecord): boolean {
  return dialect === '0.3' || dialect === '0.3-rest'
}

async function passOver(store: Store, record: PushConfigRecord, seen: number): Promise<void> {
  if (seen === record.cursor) return
  const { taskId, id } = record
  const stored = await store.get(taskId, undefined, { light: true })
  const isWorthIt = seen - record.cursor >= maxPage || (stored && isTerminal(stored.head.state))
  if (isWorthIt) await store.commit([{ type: 'cursor', taskId, id, cursor: seen }])
}

/**
 * The task with this event in it. The snapshot may be older than the event: then what lies between is folded in. It may
 * also be newer: then the event's status stands in it.
 */
export async function taskWith(store: Store, { record, stored, entry }: Pending): Promise<Task> {
  const { seq, event } = entry
  const { taskVersion } = stored
  if ('task' in event) return event.task
  if (!needsTask(record)) return stored.task
  if (seq > taskVersion)
    return foldRecords(
      stored.task,
      await store.records(record.taskId, taskVersion, seq - taskVersion),
    )
  return 'statusUpdate' in event
    ? { ...stored.task, status: event.statusUpdate.status }
    : stored.task
}
