import type { LogRecord } from '../store.ts'
import { toRecords } from './documents.ts'
import type { Connection } from './driver.ts'
import { recordsPerRow } from './rows.ts'

/** Reads a task's log by the task's number: what follows a sequence number, at most so many. */
export type LogReader = (number: number, after: number, limit?: number) => readonly LogRecord[]

/** Prepares the reading of logs. */
export function createLogReader(db: Connection): LogReader {
  // Where the first rows hold enough, the others are not even read.
  const rows = db.prepare(
    `SELECT records FROM log WHERE task = ?1 AND last_seq > ?2 AND last_seq <= coalesce(
       (SELECT last_seq FROM log WHERE task = ?1 AND last_seq >= ?2 + ?3 ORDER BY last_seq LIMIT 1),
       9007199254740991) ORDER BY last_seq`,
  )
  const inline = db.prepare('SELECT log FROM task WHERE number = ?')
  return (number, after, limit = Number.MAX_SAFE_INTEGER) => {
    const records: LogRecord[] = []
    const add = (text: unknown): void => {
      for (const record of toRecords(text)) if (record.seq > after) records.push(record)
    }
    // A log within the task's row is one row's worth at most.
    if (after < recordsPerRow) add(inline.get(number)?.log)
    const wanted = Math.min(limit, Number.MAX_SAFE_INTEGER - after)
    if (records.length < wanted) for (const row of rows.all(number, after, wanted)) add(row.records)
    return records.length > limit ? records.slice(0, limit) : records
  }
}
