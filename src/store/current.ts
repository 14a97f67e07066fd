import { createFold } from '../protocol/fold.ts'
import type { Task } from '../protocol/types.ts'
import type { LogRecord, Store, StoredTask } from './store.ts'

/** The task with every record of its log; a snapshot is older than the log while a turn is under way. */
export async function currentTask(store: Store, stored: StoredTask): Promise<Task> {
  if (stored.taskVersion === stored.version) return stored.task
  return foldRecords(stored.task, await store.records(stored.head.id, stored.taskVersion))
}

/** The task with these further records in it. Its first message is in it from the start. */
export function foldRecords(task: Task, records: readonly LogRecord[]): Task {
  if (records.length === 0) return task
  const fold = createFold(task)
  for (const record of records) {
    if (record.kind === 'event') fold.apply(record.event)
    else if (record.kind === 'message' && record.turn > 1) fold.hear(record.message)
  }
  return fold.snapshot()
}
