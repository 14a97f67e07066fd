import { systemClock } from '../../shared/clock.ts'
import type { TaskCursor } from '../store.ts'
import { type Connection, createTransaction, type Statement } from './driver.ts'
import { pragma } from './schema.ts'

/** What may stay of the tasks that do not run. */
export interface TrimRequest {
  /** The newest so many of the finished; all where absent. */
  readonly maxTasks: number | undefined
  /** Those that finished at this time or later; all where absent. */
  readonly floor: string | undefined
  /** Those that have been waiting for input since this time or later; all where absent. */
  readonly waitingFloor: string | undefined
  /** Finished tasks go while the file has more pages in use than this. */
  readonly maxPages: number | undefined
}

/** How long one step may take, so that a commit behind it hardly waits. */
const budgetMs = 3

/** Rows of a log taken away at once. */
const logRows = 200

/**
 * Drops tasks that are over the limits, oldest first, and shrinks the file: one step of a few milliseconds. A task whose
 * webhooks have not seen all of its log stays. Says whether there is more to do.
 */
export function createTrim(db: Connection, remove: Remove): (request: TrimRequest) => boolean {
  const transaction = createTransaction(db)
  const statements = prepareTrim(db)
  /** How far this round has come: what stays is not looked at again until the next. */
  let place: TaskCursor = { timestamp: '', id: '' }
  let dropped = false

  /** Takes away one task, or a part of its log where that is long; whether the task is gone. */
  function drop(number: number): boolean {
    dropped = true
    if (Number(statements.shorten.run(number, logRows).changes) === logRows) return false
    remove(number)
    return true
  }

  function step(request: TrimRequest): boolean {
    const until = systemClock.elapsed() + budgetMs
    let over = overOf(db, statements, request)
    for (const row of statements.oldest.all(place.timestamp, place.id)) {
      const task = toCandidate(row)
      if (!isDue(task, request, over)) {
        if (isPastAll(task, request, over)) return false
      } else if (statements.isBehind.get(task.number) === undefined) {
        if (!drop(task.number)) return true
        over -= task.finished ? 1 : 0
      }
      place = task
      if (systemClock.elapsed() >= until) return true
    }
    return statements.oldest.all(place.timestamp, place.id).length > 0
  }

  /** Gives pages back to the file system; whether there are more. */
  function shrink(): boolean {
    const free = pragma(db, 'freelist_count')
    statements.vacuum.all()
    const left = pragma(db, 'freelist_count')
    return left > 0 && left < free
  }

  return (request) => {
    const more = transaction(() => step(request))
    const shrinking = dropped && shrink()
    if (more || shrinking) return true
    place = { timestamp: '', id: '' }
    dropped = false
    return false
  }
}

/** Pages given back to the file system with each step. */
const vacuumPages = 64

const finished =
  "('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED')"

interface TrimStatements {
  readonly count: Statement
  readonly oldest: Statement
  readonly isBehind: Statement
  readonly shorten: Statement
  readonly vacuum: Statement
}

function prepareTrim(db: Connection): TrimStatements {
  return {
    count: db.prepare(`SELECT sum(tasks) AS tasks FROM total WHERE state IN ${finished}`),
    oldest: db.prepare(
      `SELECT number, timestamp, id, state IN ${finished} AS finished,
         state IN ('TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED') AND busy = 0 AS waiting
       FROM task INDEXED BY task_of_all WHERE (timestamp, id) > (?, ?) ORDER BY timestamp, id LIMIT 50`,
    ),
    isBehind: db.prepare(
      `SELECT 1 FROM task JOIN push ON push.task_id = task.id
       WHERE task.number = ? AND push.cursor < task.version`,
    ),
    shorten: db.prepare(
      `DELETE FROM log WHERE place IN
         (SELECT place FROM log WHERE place > ?1 << 31 AND place < (?1 + 1) << 31 ORDER BY place LIMIT ?2)`,
    ),
    vacuum: db.prepare(`PRAGMA incremental_vacuum(${vacuumPages})`),
  }
}

/** How many finished tasks are too many. Of a file that is too large, the oldest ones go until it is not. */
function overOf(
  db: Connection,
  { count }: TrimStatements,
  { maxTasks, maxPages }: TrimRequest,
): number {
  const pagesInUse = (): number => pragma(db, 'page_count') - pragma(db, 'freelist_count')
  if (maxPages !== undefined && pagesInUse() > maxPages) return Number.POSITIVE_INFINITY
  return maxTasks === undefined ? 0 : Number(count.get()?.tasks ?? 0) - Math.max(0, maxTasks)
}

interface Candidate extends TaskCursor {
  readonly number: number
  readonly finished: boolean
  readonly waiting: boolean
}

function toCandidate(row: Readonly<Record<string, unknown>>): Candidate {
  return {
    number: Number(row.number),
    timestamp: String(row.timestamp),
    id: String(row.id),
    finished: row.finished === 1,
    waiting: row.waiting === 1,
  }
}

function isDue(
  { timestamp, finished, waiting }: Candidate,
  request: TrimRequest,
  over: number,
): boolean {
  if (waiting) return timestamp < (request.waitingFloor ?? '')
  return finished && (over > 0 || timestamp < (request.floor ?? ''))
}

/** Whether nothing that is newer than this task can be due. */
function isPastAll(
  { timestamp }: Candidate,
  { floor = '', waitingFloor = '' }: TrimRequest,
  over: number,
): boolean {
  return over <= 0 && timestamp >= floor && timestamp >= waitingFloor
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

/**
 * Tasks by context. To keep them costs a random page with every new task, so it begins with the first request: triggers
 * then keep `context_task` current, and the tasks that are there already are brought in by small steps, so that no commit
 * waits long. `context_fill` says which are still to come; without a row, all are in.
 */
interface Contexts {
  /** Begins, or goes on with, bringing tasks in; whether there are more to come. */
  fill(): boolean
  /** Whether a context has a task. */
  has(scope: number, contextId: string): boolean
}

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
      if (!hasTriggers(db))
        transaction(() => {
          db.exec(triggers)
          db.exec(
            `INSERT OR REPLACE INTO context_fill
     SELECT 1, min(number), max(number) FROM task HAVING max(number) IS NOT NULL`,
          )
        })
      return transaction(fillSome)
    },
    has: (scope, contextId) => (isReady() ? indexed : scanned).get(scope, contextId) !== undefined,
  }
}

/** Tasks brought in between two looks at the time. */
const batch = 50

function createFilling(db: Connection): () => boolean {
  const find = db.prepare('SELECT next, last FROM context_fill')
  const move = db.prepare('UPDATE context_fill SET next = ?')
  const end = db.prepare('DELETE FROM context_fill')
  const bring = db.prepare(
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

/** Says whether a file has all its tasks by context; once it has, it keeps them. */
export function createReadiness(db: Connection): () => boolean {
  const find = db.prepare('SELECT 1 FROM context_fill')
  let ready = false
  return () => {
    ready ||= hasTriggers(db) && find.get() === undefined
    return ready
  }
}

function hasTriggers(db: Connection): boolean {
  const find = "SELECT 1 FROM sqlite_schema WHERE name = 'context_task_deleted'"
  return db.prepare(find).get() !== undefined
}

/** Whether a file was left while it was being filled. */
export function isFilling(db: Connection): boolean {
  return db.prepare('SELECT 1 FROM context_fill').get() !== undefined
}
