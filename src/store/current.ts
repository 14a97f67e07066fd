import { createFold } from '../protocol/fold.ts'
import type { Task } from '../protocol/types.ts'
import type { Store, StoredTask } from './store.ts'

/** The task with every record of its log; a snapshot is older than the log while a turn is under way. */
export async function currentTask(store: Store, stored: StoredTask): Promise<Task> {
  if (stored.taskVersion === stored.version) return stored.task
  const fold = createFold(stored.task)
  for (const record of await store.records(stored.head.id, stored.taskVersion)) {
    if (record.kind === 'event') fold.apply(record.event)
    else if (record.kind === 'message' && record.turn > 1) fold.hear(record.message)
  }
  return fold.snapshot()
}
