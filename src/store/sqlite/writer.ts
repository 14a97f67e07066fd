import { isTerminal } from '../../protocol/task.ts'
import type { TaskState } from '../../protocol/types.ts'
import { recordsPerRow, textsOf, toRecords } from '../documents.ts'
import type { WriteResult } from '../store.ts'
import { type Connection, changed, createTransaction, type Statement } from './driver.ts'
import { createLogReader } from './reader.ts'
import {
  artifactsOf,
  bytesIn,
  fromScopeText,
  fromStoredRecords,
  type ScopeText,
  type TaskRow,
  type WriteRow,
} from './rows.ts'
import { type Spans, toTaskPlace } from './spans.ts'
import type { Remove } from './trim.ts'

/** The writing half of the store: synchronous, on one open, migrated connection, in its own thread. */
export function createWriter(
  db: Connection,
  { remove, spans }: { readonly remove: Remove; readonly spans: Spans },
): {
  /** Makes all writes durable in one transaction, or none. */
  commit(rows: readonly WriteRow[]): readonly WriteResult[]
  /** Finds out whether the file takes writes. */
  probe(): void
} {
  const tasks = new TaskWriter(db, spans)
  const write = createRowWriter(db, tasks, remove)
  const probe = db.prepare(
    "INSERT INTO probe VALUES (1, datetime('now')) ON CONFLICT DO UPDATE SET at = datetime('now')",
  )
  const transaction = createTransaction(db)
  return {
    commit(rows) {
      try {
        return transaction(() => {
          const results = rows.map(write)
          tasks.addTotals()
          return results
        })
      } catch (error) {
        tasks.rolledBack()
        throw error
      }
    },
    probe: () => {
      transaction(() => probe.run())
    },
  }
}

/** Writes tasks and their logs, each with its version checked. */
class TaskWriter {
  readonly #sql: ReturnType<typeof prepareTaskWrites>
  readonly #scopes: Scopes
  readonly #totals: Totals
  readonly #spans: Spans
  readonly #slim: (row: TaskRow) => string | null

  constructor(db: Connection, spans: Spans) {
    this.#sql = prepareTaskWrites(db)
    this.#scopes = new Scopes(db)
    this.#totals = new Totals(db)
    this.#spans = spans
    this.#slim = createSlimming(db)
  }

  write(row: TaskRow): WriteResult {
    const [, id, scope, , , , next, , , , expected, , , , , key] = row
    if (key !== null) {
      const existing = this.#sql.byKey.get(this.scopeNumber(scope), key)
      if (existing) return { existing: String(existing.id) }
    }
    const artifacts = this.#slim(row)
    const done = expected === 0 ? this.#insert(row, artifacts) : this.#update(row, artifacts)
    return done ? { version: next } : { conflict: this.version(id) ?? 0 }
  }

  /** The version of a task; undefined for an unknown task. */
  version(id: string): number | undefined {
    const row = this.#sql.version.get(id)
    return row && Number(row.version)
  }

  /** The number of a scope, which gets one where it has none. */
  scopeNumber(scope: ScopeText): number {
    return this.#scopes.numberOf(scope)
  }

  /** Before the transaction ends: adds the tasks that it brought to the totals, and cuts lists that became long into spans. */
  addTotals(): void {
    this.#totals.flush()
    this.#spans.flush()
  }

  /** The transaction was rolled back: its tasks do not count, and numbers that it gave to scopes may go to others. */
  rolledBack(): void {
    this.#totals.forget()
    this.#spans.forget()
    this.#scopes.forget()
  }

