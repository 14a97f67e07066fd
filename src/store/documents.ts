import type { Json, Task } from '../protocol/types.ts'
import type { Mutable } from '../shared/json.ts'
import type { DeadLetter, LogRecord, PushConfigRecord } from './store.ts'

/** Records in one row of a log at most: a page of a replay, so that who reads in pages parses each record about once. */
export const recordsPerRow = 128

/** Records as the texts that a log's rows hold: one, several of `recordsPerRow` each where there are more, or none. */
export type RecordTexts = string | readonly string[] | null

/**
 * A document as JSON text.
 * @throws TypeError for what JSON cannot express. A `toJSON` of the value's own may throw what it likes.
 */
export function toText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('Not a value of JSON')
  return text
}

/** A document of our own, read back. */
export function fromText<T>(text: unknown): T {
  return JSON.parse(String(text)) as T // what `toText` wrote: a store is ours alone
}

/** The task without its artifacts, and without a status message that its history ends with. */
export function toSnapshot({ artifacts, ...rest }: Task): string {
  const { status, history } = rest
  if (status.message === undefined || history?.at(-1) !== status.message) return toText(rest)
  return toText({ ...rest, status: { ...status, message: 0 } })
}

/** What `toSnapshot` wrote, with the status message that is stored once. */
export function fromSnapshot(text: unknown): Mutable<Task> {
  const task = fromText<Mutable<Task>>(text)
  const { status, history } = task
  const message = history?.at(-1)
  if ((status.message as unknown) === 0 && message) task.status = { ...status, message }
  return task
}

/** Records as texts. */
export function toRecordTexts(records: readonly LogRecord[]): RecordTexts {
  if (records.length === 0) return null
  if (records.length <= recordsPerRow) return toText(records)
  const texts: string[] = []
  for (let from = 0; from < records.length; from += recordsPerRow)
    texts.push(toText(records.slice(from, from + recordsPerRow)))
  return texts
}

/** The texts that records stand in. */
export function textsOf(records: RecordTexts): readonly string[] {
  if (records === null) return []
  return typeof records === 'string' ? [records] : records
}

/** Records as JSON text; none where there is no text. */
export function toRecords(text: unknown): readonly LogRecord[] {
  return typeof text === 'string' ? fromText<readonly LogRecord[]>(text) : []
}

type Columns = Readonly<Record<string, unknown>>

/** A row of the webhooks table; the cursor's column is newer than the document. */
export function toPushConfig(row: Columns): PushConfigRecord {
  return { ...fromText<PushConfigRecord>(row.record), cursor: Number(row.cursor) }
}

/** A row of the dead letters. */
export function toDeadLetter(row: Columns): DeadLetter {
  return fromText<DeadLetter>(row.letter)
}

/** A row of a context's values. */
export function toContextValue({ key, value }: Columns): readonly [key: string, value: Json] {
  return [fromText<string>(key), fromText<Json>(value)]
}
