import { createHash } from 'node:crypto'
import type { Artifact, Task } from '../../protocol/types.ts'
import { isFields, type Mutable } from '../../shared/json.ts'
import {
  documentColumns,
  fromSnapshot,
  fromText,
  listedDocumentColumns,
  recordsPerRow,
  scopeKey,
  taskOfHead,
  textsOf,
  toHead,
  toRecordTexts,
  toSnapshot,
  toText,
} from '../documents.ts'
import { refusalOf } from '../size-limits.ts'
import type { Scope, StoredTask, TaskHead, TaskParts, TaskWrite, Write } from '../store.ts'
import { type DatabaseRow, maxNoticeBytes, type Names } from './connection.ts'

/** The columns of a task's head, `t`, as `toHead` reads them. What waits in the inbox is work that is left. */
export const headColumnsOf =
  't.id, t.agent, t.tenant, t.principal AS owner, t.context_id AS "contextId", t.state, t.timestamp, t.busy OR t.mail > 0 AS busy, t.generation, t.build'

/**
 * The task of a webhook `p`, as a LATERAL part. OFFSET keeps the database from joining by a scan of all tasks, which it prefers
 * while it does not know how few of them have a webhook.
 */
export function ownTask(schema: string): string {
  return `(SELECT * FROM ${schema}.task o WHERE o.id = p.task_id OFFSET 0)`
}

const numbers = `${headColumnsOf}, t.version, t.snapshot_version AS "taskVersion", t.replica, t.mail`

/** The columns of as much of a task as is asked for, as `toDatabaseTask` reads them. */
export function taskColumnsOf(parts?: TaskParts): string {
  return `${numbers}, ${documentColumns('t', parts)}`
}

/** The same for a list, where the documents of large tasks are left out: they are null. */
export function listColumnsOf(parts: TaskParts): string {
  return `${numbers}, ${listedDocumentColumns('t', parts)}`
}

/** How a statement over these columns is called. */
export function partsName({ artifacts = true, light = false }: TaskParts = {}): string {
  if (light) return '_light'
  return artifacts ? '_whole' : ''
}

/** A row of `taskColumnsOf`, with as much of the task as it has. */
export function toDatabaseTask(row: DatabaseRow): StoredTask {
  const head = toHead(row)
  const task: Mutable<Task> =
    row.snapshot === '' ? { ...taskOfHead(head) } : fromSnapshot(row.snapshot)
  if (typeof row.artifacts === 'string') task.artifacts = fromText<Artifact[]>(row.artifacts)
  const replica = Number(row.replica ?? 0)
  return {
    head,
    version: Number(row.version),
    task,
    taskVersion: Number(row.taskVersion),
    // 0 is the number of a task that was released.
    ...(replica > 0 && { replica, mail: Number(row.mail) }),
  }
}

/** A write on its way to the database, its documents written out once: a commit may have to be repeated. */
export type WriteLine =
  | TaskLine
  | OtherLine
  /** A write that cannot be stored; it keeps its place among the others. */
  | { readonly type: 'refused'; readonly reason: string; readonly bytes: number }

/** A write that is not a task's, and its document. */
export interface OtherLine {
  readonly type: 'other'
  readonly write: OtherWrite
  readonly text: string
  readonly bytes: number
}

type OtherWrite = Exclude<Write, TaskWrite>

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
export interface LogRow {
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

/** Longer keys would not fit into an index together with the others of its row. */
const maxBytes = 400

/** A scope as the indexes have it. */
export function scopeColumn(scope: Scope): string {
  return shorten(scopeKey(scope))
}

/** An idempotency key as the index has it. */
export function keyColumn(key: string): string {
  return shorten(`=${key}`)
}

/** A text that is short stays; one that is long becomes its digest, which begins as no short one does. */
function shorten(text: string): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text
  return `sha256:${createHash('sha256').update(text).digest('base64')}`
}

/** Whether a text can stand in a column at all: PostgreSQL has no U+0000 in texts. Nothing has an id that cannot. */
export function isKeepable(text: string): boolean {
  return !text.includes('\u0000')
}

/**
 * Arrays as PostgreSQL takes them in its binary format: one parameter holds a column of many rows, and no text has to be
 * escaped. A value is its length, -1 for NULL, and its bytes.
 */

const oids = { text: 25, int4: 23, int8: 20, bool: 16 } as const

const headerBytes = 20

/** A `text[]`. */
export function textArray(values: readonly (string | null)[]): Buffer {
  let bytes = headerBytes
  for (const value of values) bytes += 4 + (value === null ? 0 : Buffer.byteLength(value))
  const buffer = begin(bytes, values.length, oids.text)
  let at = headerBytes
  for (const value of values) {
    if (value === null) at = buffer.writeInt32BE(-1, at)
    else {
      const length = buffer.write(value, at + 4)
      buffer.writeInt32BE(length, at)
      at += 4 + length
    }
  }
  return buffer
}

/** An `int4[]`. */
export function intArray(values: readonly number[]): Buffer {
  const buffer = begin(headerBytes + values.length * 8, values.length, oids.int4)
  let at = headerBytes
  for (const value of values) at = buffer.writeInt32BE(value, buffer.writeInt32BE(4, at))
  return buffer
}

