import type { Json } from '../protocol/types.ts'
import { foldRecords } from '../store/current.ts'
import type { LogRecord, Store, StoredTask } from '../store/store.ts'
import { weighRecords } from '../store/weight.ts'
import type { StoredLog } from './log-host.ts'
import { entryOf, type RunMemory } from './messages.ts'

/** A task as a run has it in memory. */
export interface LoadedTask {
  readonly log: StoredLog
  readonly memory: RunMemory
  readonly records: readonly LogRecord[]
}

/** Reads what a run needs to go on with a stored task. */
export async function loadTask(store: Store, stored: StoredTask): Promise<LoadedTask> {
  const read = await store.records(stored.head.id, 0)
  // Not beyond: what another process has stored meanwhile is no part of the version that this one goes on from.
  const records = read.filter((record) => record.seq <= stored.version)
  const task = foldRecords(
    stored.task,
    records.filter((record) => record.seq > stored.taskVersion),
  )
  const saved = new Map<string, Json>()
  const forwarded = new Set<string>()
  let turns = 0
  for (const record of records) {
    if (record.kind === 'state') saved.set(record.key, record.value)
    else if (record.kind === 'message') turns = Math.max(turns, record.turn)
    const entry = entryIn(record)
    if (entry !== undefined) forwarded.add(entry)
  }
  // A store that keeps no log still has the history: one turn per message of the user.
  if (turns === 0) turns = task.history?.filter(({ role }) => role === 'ROLE_USER').length ?? 1
  const log = { task, version: stored.version, bytes: weighRecords(records) }
  return { log, records, memory: { turns, saved, forwarded } }
}

function entryIn(record: LogRecord): string | undefined {
  if (record.kind === 'event') return record.forwarded
  return record.kind === 'message' ? entryOf(record.request) : undefined
}
