import type { Json, Task } from '../protocol/types.ts'
import { foldRecords } from '../store/current.ts'
import type { LogRecord, Store, StoredTask } from '../store/store.ts'
import type { RunMemory } from './letter.ts'

/** What a run needs to go on with a stored task. */
export async function loadMemory(
  store: Store,
  stored: StoredTask,
): Promise<{
  readonly task: Task
  readonly memory: RunMemory
  readonly records: readonly LogRecord[]
}> {
  const records = await store.records(stored.head.id, 0)
  const task = foldRecords(
    stored.task,
    records.filter((record) => record.seq > stored.taskVersion),
  )
  const saved = new Map<string, Json>()
  let turns = 0
  for (const record of records) {
    if (record.kind === 'state') saved.set(record.key, record.value)
    else if (record.kind === 'message') turns = Math.max(turns, record.turn)
  }
  // A store that keeps no log still has the history: one turn per message of the user.
  if (turns === 0) turns = task.history?.filter(({ role }) => role === 'ROLE_USER').length ?? 1
  return { task, records, memory: { turns, saved } }
}