  #insert(row: TaskRow, artifacts: string | null): boolean {
    const [, id, scope, contextId, state, timestamp, version, busy, generation, build, , snapshot] =
      row
    const [, , , , , , , , , , , , , records, inline, key] = row
    const number = this.scopeNumber(scope)
    const head = [contextId, state, timestamp, version, busy, generation, build] as const
    const log = inline && typeof records === 'string' ? records : null
    const { insert } = this.#sql
    if (!changed(insert.run(id, number, ...head, key, snapshot, artifacts, log))) return false
    this.#totals.count(number, state)
    this.#spans.count(number, { contextId, state, timestamp }, 1)
    if (log === null) this.#append(row)
    return true
  }

  /**
   * SQLite writes every index anew that holds a column which is set, be it to the same value. Most writes of a running
   * task bring records alone, so these are tried first without the columns that indexes hold.
   */
  #update(row: TaskRow, artifacts: string | null): boolean {
    const [, id, , contextId, state, timestamp, version, busy, generation, build] = row
    const [, , , , , , , , , , expected, snapshot] = row
    const { records, head, whole } = this.#sql
    const place = [contextId, state, timestamp] as const
    const columns = [...place, version, busy, generation, build] as const
    const isStored =
      snapshot === null
        ? changed(records.run(version, generation, build, id, expected, ...place, busy)) ||
          this.#move(row, () => head.run(...columns, id, expected))
        : this.#move(row, () => whole.run(...columns, version, snapshot, artifacts, id, expected))
    if (isStored) this.#append(row)
    return isStored
  }

  /** Writes columns that indexes hold, and counts the task where it is from then on. */
  #move([, id, scope, contextId, state, timestamp]: TaskRow, write: () => RunResult): boolean {
    const number = this.scopeNumber(scope)
    const before = this.#spans.has(number) ? this.#sql.place.get(id) : undefined
    if (!changed(write())) return false
    if (before === undefined) return true
    this.#spans.count(number, toTaskPlace(before), -1)
    this.#spans.count(number, { contextId, state, timestamp }, 1)
    return true
  }

  #append([, id, , , , , version, , , , expected, , , records]: TaskRow): void {
    let last = expected
    for (const text of textsOf(records)) {
      last = Math.min(last + recordsPerRow, version)
      this.#sql.append.run(last, text, id)
    }
  }
}

type RunResult = ReturnType<Statement['run']>

const headColumns =
  'context_id = ?, state = ?, timestamp = ?, version = ?, busy = ?, generation = ?, build = ?'

function prepareTaskWrites(db: Connection) {
  return {
    version: db.prepare('SELECT version FROM task WHERE id = ?'),
    byKey: db.prepare('SELECT id FROM task WHERE scope = ? AND idempotency_key = ?'),
    insert: db.prepare(
      `INSERT INTO task (id, scope, context_id, state, timestamp, version, busy, generation, build,
         snapshot_version, idempotency_key, snapshot, artifacts, log)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?6, ?10, ?11, ?12, ?13) ON CONFLICT (id) DO NOTHING`,
    ),
    records: db.prepare(
      `UPDATE task SET version = ?, generation = ?, build = ?
       WHERE id = ? AND version = ? AND context_id = ? AND state = ? AND timestamp = ? AND busy = ?`,
    ),
    head: db.prepare(`UPDATE task SET ${headColumns} WHERE id = ? AND version = ?`),
    whole: db.prepare(
      `UPDATE task SET ${headColumns}, snapshot_version = ?, snapshot = ?, artifacts = ? WHERE id = ? AND version = ?`,
    ),
    place: db.prepare('SELECT context_id AS contextId, state, timestamp FROM task WHERE id = ?'),
    append: db.prepare('INSERT INTO log SELECT number << 31 | ?, ? FROM task WHERE id = ?'),
  }
}

/** How many numbers of scopes are cached. */
const maxScopes = 10_000

/** The numbers of scopes on a writing connection. */
class Scopes {
  readonly #find: Statement
  readonly #add: Statement
  readonly #known = new Map<string, number>()

  constructor(db: Connection) {
    this.#find = db.prepare('SELECT id FROM scope WHERE agent = ? AND tenant = ? AND owner = ?')
    this.#add = db.prepare('INSERT INTO scope (agent, tenant, owner) VALUES (?, ?, ?)')
  }

