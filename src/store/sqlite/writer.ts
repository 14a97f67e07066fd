import type { WriteResult } from '../store.ts'
import type { Connection, Statement } from './driver.ts'
import type { WriteRow } from './rows.ts'
import { createTaskWriter, type TaskWriter } from './task-writer.ts'

/** The writing half of the store: synchronous, on one connection, in its own thread. */
export interface Writer {
  /** Makes all writes durable in one transaction, or none. */
  commit(rows: readonly WriteRow[]): readonly WriteResult[]
  /** Finds out whether the file takes writes. */
  probe(): void
}

const missing: WriteResult = { conflict: 0 }

/** A writer on an open, migrated connection. */
export function createWriter(db: Connection): Writer {
  const tasks = createTaskWriter(db)
  const write = createRowWriter(db, tasks)
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

/** Runs work in a transaction that takes the write lock at once. */
export function createTransaction(db: Connection): <T>(work: () => T) => T {
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')]
  return (work) => {
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (error) {
      rollback(db)
      throw error
    }
  }
}

/** SQLite rolls back by itself after some errors (a full disk); a second time is then itself an error. */
function rollback(db: Connection): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // The transaction is gone, which is what was wanted; the first error is the one to report.
  }
}

type RowOf<T extends WriteRow[0]> = Extract<WriteRow, readonly [T, ...unknown[]]>

function createRowWriter(
  db: Connection,
  tasks: Pick<TaskWriter, 'write' | 'scopeNumber'>,
): (row: WriteRow) => WriteResult {
  const push = createPushWriter(db)
  const writeValue = createValueWriter(db, tasks)
  const deleteTask = db.prepare('DELETE FROM task WHERE id = ?')
  const deleteLetter = db.prepare('DELETE FROM dead_letter WHERE id = ?')
  const deleted = (statement: Statement, id: string): WriteResult =>
    changed(statement.run(id)) ? { version: 0 } : missing
  return (row) => {
    switch (row[0]) {
      case 'task':
        return tasks.write(row)
      case 'deleteTask':
        return deleted(deleteTask, row[1])
      case 'pushConfig':
        return push.write(row)
      case 'deletePushConfig':
        return push.remove(row)
      case 'cursor':
        return push.move(row)
      case 'deleteDeadLetter':
        return deleted(deleteLetter, row[1])
      case 'contextValue':
        return writeValue(row)
    }
  }
}

function createValueWriter(
  db: Connection,
  { scopeNumber }: Pick<TaskWriter, 'scopeNumber'>,
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

interface PushWriter {
  write(row: RowOf<'pushConfig'>): WriteResult
  remove(row: RowOf<'deletePushConfig'>): WriteResult
  move(row: RowOf<'cursor'>): WriteResult
}

function createPushWriter(db: Connection): PushWriter {
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
    write([, taskId, id, cursor, record]) {
      const found = result(taskId)
      if ('version' in found) insert.run(taskId, id, cursor, record)
      return found
    },
    remove: ([, taskId, id]) => (changed(remove.run(taskId, id)) ? result(taskId) : missing),
    move([, taskId, id, cursor, letterId, text]) {
      if (!changed(move.run(cursor, taskId, id))) return missing
      if (letterId !== undefined && text !== undefined) letter.run(letterId, taskId, text)
      return result(taskId)
    },
  }
}

/** Whether a statement changed a row. */
export function changed({ changes }: { readonly changes: number | bigint }): boolean {
  return Number(changes) > 0
}
