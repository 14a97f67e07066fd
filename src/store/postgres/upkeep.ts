import { finishedStates, waitingStates } from '../documents.ts'
import { type Floors, floorsAt, isDue, isPastAll } from '../upkeep.ts'
import type { DatabaseRow, Names } from './connection.ts'
import type { OpenDatabase } from './links.ts'
import { removal } from './rows.ts'

/** How much of the finished tasks is kept. */
export interface RetentionOptions {
  /** Finished tasks to keep, the newest; all by default. */
  readonly maxTasks?: number
  /** How long a finished task is kept, in milliseconds by its status timestamp; for ever by default. */
  readonly maxAgeMs?: number
  /**
   * How long a task may wait for input, in milliseconds, before it is dropped like a finished one; for ever by
   * default.
   */
  readonly maxWaitingMs?: number
}

/** Tasks looked at in one step, so that a commit behind it hardly waits. */
const perStep = 50

/**
 * Makes the function that drops tasks over the limits, oldest first, a step at a time, and says whether there may be more. A
 * task whose webhooks have not seen all of its log stays.
 */
export function createTrimStep(
  db: Pick<OpenDatabase, 'link' | 'names' | 'clock' | 'replica'>,
  limits: RetentionOptions,
): () => Promise<boolean> {
  const { link, names, clock } = db
  const texts = textsIn(names)
  /** How far this round has come: what stays is not looked at again until the next. */
  let place: readonly [timestamp: string, id: string] = ['', '']
  return async () => {
    const { maxTasks } = limits
    const floors = floorsAt(clock.now(), limits)
    let over = 0
    if (maxTasks !== undefined) {
      const [row] = await link.query({ name: 'finished', text: texts.count })
      over = Number(row?.tasks ?? 0) - maxTasks
    }
    const rows = await link.query({
      name: 'oldest',
      text: texts.oldest,
      values: [...place, perStep],
    })
    const due = dueOf(rows, over, floors)
    if (due.length > 0)
      await link.query({ name: 'trim', text: texts.remove, values: [db.replica(), due] })
    const last = rows.at(-1)
    const newest = String(last?.timestamp ?? '')
    const isPast = isPastAll(newest, floors, over - due.length)
    const more = rows.length === perStep && !isPast
    place = more ? [newest, String(last?.id)] : ['', '']
    return more
  }
}

/** @param over How many finished tasks are too many. */
function dueOf(rows: readonly DatabaseRow[], over: number, floors: Floors): string[] {
  const due: string[] = []
  let left = over
  for (const { id, timestamp, finished, waiting, behind } of rows) {
    const task = {
      timestamp: String(timestamp),
      finished: finished === true,
      waiting: waiting === true,
    }
    if (behind === true || !isDue(task, floors, left)) continue
    if (task.finished) left -= 1
    due.push(String(id))
  }
  return due
}

function textsIn(names: Names) {
  const { schema } = names
  const behind = `EXISTS (SELECT 1 FROM ${schema}.push p WHERE p.task_id = t.id AND p.cursor < t.version)`
  return {
    count: `SELECT sum(tasks) AS tasks FROM ${schema}.total WHERE state IN ${finishedStates}`,
    oldest: `SELECT t.id, t.timestamp, t.state IN ${finishedStates} AS finished,
        t.state IN ${waitingStates} AND t.replica IS NULL AS waiting,
        ${behind} AS behind
      FROM ${schema}.task t WHERE (t.timestamp, t.id) > ($1::text, $2::text)
      ORDER BY t.timestamp, t.id LIMIT $3::int`,
    // Looked at again, after a wait for the row: another replica may have gone on with the task, or have dropped it.
    remove: removal(
      names,
      `t.id = ANY ($2::text[]) AND t.replica IS NULL AND NOT ${behind}
       AND (t.state IN ${waitingStates} OR t.state IN ${finishedStates})`,
    ),
  }
}