  /** A scope that has no number gets one. */
  numberOf(scope: ScopeText): number {
    const hit = this.#known.get(scope)
    if (hit !== undefined) return hit
    const columns = fromScopeText(scope)
    if (this.#find.get(...columns) === undefined) this.#add.run(...columns)
    const number = Number(this.#find.get(...columns)?.id)
    if (this.#known.size >= maxScopes) this.#known.clear()
    this.#known.set(scope, number)
    return number
  }

  /** Numbers that were given in a transaction that is rolled back may go to others. */
  forget(): void {
    this.#known.clear()
  }
}

/** New tasks of a transaction by scope and state, gathered so that each total is written once. */
class Totals {
  readonly #add: Statement
  readonly #counts = new Map<number, Map<string, number>>()

  constructor(db: Connection) {
    this.#add = db.prepare(
      'INSERT INTO total VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks',
    )
  }

  count(scope: number, state: string): void {
    const states = this.#counts.get(scope) ?? new Map<string, number>()
    this.#counts.set(scope, states.set(state, (states.get(state) ?? 0) + 1))
  }

  flush(): void {
    for (const [scope, states] of this.#counts)
      for (const [state, tasks] of states) this.#add.run(scope, state, tasks)
    this.#counts.clear()
  }

  forget(): void {
    this.#counts.clear()
  }
}

/** Artifacts of this many characters are not stored again where the log holds them. */
const largeArtifacts = 64 * 1024

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
      const inLog = artifactsOf([
        ...before,
        ...texts.flatMap((text) => fromStoredRecords(toRecords(text))),
      ])
      return JSON.stringify(inLog) === artifacts ? '' : artifacts
    } catch {
      return artifacts // A log that does not add up is no substitute for them.
    }
  }
}

const missing: WriteResult = { conflict: 0 }

function createRowWriter(
  db: Connection,
  tasks: TaskWriter,
  remove: Remove,
): (row: WriteRow) => WriteResult {
  const sql = prepareOtherWrites(db)
  const versionOf = (taskId: string): WriteResult => {
    const version = tasks.version(taskId)
    return version === undefined ? missing : { version }
  }
  return (row) => {
    switch (row[0]) {
      case 'task':
        return tasks.write(row)
      case 'deleteTask': {
        const number = sql.findTask.get(row[1])?.number
        if (number === undefined) return missing
        remove(Number(number))
        return { version: 0 }
      }
      case 'pushConfig': {
        const [, taskId, ...columns] = row
        const found = versionOf(taskId)
        if ('version' in found) sql.putPush.run(taskId, ...columns)
        return found
      }
      case 'deletePushConfig':
        return changed(sql.dropPush.run(row[1], row[2])) ? versionOf(row[1]) : missing
      case 'cursor': {
        const [, taskId, id, cursor, letterId, text] = row
        if (!changed(sql.move.run(cursor, taskId, id))) return missing
        if (letterId !== undefined && text !== undefined) sql.putLetter.run(letterId, taskId, text)
        return versionOf(taskId)
      }
      case 'deleteDeadLetter':
        return changed(sql.dropLetter.run(row[1])) ? { version: 0 } : missing
      case 'contextValue': {
        const [, scope, contextId, key, value] = row
        const place = [tasks.scopeNumber(scope), contextId, key] as const
        if (value === null) sql.dropValue.run(...place)
        else sql.putValue.run(...place, value)
        return { version: 0 }
      }
      case 'refused':
        return { refused: row[1] }
    }
  }
}

function prepareOtherWrites(db: Connection) {
  return {
    findTask: db.prepare('SELECT number FROM task WHERE id = ?'),
    putPush: db.prepare(
      `INSERT INTO push (task_id, id, cursor, record) VALUES (?, ?, ?, ?)
     ON CONFLICT (task_id, id) DO UPDATE SET record = excluded.record, cursor = max(cursor, excluded.cursor)`,
    ),
    dropPush: db.prepare('DELETE FROM push WHERE task_id = ? AND id = ?'),
    move: db.prepare('UPDATE push SET cursor = max(cursor, ?) WHERE task_id = ? AND id = ?'),
    putLetter: db.prepare(
      'INSERT OR REPLACE INTO dead_letter (id, task_id, letter) VALUES (?, ?, ?)',
    ),
    dropLetter: db.prepare('DELETE FROM dead_letter WHERE id = ?'),
    putValue: db.prepare(
      'INSERT INTO context_value VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    ),
    dropValue: db.prepare(
      'DELETE FROM context_value WHERE scope = ? AND context_id = ? AND key = ?',
    ),
  }
}
