import { A2AError } from '../../protocol/errors.ts'
import { finishedStates, waitingStates } from '../documents.ts'
import { listOf, sampleEvery } from '../spans.ts'
import { type Floors, floorsAt, isDue, isPastAll } from '../upkeep.ts'
import { type DatabaseRow, isCollision, type Names } from './connection.ts'
import type { OpenDatabase, Readers } from './links.ts'
import { removal } from './rows.ts'
import { cutting, hasMore } from './schema.ts'

/** The most lists that wait to be checked, and the most that are remembered because their cut failed. */
const maxLists = 100

type ListKey = readonly [scope: string, list: string]

/**
 * Checks the lists of a sample of the written tasks, and cuts those that have become long into spans; see ../spans.ts. No
 * commit of this process waits behind it: it has a connection of the readers.
 */
export class LongLists {
  readonly #readers: Pick<Readers, 'run'>
  readonly #schema: string
  #lists: ListKey[] = []
  /** Lists not to cut again: an attempt failed, as by a statement's timeout. Their totals stay exact and take longer. */
  readonly #failed = new Set<string>()
  #writes = 0
  #isCutting = false

  constructor(readers: Pick<Readers, 'run'>, { schema }: Names) {
    this.#readers = readers
    this.#schema = schema
  }

  /** Called before a task is written; `scope` is the value of its column. */
  writing(scope: string, contextId: string): void {
    this.#writes = (this.#writes + 1) % sampleEvery
    if (this.#writes !== 0 || this.#lists.length >= maxLists) return
    this.#lists.push([scope, listOf(contextId)], [scope, listOf(undefined)])
  }

  /** Checks the sampled lists, one after the other. A list that another replica has locked is sampled again later. */
  async cut(): Promise<void> {
    if (this.#isCutting) return
    this.#isCutting = true
    for (let list = this.#lists.shift(); list; list = this.#lists.shift()) await this.#cutList(list)
    this.#isCutting = false
  }

  async #cutList(values: ListKey): Promise<void> {
    const key = JSON.stringify(values)
    if (this.#failed.has(key)) return
    const statement = { ...cutting(this.#schema), values: [...values] }
    try {
      while (hasMore(await this.#readers.run(statement)));
    } catch (error) {
      if (isCollision(error) || error instanceof A2AError) return
      this.#failed.add(key)
      const [oldest] = this.#failed
      if (this.#failed.size > maxLists && oldest !== undefined) this.#failed.delete(oldest)
    }
  }
}

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
