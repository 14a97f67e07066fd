import {
  afterAll,
  firstSpan,
  groupMark,
  groupSpans,
  listOf,
  sampleEvery,
  spanTasks,
  uncounted,
  ungrouped,
} from '../spans.ts'
import { type Connection, createPrepared, type Row, type Statement } from './driver.ts'

/** Where a task is in the lists of its scope. */
interface TaskPlace {
  readonly contextId: string
  readonly state: string
  readonly timestamp: string
}

/** Reads a place from a row. */
export function toTaskPlace({ contextId, state, timestamp }: Row): TaskPlace {
  return {
    contextId: String(contextId),
    state: String(state),
    timestamp: String(timestamp),
  }
}

/** Where the spans of a long list begin, or its groups; by the name of the list. */
type ScopeSpans = Map<string, string[]>

/** A span, or a group of them, and where the next one begins. */
interface CountedSpan {
  readonly since: string
  readonly tasks: number
  readonly next: string
}

/** A change of one count within the transaction. */
interface SpanStep {
  readonly scope: number
  readonly list: string
  readonly since: string
  readonly state: string
  tasks: number
}

/**
 * Counts the tasks of long lists on the writing connection, in spans of time; see ../spans.ts. Changes are collected, so that
 * each count is written once per transaction; where no list is long, nothing is written.
 */
export class Spans {
  readonly #prepared: (sql: string) => Statement
  #scopes: Map<number, ScopeSpans> | undefined
  #steps = new Map<string, SpanStep>()
  #samples: (readonly [scope: number, contextId: string])[] = []
  #writes = 0

  constructor(db: Connection) {
    this.#prepared = createPrepared(db)
  }

  /** Whether a scope has a long list. */
  has(scope: number): boolean {
    return this.#known.has(scope)
  }

  /** Counts a task that has come to a place (1) or has left it (-1). */
  count(scope: number, place: TaskPlace, step: 1 | -1): void {
    if (step === 1) this.#sample(scope, place)
    const spans = this.#known.get(scope)
    if (spans === undefined) return
    for (const list of [listOf(undefined), listOf(place.contextId)])
      for (const name of [list, groupMark + list]) {
        const starts = spans.get(name)
        if (starts) this.#add(starts, { scope, list: name, place, step })
      }
  }

  /** Before the transaction ends: writes the counts, and cuts lists that have become long. */
  flush(): void {
    if (this.#steps.size > 0) this.#write()
    for (const [scope, contextId] of this.#samples) {
      this.#cut(scope, undefined)
      this.#cut(scope, contextId)
    }
    this.#samples = []
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#scopes = undefined
    this.#steps.clear()
    this.#samples = []
  }

  get #known(): Map<number, ScopeSpans> {
    this.#scopes ??= this.#read()
    return this.#scopes
  }

