/**
 * The text that a database's hash is made of, `json.dumps(db.model_dump(), sort_keys=True)`, as bytes with the place of
 * every row. A world that changed three rows of 3,500 writes those three anew and lets SHA-256 go on from the last
 * checkpoint before the first of them: that is what keeps scoring a task in milliseconds.
 */
import { createHash, type Hash } from 'node:crypto'
import { compareText, dumpString, dumps } from '../python/dumps.ts'
import type { Instance } from '../python/value.ts'
import type { BaseTable, RowKey, TableType } from './table.ts'

/** The rows of a world that differ from the base, by table: changed ones and added ones. */
type ChangedRows = ReadonlyMap<string, ReadonlyMap<RowKey, Instance>>

/** The hashed text of a database as it was loaded. */
export interface Image {
  /** The hash of the base with these rows in the place of its own. */
  hash(changes: ChangedRows): string
}

interface Span {
  readonly start: number
  readonly end: number
}

interface TableSpans extends Span {
  readonly type: TableType
  readonly rows: ReadonlyMap<RowKey, Span>
  /** Keys in the order in which they are written. */
  readonly order: readonly RowKey[]
}

/** A place of the base's text and what stands there instead. */
interface Patch extends Span {
  readonly text: string
}

const stride = 128 * 1024

/** Writes the text of a base and remembers where its rows are. */
export function createImage(tables: ReadonlyMap<string, BaseTable>): Image {
  const { bytes, spans } = write(tables)
  const checkpoints = checkpointsOf(bytes)
  const whole = createHash('sha256').update(bytes).digest('hex')
  return {
    hash(changes) {
      const patches = [...changes].flatMap(([name, rows]) => patchesOf(spans.get(name), rows))
      if (patches.length === 0) return whole
      patches.sort((a, b) => a.start - b.start)
      return hashPatched(bytes, checkpoints, patches)
    },
  }
}

function write(tables: ReadonlyMap<string, BaseTable>): {
  readonly bytes: Buffer
  readonly spans: ReadonlyMap<string, TableSpans>
} {
  const spans = new Map<string, TableSpans>()
  const pieces: string[] = []
  let length = 0
  const put = (text: string): Span => {
    pieces.push(text)
    length += text.length
    return { start: length - text.length, end: length }
  }
  const names = [...tables.keys()].sort(compareText)
  for (const [index, name] of names.entries()) {
    put(`${index === 0 ? '{' : ', '}${dumpString(name)}: `)
    const table = tables.get(name)
    if (table) spans.set(name, writeTable(table, put))
  }
  put('}')
  // Every character is ASCII, so places in the text are places in the bytes.
  return { bytes: Buffer.from(pieces.join(''), 'latin1'), spans }
}

function writeTable({ type, rows }: BaseTable, put: (text: string) => Span): TableSpans {
  const order = [...rows.keys()]
  if (type.shape === 'dict') order.sort((a, b) => compareText(String(a), String(b)))
  const { start } = put(brackets[type.shape][0])
  const spans = new Map<RowKey, Span>()
  for (const [index, key] of order.entries()) {
    if (index > 0) put(', ')
    const row = rows.get(key)
    if (row) spans.set(key, put(rowText(type, key, row)))
  }
  return { type, rows: spans, order, start, end: put(brackets[type.shape][1]).end }
}

const brackets = { dict: ['{', '}'], list: ['[', ']'], one: ['', ''] } as const

function rowText({ shape }: TableType, key: RowKey, row: Instance): string {
  const text = dumps(row, { sortKeys: true })
  return shape === 'dict' ? `${dumpString(String(key))}: ${text}` : text
}

function patchesOf(table: TableSpans | undefined, rows: ReadonlyMap<RowKey, Instance>): Patch[] {
  if (!table) return []
  const replaced: Patch[] = []
  const added: [RowKey, string][] = []
  for (const [key, row] of rows) {
    const span = table.rows.get(key)
    const text = rowText(table.type, key, row)
    if (span) replaced.push({ ...span, text })
    else added.push([key, text])
  }
  return [...replaced, ...insertions(table, added)]
}

/** Added rows stand before the first row with a greater key; those of a list, and the greatest, at the end. */
function insertions(table: TableSpans, added: [RowKey, string][]): Patch[] {
  const { type, order, rows, end } = table
  if (type.shape === 'dict') added.sort(([a], [b]) => compareText(String(a), String(b)))
  const close = end - brackets[type.shape][1].length
  let isFirst = order.length === 0
  return added.map(([key, text]) => {
    const next =
      type.shape === 'dict' && order.find((one) => compareText(String(one), String(key)) > 0)
    const place = next === false || next === undefined ? undefined : rows.get(next)?.start
    if (place !== undefined) return { start: place, end: place, text: `${text}, ` }
    const lead = isFirst ? '' : ', '
    isFirst = false
    return { start: close, end: close, text: `${lead}${text}` }
  })
}

function checkpointsOf(bytes: Buffer): readonly Hash[] {
  const running = createHash('sha256')
  const checkpoints: Hash[] = []
  for (let at = 0; at < bytes.length; at += stride) {
    checkpoints.push(running.copy())
    running.update(bytes.subarray(at, at + stride))
  }
  return checkpoints
}

function hashPatched(
  bytes: Buffer,
  checkpoints: readonly Hash[],
  patches: readonly Patch[],
): string {
  const index = Math.floor((patches[0]?.start ?? 0) / stride)
  const hash = checkpoints[index]?.copy() ?? createHash('sha256')
  let at = checkpoints[index] ? index * stride : 0
  for (const { start, end, text } of patches) {
    hash.update(bytes.subarray(at, start)).update(text, 'latin1')
    at = end
  }
  return hash.update(bytes.subarray(at)).digest('hex')
}
