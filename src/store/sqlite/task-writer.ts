import { isTerminal } from '../../protocol/task.ts'
import type { TaskState } from '../../protocol/types.ts'
import { recordsPerRow, textsOf, toRecords } from '../documents.ts'
import type { WriteResult } from '../store.ts'
import { artifactsOf } from './documents.ts'
import { type Connection, changed } from './driver.ts'
import { createLogReader } from './queries.ts'
import { bytesIn, type ScopeText, type TaskRow } from './rows.ts'
import { createScopes, createTotals, type Scopes, type Totals } from './scopes.ts'

/** Artifacts of this many characters are not stored again where the log holds them. */
const largeArtifacts = 64 * 1024

/** Writes tasks and their logs, each with its version checked. */
export interface TaskRowWriter {
  write(row: TaskRow): WriteResult
  /** The number of a scope, which gets one where it has none. */
  scopeNumber(scope: ScopeText): number
  /** Before the transaction ends: adds the tasks that it brought to the totals. */
  addTotals(): void
  /** The transaction was rolled back: its tasks do not count, and numbers that it gave to scopes may go to others. */
  rolledBack(): void
}

/** A writer of tasks on an open connection. */
export function createTaskWriter(db: Connection): TaskRowWriter {
  const scopes = createScopes(db)
  const totals = createTotals(db)
  const slim = createSlimming(db)
  const insert = createInsert(db, { scopes, totals })
  const update = createUpdate(db)
  const version = db.prepare('SELECT version FROM task WHERE id = ?')
  const byKey = db.prepare('SELECT id FROM task WHERE scope = ? AND idempotency_key = ?')
  return {
    write(row) {
      const [, id, scope, , , , next, , , , expected, , , , , key] = row
      if (key !== null) {
        const existing = byKey.get(scopes.numberOf(scope), key)
        if (existing) return { existing: String(existing.id) }
      }
      const artifacts = slim(row)
      const done = expected === 0 ? insert(row, artifacts) : update(row, artifacts)
      return done ? { version: next } : { conflict: Number(version.get(id)?.version ?? 0) }
    },
    scopeNumber: scopes.numberOf,
    addTotals: totals.flush,
    rolledBack() {
      totals.forget()
      scopes.forget()
    },
  }
}

type WriteTask = (row: TaskRow, artifacts: string | null) => boolean

function createInsert(
  db: Connection,
  { scopes, totals }: { readonly scopes: Scopes; readonly totals: Totals },
): WriteTask {
  const insert = db.prepare(
    `INSERT INTO task (id, scope, context_id, state, timestamp, version, busy, generation, build,
       snapshot_version, idempotency_key, snapshot, artifacts, log)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?6, ?10, ?11, ?12, ?13) ON CONFLICT (id) DO NOTHING`,
  )
  const append = createAppend(db)
  return (row, artifacts) => {
    const [, id, scope, contextId, state, timestamp, version, busy, generation, build, , snapshot] =
      row
    const [, , , , , , , , , , , , , records, inline, key] = row
    const number = scopes.numberOf(scope)
    const head = [contextId, state, timestamp, version, busy, generation, build] as const
    const log = inline && typeof records === 'string' ? records : null
    if (!changed(insert.run(id, number, ...head, key, snapshot, artifacts, log))) return false
    totals.count(number, state)
    if (log === null) append(row)
    return true
  }
}

/**
 * SQLite writes every index anew that holds a column which is set, be it to the same value. Most writes of a running task
 * bring records alone, so these are tried first without the columns that indexes hold.
 */
function createUpdate(db: Connection): WriteTask {
  const records = db.prepare(
    `UPDATE task SET version = ?, generation = ?, build = ?
     WHERE id = ? AND version = ? AND context_id = ? AND state = ? AND timestamp = ? AND busy = ?`,
  )
  const columns =
    'context_id = ?, state = ?, timestamp = ?, version = ?, busy = ?, generation = ?, build = ?'
  const heads = db.prepare(`UPDATE task SET ${columns} WHERE id = ? AND version = ?`)
  const wholes = db.prepare(
    `UPDATE task SET ${columns}, snapshot_version = ?, snapshot = ?, artifacts = ? WHERE id = ? AND version = ?`,
  )
  const append = createAppend(db)
  return (row, artifacts) => {
    const [, id, , contextId, state, timestamp, version, busy, generation, build] = row
    const [, , , , , , , , , , expected, snapshot] = row
    const head = [contextId, state, timestamp, version, busy, generation, build] as const
    const grow = (): boolean => {
      const place = [id, expected, contextId, state, timestamp, busy] as const
      return changed(records.run(version, generation, build, ...place))
    }
    const done =
      snapshot === null
        ? grow() || changed(heads.run(...head, id, expected))
        : changed(wholes.run(...head, version, snapshot, artifacts, id, expected))
    if (done) append(row)
    return done
  }
}

function createAppend(db: Connection): (row: TaskRow) => void {
  const append = db.prepare('INSERT INTO log SELECT number << 31 | ?, ? FROM task WHERE id = ?')
  return ([, id, , , , , version, , , , expected, , , records]) => {
    let last = expected
    for (const text of textsOf(records)) {
      last = Math.min(last + recordsPerRow, version)
      append.run(last, text, id)
    }
  }
}

/**
 * Says what of a task's artifacts to store. Large ones of a task that has ended are in its log already; where the log
 * alone yields the very same text, empty text is stored in their place. Not where the log is far longer than they are, as
 * after a stream of words: to read it would cost more than the space is worth.
 */
function createSlimming(db: Connection): (row: TaskRow) => string | null {
  const find = db.prepare(
    `SELECT number, coalesce((SELECT sum(octet_length(records)) FROM log
       WHERE place > number << 31 AND place < (number + 1) << 31), 0) AS size
     FROM task WHERE id = ?`,
  )
  const readLog = createLogReader(db)
  return ([, id, , , state, , , , , , expected, , artifacts, records]) => {
    if (artifacts === null || artifacts.length < largeArtifacts) return artifacts
    if (!isTerminal(state as TaskState)) return artifacts // our own row: see rows.ts
    const found = expected === 0 ? undefined : find.get(id)
    const texts = textsOf(records)
    const size = texts.reduce((sum, text) => sum + bytesIn(text), Number(found?.size ?? 0))
    if (size > 2 * bytesIn(artifacts)) return artifacts
    const before = found === undefined ? [] : readLog(Number(found.number), 0)
    try {
      const inLog = artifactsOf([...before, ...texts.flatMap(toRecords)])
      return JSON.stringify(inLog) === artifacts ? '' : artifacts
    } catch {
      return artifacts // A log that does not add up is no substitute for them.
    }
  }
}