  #read(): Map<number, ScopeSpans> {
    const scopes = new Map<number, ScopeSpans>()
    const sql = "SELECT DISTINCT scope, list, since FROM span WHERE since <> '' ORDER BY 1, 2, 3"
    for (const { scope, list, since } of this.#prepared(sql).all()) {
      const spans: ScopeSpans = scopes.get(Number(scope)) ?? new Map()
      scopes.set(Number(scope), spans)
      const starts = spans.get(String(list))
      if (starts) starts.push(String(since))
      else spans.set(String(list), [String(since)])
    }
    return scopes
  }

  #sample(scope: number, { contextId }: TaskPlace): void {
    this.#writes = (this.#writes + 1) % sampleEvery
    if (this.#writes === 0) this.#samples.push([scope, contextId])
  }

  #add(
    starts: readonly string[],
    { scope, list, place, step }: { scope: number; list: string; place: TaskPlace; step: 1 | -1 },
  ): void {
    const { state, timestamp } = place
    // Most tasks are the newest.
    let at = starts.length - 1
    while (at > 0 && String(starts[at]) > timestamp) at -= 1
    const since = starts[at] ?? firstSpan
    const key = `${scope} ${state} ${since}${list}`
    const known = this.#steps.get(key)
    if (known) known.tasks += step
    else this.#steps.set(key, { scope, list, since, state, tasks: step })
  }

  /** The row of a whole list is kept for lists of contexts only: the table `total` counts those of scopes. */
  #write(): void {
    const put = this.#prepared(
      'INSERT INTO span VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks',
    )
    for (const { scope, list, since, state, tasks } of this.#steps.values()) {
      if (tasks === 0) continue
      put.run(scope, list, since, state, tasks)
      if (list.startsWith(':')) put.run(scope, list, '', state, tasks)
    }
    this.#steps.clear()
  }

  /** Creates the spans of a list that has become long, cuts spans that have become long, and removes empty ones. */
  #cut(scope: number, contextId: string | undefined): void {
    const list = listOf(contextId)
    const groups = new Set<string>([firstSpan])
    for (const { since, tasks } of this.#counted(scope, groupMark + list))
      if (tasks > 0) groups.add(since)
      else if (since !== firstSpan) this.#remove(scope, groupMark + list, since)
    const spans = this.#counted(scope, list)
    if (spans.length === 0) this.#begin(scope, contextId)
    for (const { since, tasks, next } of spans) {
      // The first span of a group stays with it.
      const isEmpty = tasks === 0 && !groups.has(since)
      if (!isEmpty && tasks <= uncounted) continue
      this.#remove(scope, list, since)
      if (!isEmpty) this.#fill(scope, contextId, { since, next })
    }
    this.#group(scope, list, [...groups])
  }

  /** The spans of a list, or its groups, in order. */
  #counted(scope: number, list: string): readonly CountedSpan[] {
    const sql = `SELECT since, sum(tasks) AS tasks, coalesce(lead(since) OVER (ORDER BY since), '${afterAll}') AS next
      FROM span WHERE scope = ? AND list = ? AND since <> '' GROUP BY since ORDER BY since`
    return this.#prepared(sql)
      .all(scope, list)
      .map(({ since, tasks, next }) => ({
        since: String(since),
        tasks: Number(tasks),
        next: String(next),
      }))
  }

  #remove(scope: number, list: string, since: string): void {
    this.#prepared('DELETE FROM span WHERE scope = ? AND list = ? AND since = ?').run(
      scope,
      list,
      since,
    )
    this.#scopes = undefined
  }

  /** Creates the groups of a list, and cuts those that have become long. */
  #group(scope: number, list: string, starts: readonly string[]): void {
    const isLong = `SELECT 1 FROM (SELECT DISTINCT since FROM span WHERE scope = ? AND list = ? AND since >= ? AND since < ?)
      LIMIT 1 OFFSET ${ungrouped}`
    for (const [i, since] of starts.entries()) {
      const place = [scope, list, since, starts[i + 1] ?? afterAll] as const
      if (this.#prepared(isLong).get(...place) === undefined) continue
      this.#remove(scope, groupMark + list, since)
      this.#prepared(
        `INSERT INTO span SELECT scope, '${groupMark}' || list, first, state, sum(tasks) FROM (
           SELECT *, min(since) OVER (PARTITION BY place) AS first FROM (
             SELECT *, (dense_rank() OVER (ORDER BY since) - 1) / ${groupSpans} AS place FROM span
             WHERE scope = ? AND list = ? AND since >= ? AND since < ?))
         GROUP BY first, state`,
      ).run(...place)
    }
  }

  #begin(scope: number, contextId: string | undefined): void {
    const values = contextId === undefined ? [scope] : [scope, contextId]
    const isLong = `SELECT 1 ${listed(contextId)} LIMIT 1 OFFSET ${uncounted}`
    if (this.#prepared(isLong).get(...values) === undefined) return
    if (contextId !== undefined)
      this.#prepared(
        `INSERT INTO span SELECT ?, ?, '', state, count(*) ${listed(contextId)} GROUP BY state`,
      ).run(scope, listOf(contextId), ...values)
    this.#fill(scope, contextId, { since: firstSpan, next: afterAll })
    this.#scopes = undefined
  }

  /** Counts the tasks of a list between two moments, in spans. */
  #fill(
    scope: number,
    contextId: string | undefined,
    { since, next }: { readonly since: string; readonly next: string },
  ): void {
    this.#prepared(
      `INSERT INTO span SELECT ?, ?, CASE place WHEN 0 THEN ? ELSE min(first) END, state, count(*) FROM (
         SELECT place, state, min(timestamp) OVER (PARTITION BY place) AS first FROM (
           SELECT state, timestamp, (rank() OVER (ORDER BY timestamp) - 1) / ${spanTasks} AS place
           ${listed(contextId)} AND timestamp >= ? AND timestamp < ?))
       GROUP BY place, state`,
    ).run(
      ...[scope, listOf(contextId), since],
      ...(contextId === undefined ? [scope] : [scope, contextId]),
      ...[since, next],
    )
  }
}

/** The tasks of a list; binds the scope, and the context where there is one. */
function listed(contextId: string | undefined): string {
  return contextId === undefined
    ? 'FROM task INDEXED BY task_by_time WHERE scope = ?'
    : 'FROM task INDEXED BY task_by_context WHERE scope = ? AND context_id = ?'
}
