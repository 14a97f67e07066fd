import { createFold } from '../protocol/fold.ts'
import type { Task } from '../protocol/types.ts'
import type { LogRecord, Store, StoredTask } from './store.ts'

/** The task with every record up to its version; a snapshot is older than the log while a turn is under way. */
export async function currentTask(store: Store, stored: StoredTask): Promise<Task> {
  const { head, task, version, taskVersion } = stored
  if (taskVersion === version) return task
  // Not beyond: what is stored meanwhile would be told again to whoever goes on from the version.
  return foldRecords(task, await store.records(head.id, taskVersion, version - taskVersion))
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
