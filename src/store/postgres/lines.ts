import { recordsPerRow, textsOf, toRecordTexts, toSnapshot, toText } from '../documents.ts'
import { refusalOf } from '../refusal.ts'
import type { TaskHead, TaskWrite, Write } from '../store.ts'
import { keyColumn, scopeColumn } from './keys.ts'

/** A write on its way to the database, its documents written out once: a commit may have to be repeated. */
export type WriteLine =
  | TaskLine
  | {
      readonly type: 'other'
      readonly write: OtherWrite
      readonly text: string
      readonly bytes: number
    }
  /** A write that cannot be stored; it keeps its place among the others. */
  | { readonly type: 'refused'; readonly reason: string; readonly bytes: number }

/** A write that is not a task's. */
export type OtherWrite = Exclude<Write, TaskWrite>

/** A task's write. The columns are those of the tables. */
export interface TaskLine {
  readonly type: 'task'
  readonly write: TaskWrite
  readonly head: TaskHead
  readonly scope: string
  readonly expected: number
  readonly version: number
  readonly key: string | null
  readonly snapshot: string | null
  readonly artifacts: string | null
  /** The records of a birth that stand in the task's row; of others, those of the last row in the log. */
  readonly records: string | null
  /** Rows of the log besides, where there are more records than one holds. */
  readonly more: readonly LogRow[]
  readonly bytes: number
}

/** A row of the log. */
interface LogRow {
  readonly lastSeq: number
  readonly records: string
}

/** Writes a write out. One that cannot be serialised, or takes more than so many bytes, becomes its refusal. */
export function toLine(write: Write, maxBytes: number): WriteLine {
  try {
    const line = write.type === 'task' ? toTaskLine(write) : toOtherLine(write)
    if (line.bytes <= maxBytes) return line
    return { type: 'refused', reason: refusalOf(write, { maxBytes }), bytes: 0 }
  } catch (thrown) {
    return { type: 'refused', reason: refusalOf(write, { thrown }), bytes: 0 }
  }
}

function toTaskLine(write: TaskWrite): TaskLine {
  const { head, expectedVersion, records, task, idempotencyKey } = write
  const texts = textsOf(toRecordTexts(records))
  const snapshot = task === undefined ? null : toSnapshot(task)
  const artifacts = task?.artifacts === undefined ? null : toText(task.artifacts)
  const isBirth = expectedVersion === 0
  const version = expectedVersion + records.length
  let bytes = sizeOf(snapshot) + sizeOf(artifacts)
  for (const text of texts) bytes += sizeOf(text)
  return {
    type: 'task',
    write,
    head,
    scope: scopeColumn(head.scope),
    expected: expectedVersion,
    version,
    key: isBirth && idempotencyKey !== undefined ? keyColumn(idempotencyKey) : null,
    snapshot,
    artifacts,
    records: texts.at(isBirth ? 0 : -1) ?? null,
    more: texts.length > 1 ? furtherRows(texts, expectedVersion, version) : nothing,
    bytes,
  }
}

const nothing: readonly LogRow[] = []

function furtherRows(texts: readonly string[], expected: number, version: number): LogRow[] {
  const rows = texts.map((records, i) => {
    const lastSeq = Math.min(expected + recordsPerRow * (i + 1), version)
    return { lastSeq, records }
  })
  return expected === 0 ? rows.slice(1) : rows.slice(0, -1)
}

function toOtherLine(write: OtherWrite): WriteLine {
  const text = documentOf(write)
  return { type: 'other', write, text, bytes: sizeOf(text) }
}

function documentOf(write: OtherWrite): string {
  switch (write.type) {
    case 'pushConfig':
      return toText(write.record)
    case 'cursor':
      return write.deadLetter === undefined ? '' : toText(write.deadLetter)
    case 'contextValue':
      return write.value === null ? '' : toText(write.value)
    default:
      return ''
  }
}

/** A character is three bytes at most; only what may be large is measured. */
function sizeOf(text: string | null): number {
  if (text === null) return 0
  return text.length < 10_000 ? text.length : Buffer.byteLength(text)
}
