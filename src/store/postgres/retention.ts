import { type Clock, toTimestamp } from '../../shared/clock.ts'
import type { DatabaseRow } from './connection.ts'
import type { DatabaseLink } from './link.ts'
import type { Names } from './names.ts'
import { removal } from './removal.ts'

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

/** Drops tasks that are over the limits, oldest first, a step at a time; says whether there may be more. */
export type TrimStep = () => Promise<boolean>

/** What steps are made with. */
interface TrimOptions {
  readonly link: DatabaseLink
  readonly names: Names
  replica(): number
  readonly clock: Clock
}

/** Whether nothing is ever dropped. */
export function keepsAll({ maxTasks, maxAgeMs, maxWaitingMs }: RetentionOptions): boolean {
  return [maxTasks, maxAgeMs, maxWaitingMs].every((limit) => limit === undefined)
}

/** Steps of retention. A task whose webhooks have not seen all of its log stays. */
export function createTrimStep(options: TrimOptions, limits: RetentionOptions): TrimStep {
  const { link, names, clock } = options
  const texts = textsIn(names)
  /** How far this round has come: what stays is not looked at again until the next. */
  let place: readonly [timestamp: string, id: string] = ['', '']
  return async () => {
    const { maxTasks, maxAgeMs, maxWaitingMs } = limits
    const floor = floorOf(clock, maxAgeMs)
    const waitingFloor = floorOf(clock, maxWaitingMs)
    const over = maxTasks === undefined ? 0 : (await finishedIn(link, texts.count)) - maxTasks
    const rows = await link.query({
      name: 'oldest',
      text: texts.oldest,
      values: [...place, perStep],
    })
    const due = dueOf(rows, { over, floor, waitingFloor })
    if (due.length > 0)
      await link.query({ name: 'trim', text: texts.remove, values: [options.replica(), due] })
    const last = rows.at(-1)
    const newest = String(last?.timestamp ?? '')
    const isPast = over <= due.length && newest >= floor && newest >= waitingFloor
    const more = rows.length === perStep && !isPast
    place = more ? [newest, String(last?.id)] : ['', '']
    return more
  }
}

/** Empty text is before every timestamp. */
function floorOf(clock: Clock, ms: number | undefined): string {
  return ms === undefined ? '' : toTimestamp(clock.now() - ms)
}

async function finishedIn(link: DatabaseLink, text: string): Promise<number> {
  const [row] = await link.query({ name: 'finished', text })
  return Number(row?.tasks ?? 0)
}

interface Limits {
  /** How many finished tasks are too many. */
  readonly over: number
  readonly floor: string
  readonly waitingFloor: string
}

function dueOf(rows: readonly DatabaseRow[], { over, floor, waitingFloor }: Limits): string[] {
  const due: string[] = []
  let left = over
  for (const { id, timestamp, finished, waiting, behind } of rows) {
    if (behind === true) continue
    const isOld = String(timestamp) < (waiting === true ? waitingFloor : floor)
    if (waiting === true ? !isOld : finished !== true || (left <= 0 && !isOld)) continue
    if (finished === true) left -= 1
    due.push(String(id))
  }
  return due
}

function textsIn(names: Names) {
  const { schema } = names
  const finished =
    "('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED')"
  const behind = `EXISTS (SELECT 1 FROM ${schema}.push p WHERE p.task_id = t.id AND p.cursor < t.version)`
  return {
    count: `SELECT sum(tasks) AS tasks FROM ${schema}.total WHERE state IN ${finished}`,
    oldest: `SELECT t.id, t.timestamp, t.state IN ${finished} AS finished,
        t.state IN ('TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED') AND t.replica IS NULL AS waiting,
        ${behind} AS behind
      FROM ${schema}.task t WHERE (t.timestamp, t.id) > ($1::text, $2::text)
      ORDER BY t.timestamp, t.id LIMIT $3::int`,
    // Looked at again, after a wait for the row: another replica may have gone on with the task, or have dropped it.
    remove: removal(
      names,
      `t.id = ANY ($2::text[]) AND t.replica IS NULL AND NOT ${behind}
       AND t.state IN ('TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED', ${finished.slice(1)}`,
    ),
  }
}