/** An `int8[]`. */
export function bigintArray(values: readonly number[]): Buffer {
  const buffer = begin(headerBytes + values.length * 12, values.length, oids.int8)
  let at = headerBytes
  for (const value of values) at = buffer.writeBigInt64BE(BigInt(value), buffer.writeInt32BE(8, at))
  return buffer
}

/** A `bool[]`. */
export function boolArray(values: readonly boolean[]): Buffer {
  const buffer = begin(headerBytes + values.length * 5, values.length, oids.bool)
  let at = headerBytes
  for (const value of values) at = buffer.writeUInt8(value ? 1 : 0, buffer.writeInt32BE(1, at))
  return buffer
}

/** Dimensions, whether there may be NULLs, the type; length and lower bound of the one dimension. */
function begin(bytes: number, length: number, oid: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  buffer.writeInt32BE(1, 0)
  buffer.writeInt32BE(1, 4)
  buffer.writeInt32BE(oid, 8)
  buffer.writeInt32BE(length, 12)
  buffer.writeInt32BE(1, 16)
  return buffer
}

/**
 * A statement that removes tasks with all that hangs on them, the values of a context with its last task, and answers with
 * the ids. `$1` is the replica that writes.
 *
 * @param which The condition on `t`, the task.
 */
export function removal(names: Names, which: string): string {
  const { schema } = names
  const hanging = ['log', 'inbox', 'push', 'dead_letter'].map(
    (table) =>
      `${table}_gone AS (DELETE FROM ${schema}.${table} h USING gone WHERE h.task_id = gone.id)`,
  )
  return `WITH gone AS (DELETE FROM ${schema}.task t WHERE ${which}
      RETURNING t.id, t.scope, t.agent, t.state, t.context_id, t.watchers, 0 AS version),
    ${hanging.join(',\n')},
    values_gone AS (DELETE FROM ${schema}.context_value v USING (SELECT DISTINCT scope, context_id FROM gone) g
      WHERE v.scope = g.scope AND v.context_id = g.context_id AND NOT EXISTS (SELECT 1 FROM ${schema}.task t
        WHERE t.scope = g.scope AND t.context_id = g.context_id AND t.id NOT IN (SELECT id FROM gone))),
    counted AS (INSERT INTO ${schema}.total AS o SELECT scope, agent, state, $1::int & 15, -count(*) FROM gone
      GROUP BY scope, agent, state ORDER BY scope, state
      ON CONFLICT (scope, state, part) DO UPDATE SET tasks = o.tasks + excluded.tasks),
    ${toldTo('gone', names)}
    SELECT id FROM gone WHERE (SELECT count(*) FROM told) >= 0`
}

/** The most that one entry may take; watchers find a longer id when they poll. */
const maxEntryBytes = 1_300

/**
 * A part of a statement, `told`, that notifies the watchers of changed tasks of the new versions; the statement must read
 * it. Within the statement that changes them no wake-up is lost; without watchers nothing is sent, since notices make
 * commits wait for each other. `$1` is the replica that writes, which is not notified.
 *
 * @param changed The part with `id`, `version` and `watchers` of the tasks.
 */
export function toldTo(changed: string, { channel }: Names): string {
  const perNotice = maxNoticeBytes - maxEntryBytes - 20
  return `told AS (SELECT pg_notify('${channel}_' || w, '{"grown":[' || string_agg(entry, ',') || ']}') FROM (
    SELECT w, entry, sum(octet_length(entry) + 1) OVER (PARTITION BY w ORDER BY id) / ${perNotice} AS part FROM (
      SELECT c.id, w, json_build_array(c.id, c.version)::text AS entry FROM ${changed} c, unnest(c.watchers) AS w
      WHERE w <> $1::int) e
    WHERE octet_length(entry) <= ${maxEntryBytes}) p GROUP BY w, part)`
}

/** A notice from one replica to another, in the format that `Names` describes. */
type Notice =
  | { readonly kind: 'grown'; readonly tasks: readonly (readonly [id: string, version: number])[] }
  | { readonly kind: 'mail'; readonly taskId: string; readonly agent: string }
  | { readonly kind: 'deliveries'; readonly taskId: string }
  | { readonly kind: 'orphans' }

/** Reads a notice; undefined for a notice that this version does not know. */
export function parseNotice(payload: string): Notice | undefined {
  const value = parse(payload)
  if (!isFields(value)) return undefined
  const { grown, mail, deliveries, orphans } = value
  if (Array.isArray(grown)) return { kind: 'grown', tasks: grown.filter(isGrowth) }
  if (Array.isArray(mail)) {
    const [taskId, agent]: unknown[] = mail
    if (typeof taskId === 'string' && typeof agent === 'string')
      return { kind: 'mail', taskId, agent }
  }
  if (typeof deliveries === 'string') return { kind: 'deliveries', taskId: deliveries }
  return orphans === true ? { kind: 'orphans' } : undefined
}

function parse(payload: string): unknown {
  try {
    return JSON.parse(payload)
  } catch {
    return undefined
  }
}

function isGrowth(value: unknown): value is readonly [string, number] {
  if (!Array.isArray(value)) return false
  const [id, version]: unknown[] = value
  return typeof id === 'string' && typeof version === 'number'
}
