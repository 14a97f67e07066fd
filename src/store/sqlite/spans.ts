import { afterAll, firstSpan, listOf, sampleEvery, spanTasks, uncounted } from '../spans.ts'
import type { Connection, Row, Statement } from './driver.ts'

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

/** The spans of a scope's long lists: where each begins, in order. */
interface ScopeSpans {
  own: string[] | undefined
  readonly contexts: Map<string, string[]>
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
  readonly #db: Connection
  readonly #statements = new Map<string, Statement>()
  #scopes: Map<number, ScopeSpans> | undefined
  #steps = new Map<string, SpanStep>()
  #samples: (readonly [scope: number, contextId: string])[] = []
  #writes = 0

  constructor(db: Connection) {
    this.#db = db
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
    if (spans.own) this.#add(spans.own, { scope, list: listOf(undefined), place, step })
    const ofContext = spans.contexts.get(place.contextId)
    if (ofContext) this.#add(ofContext, { scope, list: listOf(place.contextId), place, step })
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
      const spans = scopes.get(Number(scope)) ?? { own: undefined, contexts: new Map() }
      scopes.set(Number(scope), spans)
      const contextId = String(list).slice(1)
      const starts = (list === '' ? spans.own : spans.contexts.get(contextId)) ?? []
      starts.push(String(since))
      if (list === '') spans.own = starts
      else spans.contexts.set(contextId, starts)
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
      if (list !== '') put.run(scope, list, '', state, tasks)
    }
    this.#steps.clear()
  }

  /** Creates the spans of a list that has become long, cuts spans that have become long, and removes empty ones. */
  #cut(scope: number, contextId: string | undefined): void {
    const place = [scope, listOf(contextId)] as const
    const spans = this.#prepared(
      `SELECT since, sum(tasks) AS tasks FROM span WHERE scope = ? AND list = ? AND since <> '' GROUP BY since`,
    ).all(...place)
    if (spans.length === 0) this.#begin(scope, contextId)
    for (const [i, { since, tasks }] of spans.entries()) {
      const isEmpty = Number(tasks) === 0 && since !== firstSpan
      if (!isEmpty && Number(tasks) <= uncounted) continue
      const remove = 'DELETE FROM span WHERE scope = ? AND list = ? AND since = ?'
      this.#prepared(remove).run(...place, String(since))
      const next = String(spans[i + 1]?.since ?? afterAll)
      if (!isEmpty) this.#fill(scope, contextId, { since: String(since), next })
      this.#scopes = undefined
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

  #prepared(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

/** The tasks of a list; binds the scope, and the context where there is one. */
function listed(contextId: string | undefined): string {
  return contextId === undefined
    ? 'FROM task INDEXED BY task_by_time WHERE scope = ?'
    : 'FROM task INDEXED BY task_by_context WHERE scope = ? AND context_id = ?'
}
