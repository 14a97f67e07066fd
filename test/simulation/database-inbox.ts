import type { InboxEntry, InboxItem } from '../../src/store/feed.ts'
import type { LogRecord } from '../../src/store/store.ts'
import { type Database, notify, removeMail } from './database.ts'

/** What is to be forwarded to the replica that runs a task. */
export interface Forwarding {
  readonly taskId: string
  readonly entry: InboxEntry
  readonly maxWaiting: number
}

/** Stores an entry for the replica that runs a task, and tells it; false where there is no such replica, no room, or it waits already. */
export function forwardEntry(
  database: Database,
  { taskId, entry, maxWaiting }: Forwarding,
): boolean {
  const row = database.rows.get(taskId)
  if (!row || row.replica === undefined) return false
  const items = database.inbox.get(taskId) ?? []
  if (items.some((item) => item.entry.key === entry.key) || row.mail >= maxWaiting) return false
  row.mail += 1
  database.inbox.set(taskId, [...items, { number: database.nextNumber(), entry }])
  database.observer?.mailed(taskId, entry.key, 'stored')
  notify(database, row.replica, { kind: 'mail', taskId, agent: row.agent })
  return true
}

/** Whether an entry was stored: it waits, or the log has it. */
export async function isForwarded(
  { memory, inbox }: Database,
  taskId: string,
  key: string,
): Promise<boolean> {
  if (inbox.get(taskId)?.some((item) => item.entry.key === key)) return true
  const records = await memory.records(taskId, 0)
  return records.some((record) => entryIn(record) === key)
}

function entryIn(record: LogRecord): string | undefined {
  if (record.kind === 'event') return record.forwarded
  return record.kind === 'message' ? record.request.forwarded : undefined
}

/** What waits for the one that runs a task. */
export function inboxOf({ inbox }: Database, taskId: string): readonly InboxItem[] {
  return inbox.get(taskId) ?? []
}

/** Takes entries away without a record. */
export function dismissEntries(
  database: Database,
  taskId: string,
  numbers: readonly number[],
): void {
  const row = database.rows.get(taskId)
  if (!row) return
  removeMail(database, row, { numbers, as: 'dismissed' })
  if (!row.busy && row.mail === 0) row.replica = undefined
}
