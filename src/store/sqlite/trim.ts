import { systemClock } from '../../shared/clock.ts'
import { finishedStates, waitingStates } from '../documents.ts'
import type { PruneLimits } from '../keeper.ts'
import type { TaskCursor } from '../store.ts'
import { type Candidate, type Floors, floorsAt, isDue, isPastAll } from '../upkeep.ts'
import { type Connection, createTransaction, type Statement } from './driver.ts'
import { pragma } from './schema.ts'
import { type Spans, toTaskPlace } from './spans.ts'

/** What may stay of the tasks that do not run. */
export interface TrimRequest extends Floors {
  /** The newest so many of the finished; all where absent. */
  readonly maxTasks: number | undefined
  /** Finished tasks go while the file has more pages in use than this. */
  readonly maxPages: number | undefined
}

/** The limits of retention at a moment. */
export function limitsAt(
  now: number,
  limits: PruneLimits & { readonly maxBytes?: number },
): TrimRequest {
  const { maxTasks, maxBytes } = limits
  const maxPages = maxBytes === undefined ? undefined : toPages(maxBytes * 0.9)
  return { maxTasks, maxPages, ...floorsAt(now, limits) }
}

/** How many pages so many bytes are. */
export function toPages(bytes: number): number {
  return Math.max(1, Math.floor(bytes / 4096))
}

/** How long one step may take, so that a commit behind it hardly waits. */
const budgetMs = 3

/** Rows of a log taken away at once. */
const logRows = 200

/**
 * Drops tasks that are over the limits, oldest first, and shrinks the file: one step of a few milliseconds. A task whose
 * webhooks have not seen all of its log stays. Says whether there is more to do.
 */
export function createTrim(
  db: Connection,
  { remove, spans }: { readonly remove: Remove; readonly spans: Spans },
): (request: TrimRequest) => boolean {
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

  function dropSome(request: TrimRequest): boolean {
    const until = systemClock.elapsed() + budgetMs
    let over = overOf(db, statements.count, request)
    for (const row of statements.oldest.all(place.timestamp, place.id)) {
      const task = toCandidate(row)
      if (!isDue(task, request, over)) {
        if (isPastAll(task.timestamp, request, over)) return false
      } else if (statements.isBehind.get(task.number) === undefined) {
        if (!drop(task.number)) return true
        over -= task.finished ? 1 : 0
      }
      place = task
      if (systemClock.elapsed() >= until) return true
    }
    return statements.oldest.all(place.timestamp, place.id).length > 0
  }

  return (request) => {
    let more: boolean
    try {
      more = transaction(() => {
        const isUnfinished = dropSome(request)
        spans.flush()
        return isUnfinished
      })
    } catch (error) {
      spans.forget() // what is rolled back counts nothing
      throw error
    }
    const shrinking = dropped && shrink(db, statements.vacuum)
    if (more || shrinking) return true
    place = { timestamp: '', id: '' }
    dropped = false
    return false
  }
}

/** Gives pages back to the file system; whether there are more. */
function shrink(db: Connection, vacuum: Statement): boolean {
  const free = pragma(db, 'freelist_count')
  vacuum.all()
  const left = pragma(db, 'freelist_count')
  return left > 0 && left < free
}

/** Pages given back to the file system with each step. */
const vacuumPages = 64

function prepareTrim(db: Connection) {
  return {
    count: db.prepare(`SELECT sum(tasks) AS tasks FROM total WHERE state IN ${finishedStates}`),
    oldest: db.prepare(
      `SELECT number, timestamp, id, state IN ${finishedStates} AS finished,
         state IN ${waitingStates} AND busy = 0 AS waiting
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
function overOf(db: Connection, count: Statement, { maxTasks, maxPages }: TrimRequest): number {
  const pagesInUse = (): number => pragma(db, 'page_count') - pragma(db, 'freelist_count')
  if (maxPages !== undefined && pagesInUse() > maxPages) return Number.POSITIVE_INFINITY
  return maxTasks === undefined ? 0 : Number(count.get()?.tasks ?? 0) - Math.max(0, maxTasks)
}

function toCandidate(
  row: Readonly<Record<string, unknown>>,
): Candidate & TaskCursor & { readonly number: number } {
  return {
    number: Number(row.number),
    timestamp: String(row.timestamp),
    id: String(row.id),
    finished: row.finished === 1,
    waiting: row.waiting === 1,
  }
}

/** Removes a task by its number, and with it all that hangs on it. */
export type Remove = (number: number) => void

/** Removes tasks within a transaction. Triggers take away what is the task's own; here go the values of its context. */
export function createRemove(db: Connection, spans: Spans): Remove {
  const remove = db.prepare(
    'DELETE FROM task WHERE number = ? RETURNING scope, context_id AS contextId, state, timestamp',
  )
  const hasValues = db.prepare('SELECT 1 FROM context_value WHERE scope = ? AND context_id = ?')
  const removeValues = db.prepare('DELETE FROM context_value WHERE scope = ? AND context_id = ?')
  const hasTask = db.prepare(
    'SELECT 1 FROM task INDEXED BY task_by_context WHERE scope = ? AND context_id = ? LIMIT 1',
  )
  return (number) => {
    const row = remove.get(number)
    if (row === undefined) return
    const place = toTaskPlace(row)
    const context = [Number(row.scope), place.contextId] as const
    spans.count(context[0], place, -1)
    if (hasValues.get(...context) !== undefined && hasTask.get(...context) === undefined)
      removeValues.run(...context)
  }
}
