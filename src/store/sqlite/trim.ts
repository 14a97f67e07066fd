import type { Connection, Statement } from './driver.ts'
import { createTransaction } from './writer.ts'

/** What of the finished tasks may stay. */
export interface TrimRequest {
  /** The newest so many; all where absent. */
  readonly maxTasks: number | undefined
  /** Those with this status timestamp or a later one; all where absent. */
  readonly floor: string | undefined
}

/** Tasks dropped in one transaction: few enough that a commit waiting behind it hardly notices. */
const step = 500

/** Pages given back to the file system after a step. */
const vacuumPages = 1_000

const finished =
  "state IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED')"

/**
 * Drops finished tasks that are over the limits, oldest first, and shrinks the file. A task whose webhooks have not
 * seen all of its log stays. Says whether there is more to drop.
 */
export function createTrim(db: Connection): (request: TrimRequest) => boolean {
  const transaction = createTransaction(db)
  let statements: TrimStatements | undefined
  return ({ maxTasks, floor }) => {
    statements ??= prepareTrim(db)
    const { count, drop, vacuum } = statements
    const over =
      maxTasks === undefined ? 0 : Number(count.get()?.tasks ?? 0) - Math.max(0, maxTasks)
    const dropped = transaction(() => {
      const old = floor === undefined ? 0 : Number(drop.run(floor, step).changes)
      const many = Math.min(step, over - old)
      // '~' sorts after every timestamp.
      return old + (many > 0 ? Number(drop.run('~', many).changes) : 0)
    })
    if (dropped > 0) vacuum.all()
    return dropped >= step
  }
}

interface TrimStatements {
  readonly count: Statement
  readonly drop: Statement
  readonly vacuum: Statement
}

function prepareTrim(db: Connection): TrimStatements {
  db.exec(`CREATE INDEX IF NOT EXISTS task_finished ON task (timestamp) WHERE ${finished}`)
  return {
    count: db.prepare(`SELECT sum(tasks) AS tasks FROM total WHERE ${finished}`),
    drop: db.prepare(
      `DELETE FROM task WHERE number IN (
         SELECT number FROM task INDEXED BY task_finished
         WHERE ${finished} AND timestamp < ?
           AND NOT EXISTS (SELECT 1 FROM push WHERE task_id = task.id AND cursor < task.version)
         ORDER BY timestamp LIMIT ?)`,
    ),
    vacuum: db.prepare(`PRAGMA incremental_vacuum(${vacuumPages})`),
  }
}
