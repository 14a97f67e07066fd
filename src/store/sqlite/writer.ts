import type { WriteResult } from '../store.ts'
import type { Remove } from './contexts.ts'
import { type Connection, changed, createTransaction } from './driver.ts'
import type { WriteRow } from './rows.ts'
import { createTaskWriter, type TaskRowWriter } from './task-writer.ts'

/** The writing half of the store: synchronous, on one connection, in its own thread. */
interface Writer {
  /** Makes all writes durable in one transaction, or none. */
  commit(rows: readonly WriteRow[]): readonly WriteResult[]
  /** Finds out whether the file takes writes. */
  probe(): void
}

const missing: WriteResult = { conflict: 0 }

/** A writer on an open, migrated connection. */
export function createWriter(db: Connection, remove: Remove): Writer {
  const tasks = createTaskWriter(db)
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
