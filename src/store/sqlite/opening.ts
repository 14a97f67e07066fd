import type { LogRecord } from '../store.ts'

/**
 * The first records of a task tell its first message twice: as it came, and in the history of the task that it opens. In
 * the file it stands once, since it may have megabytes: where the history is this message alone, it is 0.
 */
export function toStoredRecords(records: readonly LogRecord[]): readonly LogRecord[] {
  const [first] = records
  if (first?.kind !== 'message') return records
  const opening = records.findIndex((record) => historyOf(record)?.[0] === first.message)
  const record = records[opening]
  if (!record || historyOf(record)?.length !== 1) return records
  return records.with(opening, withHistory(record, 0))
}

/** Records as they were before they were stored. */
export function fromStoredRecords(records: readonly LogRecord[]): readonly LogRecord[] {
  const [first] = records
  if (first?.kind !== 'message') return records
  const opening = records.findIndex((record) => (historyOf(record) as unknown) === 0) // see above
  const record = records[opening]
  return record ? records.with(opening, withHistory(record, [first.message])) : records
}

function historyOf(record: LogRecord) {
  return record.kind === 'event' && 'task' in record.event ? record.event.task.history : undefined
}

function withHistory(record: LogRecord, history: unknown): LogRecord {
  if (record.kind !== 'event' || !('task' in record.event)) return record
  const { task } = record.event
  return { ...record, event: { ...record.event, task: { ...task, history } } } as LogRecord // a stored one has 0 there
}
