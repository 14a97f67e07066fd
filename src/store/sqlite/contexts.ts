import { systemClock } from '../../shared/clock.ts'
import { type Connection, createTransaction, type Statement } from './driver.ts'

/**
 * Tasks by context. To keep them costs a random page with every new task, so it begins when somebody first asks: triggers
 * then keep `context_task` current, and the tasks that are there already are brought in by small steps, so that no commit
 * waits long. `context_fill` says which are still to come; without a row, all are in.
 */
interface Contexts {
  /** Begins, or goes on with, bringing tasks in; whether there are more to come. */
  fill(): boolean
  /** Whether a context has a task. */
  has(scope: number, contextId: string): boolean
}

/** Tasks brought in between two looks at the time. */
const batch = 50
const budgetMs = 3

const triggers = `
CREATE TRIGGER IF NOT EXISTS context_task_added AFTER INSERT ON task BEGIN
  INSERT OR REPLACE INTO context_task VALUES (new.scope, new.context_id, new.timestamp, new.id, new.number);
END;
CREATE TRIGGER IF NOT EXISTS context_task_moved AFTER UPDATE OF context_id, timestamp ON task
WHEN old.timestamp <> new.timestamp OR old.context_id <> new.context_id BEGIN
  DELETE FROM context_task WHERE scope = old.scope AND context_id = old.context_id
    AND timestamp = old.timestamp AND id = old.id;
  INSERT OR REPLACE INTO context_task VALUES (new.scope, new.context_id, new.timestamp, new.id, new.number);
END;
CREATE TRIGGER IF NOT EXISTS context_task_deleted AFTER DELETE ON task BEGIN
  DELETE FROM context_task WHERE scope = old.scope AND context_id = old.context_id
    AND timestamp = old.timestamp AND id = old.id;
END;
`

/** Tasks by context, on the writing connection. */
export function createContextIndex(db: Connection): Contexts {
  const transaction = createTransaction(db)
  const isReady = createReadiness(db)
  const byContext = 'SELECT 1 FROM context_task WHERE scope = ? AND context_id = ? LIMIT 1'
  const byScope = 'SELECT 1 FROM task WHERE scope = ? AND context_id = ? LIMIT 1'
  const [indexed, scanned] = [db.prepare(byContext), db.prepare(byScope)]
  const fillSome = createFilling(db)
  return {
    fill() {
      if (isReady()) return false
      if (!hasTriggers(db)) transaction(() => begin(db))
      return transaction(fillSome)
    },
    has: (scope, contextId) => (isReady() ? indexed : scanned).get(scope, contextId) !== undefined,
  }
}

/** Says whether a file has all its tasks by context; once it has, it keeps them. */
export function createReadiness(db: Connection): () => boolean {
  const find = db.prepare('SELECT 1 FROM context_fill')
  let ready = false
  return () => {
    ready ||= hasTriggers(db) && find.get() === undefined
    return ready
  }
}

/** Whether a file was left while it was being filled. */
export function isFilling(db: Connection): boolean {
  return db.prepare('SELECT 1 FROM context_fill').get() !== undefined
}

function hasTriggers(db: Connection): boolean {
  const find = "SELECT 1 FROM sqlite_schema WHERE name = 'context_task_deleted'"
  return db.prepare(find).get() !== undefined
}

function begin(db: Connection): void {
  db.exec(triggers)
  db.exec(
    `INSERT OR REPLACE INTO context_fill
     SELECT 1, min(number), max(number) FROM task HAVING max(number) IS NOT NULL`,
  )
}

function createFilling(db: Connection): () => boolean {
  const find = db.prepare('SELECT next, last FROM context_fill')
  const move = db.prepare('UPDATE context_fill SET next = ?')
  const end = db.prepare('DELETE FROM context_fill')
  const bring: Statement = db.prepare(
    `INSERT OR IGNORE INTO context_task
     SELECT scope, context_id, timestamp, id, number FROM task WHERE number BETWEEN ? AND ?`,
  )
  return () => {
    const row = find.get()
    if (row === undefined) return false
    const last = Number(row.last)
    const until = systemClock.elapsed() + budgetMs
    let next = Number(row.next)
    while (next <= last && systemClock.elapsed() < until) {
      bring.run(next, next + batch - 1)
      next += batch
    }
    if (next > last) end.run()
    else move.run(next)
    return next <= last
  }
}

/** Removes a task by its number, and with it all that hangs on it. */
export type Remove = (number: number) => void

/** Removes tasks within a transaction. Triggers take away what is the task's own; here go the values of its context. */
export function createRemove(db: Connection, contexts: Pick<Contexts, 'has'>): Remove {
  const remove = db.prepare('DELETE FROM task WHERE number = ? RETURNING scope, context_id')
  const hasValues = db.prepare('SELECT 1 FROM context_value WHERE scope = ? AND context_id = ?')
  const removeValues = db.prepare('DELETE FROM context_value WHERE scope = ? AND context_id = ?')
  return (number) => {
    const row = remove.get(number)
    if (row === undefined) return
    const [scope, contextId] = [Number(row.scope), String(row.context_id)]
    if (hasValues.get(scope, contextId) === undefined || contexts.has(scope, contextId)) return
    removeValues.run(scope, contextId)
  }
}
