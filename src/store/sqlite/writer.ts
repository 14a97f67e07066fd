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
  const tasks = createTaskWriter(db, spans)
  const write = createRowWriter(db, { tasks, remove })
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
interface TaskRowWriter {
  write(row: TaskRow): WriteResult
  /** The number of a scope, which gets one where it has none. */
  scopeNumber(scope: ScopeText): number
  /** Before the transaction ends: adds the tasks that it brought to the totals, and cuts lists that became long into spans. */
  addTotals(): void
  /** The transaction was rolled back: its tasks do not count, and numbers that it gave to scopes may go to others. */
  rolledBack(): void
}

/** A writer of tasks on an open connection. */
function createTaskWriter(db: Connection, spans: Spans): TaskRowWriter {
  const scopes = new Scopes(db)
  const totals = new Totals(db)
  const slim = createSlimming(db)
  const insert = createInsert(db, { scopes, totals, spans })
  const update = createUpdate(db, { scopes, spans })
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
    scopeNumber: (scope) => scopes.numberOf(scope),
    addTotals() {
      totals.flush()
      spans.flush()
    },
    rolledBack() {
      totals.forget()
      spans.forget()
      scopes.forget()
    },
  }
}

/** Scopes whose numbers are kept at hand; beyond it they are looked up again. */
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

type WriteTask = (row: TaskRow, artifacts: string | null) => boolean

function createInsert(
  db: Connection,
  { scopes, totals, spans }: { scopes: Scopes; totals: Totals; spans: Spans },
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
    spans.count(number, { contextId, state, timestamp }, 1)
    if (log === null) append(row)
    return true
  }
}

/**
 * SQLite writes every index anew that holds a column which is set, be it to the same value. Most writes of a running task
 * bring records alone, so these are tried first without the columns that indexes hold.
 */
function createUpdate(
  db: Connection,
  { scopes, spans }: { readonly scopes: Scopes; readonly spans: Spans },
): WriteTask {
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
  const place = db.prepare(
    'SELECT context_id AS contextId, state, timestamp FROM task WHERE id = ?',
  )
  /** Writes columns that indexes hold, and counts the task where it is from then on. */
  const move = ([, id, scope, contextId, state, timestamp]: TaskRow, write: () => boolean) => {
    const number = scopes.numberOf(scope)
    const before = spans.has(number) ? place.get(id) : undefined
    if (!write()) return false
    if (before === undefined) return true
    spans.count(number, toTaskPlace(before), -1)
    spans.count(number, { contextId, state, timestamp }, 1)
    return true
  }
  return (row, artifacts) => {
    const [, id, , contextId, state, timestamp, version, busy, generation, build] = row
    const [, , , , , , , , , , expected, snapshot] = row
    const head = [contextId, state, timestamp, version, busy, generation, build] as const
    const grow = (): boolean => {
      const same = [id, expected, contextId, state, timestamp, busy] as const
      return changed(records.run(version, generation, build, ...same))
    }
    const done =
      snapshot === null
        ? grow() || move(row, () => changed(heads.run(...head, id, expected)))
        : move(row, () => changed(wholes.run(...head, version, snapshot, artifacts, id, expected)))
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

const missing: WriteResult = { conflict: 0 }

type RowOf<T extends WriteRow[0]> = Extract<WriteRow, readonly [T, ...unknown[]]>

function createRowWriter(
  db: Connection,
  { tasks, remove }: { readonly tasks: TaskRowWriter; readonly remove: Remove },
): (row: WriteRow) => WriteResult {
  const push = createPushWriter(db)
  const writeValue = createValueWriter(db, tasks)
  const findTask = db.prepare('SELECT number FROM task WHERE id = ?')
  const deleteLetter = db.prepare('DELETE FROM dead_letter WHERE id = ?')
  const deleteTask = (id: string): WriteResult => {
    const number = findTask.get(id)?.number
    if (number === undefined) return missing
    remove(Number(number))
    return { version: 0 }
  }
  return (row) => {
    switch (row[0]) {
      case 'task':
        return tasks.write(row)
      case 'deleteTask':
        return deleteTask(row[1])
      case 'pushConfig':
        return push.write(row)
      case 'deletePushConfig':
        return push.remove(row)
      case 'cursor':
        return push.move(row)
      case 'deleteDeadLetter':
        return changed(deleteLetter.run(row[1])) ? { version: 0 } : missing
      case 'contextValue':
        return writeValue(row)
      case 'refused':
        return { refused: row[1] }
    }
  }
}

function createPushWriter(db: Connection) {
  const version = db.prepare('SELECT version FROM task WHERE id = ?')
  const insert = db.prepare(
    `INSERT INTO push (task_id, id, cursor, record) VALUES (?, ?, ?, ?)
     ON CONFLICT (task_id, id) DO UPDATE SET record = excluded.record, cursor = max(cursor, excluded.cursor)`,
  )
  const remove = db.prepare('DELETE FROM push WHERE task_id = ? AND id = ?')
  const move = db.prepare('UPDATE push SET cursor = max(cursor, ?) WHERE task_id = ? AND id = ?')
  const letter = db.prepare(
    'INSERT OR REPLACE INTO dead_letter (id, task_id, letter) VALUES (?, ?, ?)',
  )
  const result = (taskId: string): WriteResult => {
    const row = version.get(taskId)
    return row ? { version: Number(row.version) } : missing
  }
  return {
    write([, taskId, id, cursor, record]: RowOf<'pushConfig'>): WriteResult {
      const found = result(taskId)
      if ('version' in found) insert.run(taskId, id, cursor, record)
      return found
    },
    remove: ([, taskId, id]: RowOf<'deletePushConfig'>): WriteResult =>
      changed(remove.run(taskId, id)) ? result(taskId) : missing,
    move([, taskId, id, cursor, letterId, text]: RowOf<'cursor'>): WriteResult {
      if (!changed(move.run(cursor, taskId, id))) return missing
      if (letterId !== undefined && text !== undefined) letter.run(letterId, taskId, text)
      return result(taskId)
    },
  }
}

function createValueWriter(
  db: Connection,
  { scopeNumber }: TaskRowWriter,
): (row: RowOf<'contextValue'>) => WriteResult {
  const put = db.prepare(
    'INSERT INTO context_value VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  )
  const remove = db.prepare(
    'DELETE FROM context_value WHERE scope = ? AND context_id = ? AND key = ?',
  )
  return ([, scope, contextId, key, value]) => {
    const place = [scopeNumber(scope), contextId, key] as const
    if (value === null) remove.run(...place)
    else put.run(...place, value)
    return { version: 0 }
  }
}
