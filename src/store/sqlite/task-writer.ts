import type { WriteResult } from '../store.ts'
import type { Connection } from './driver.ts'
import type { ScopeColumns, TaskRow } from './rows.ts'

/** Scopes whose numbers are kept at hand; beyond it they are looked up again. */
const maxScopes = 10_000

/** Writes tasks and their logs, each with its version checked. */
export interface TaskWriter {
  write(row: TaskRow): WriteResult
  /** The number of a scope, which gets one where it has none. */
  scopeNumber(scope: ScopeColumns): number
  /** Before the transaction ends: adds the tasks that it brought to the totals. */
  addTotals(): void
  /** The transaction was rolled back: its tasks do not count, and numbers that it gave to scopes may go to others. */
  rolledBack(): void
}

/** A writer of tasks on an open connection. */
export function createTaskWriter(db: Connection): TaskWriter {
  const scopes = createScopes(db)
  const totals = createTotals(db)
  const insert = createInsert(db, { scopes, totals })
  const update = createUpdate(db)
  const version = db.prepare('SELECT version FROM task WHERE id = ?')
  const byKey = db.prepare('SELECT id FROM task WHERE scope = ? AND idempotency_key = ?')
  return {
    write(row) {
      const [, id, scope, [, , , next], expected, , , , key] = row
      if (key !== null) {
        const existing = byKey.get(scopes.numberOf(scope), key)
        if (existing) return { existing: String(existing.id) }
      }
      const done = expected === 0 ? insert(row) : update(row)
      return done ? { version: next } : { conflict: Number(version.get(id)?.version ?? 0) }
    },
    scopeNumber: scopes.numberOf,
    addTotals: totals.flush,
    rolledBack() {
      totals.forget()
      scopes.forget()
    },
  }
}

/** New tasks by scope and state. */
interface Totals {
  count(scope: number, state: string): void
  flush(): void
  forget(): void
}

/** The numbers of scopes. */
interface Scopes {
  numberOf(scope: ScopeColumns): number
  forget(): void
}

function createInsert(
  db: Connection,
  { scopes, totals }: { readonly scopes: Scopes; readonly totals: Totals },
): (row: TaskRow) => boolean {
  const insert = db.prepare(
    `INSERT INTO task (id, scope, context_id, state, timestamp, version, busy, generation, build,
       snapshot_version, idempotency_key, snapshot, log)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  )
  const append = createAppend(db)
  return (row) => {
    const [, id, scope, head, , snapshot, records, inline, key] = row
    const [, state, , version] = head
    const number = scopes.numberOf(scope)
    const log = inline ? records : null
    const { changes } = insert.run(id, number, ...head, version, key, snapshot, log)
    if (Number(changes) === 0) return false
    totals.count(number, state)
    if (!inline) append(id, version, records)
    return true
  }
}

function createUpdate(db: Connection): (row: TaskRow) => boolean {
  const columns =
    'context_id = ?, state = ?, timestamp = ?, version = ?, busy = ?, generation = ?, build = ?'
  const heads = db.prepare(`UPDATE task SET ${columns} WHERE id = ? AND version = ?`)
  const wholes = db.prepare(
    `UPDATE task SET ${columns}, snapshot_version = ?, snapshot = ? WHERE id = ? AND version = ?`,
  )
  const append = createAppend(db)
  return (row) => {
    const [, id, , head, expected, snapshot, records] = row
    const [, , , version] = head
    const { changes } =
      snapshot === null
        ? heads.run(...head, id, expected)
        : wholes.run(...head, version, snapshot, id, expected)
    if (Number(changes) === 0) return false
    append(id, version, records)
    return true
  }
}

function createAppend(
  db: Connection,
): (id: string, lastSeq: number, records: string | null) => void {
  const append = db.prepare('INSERT INTO log SELECT number, ?, ? FROM task WHERE id = ?')
  return (id, lastSeq, records) => {
    if (records !== null) append.run(lastSeq, records, id)
  }
}

function createScopes(db: Connection): Scopes {
  const find = db.prepare('SELECT id FROM scope WHERE agent = ? AND tenant = ? AND owner = ?')
  const add = db.prepare('INSERT INTO scope (agent, tenant, owner) VALUES (?, ?, ?)')
  const known = new Map<string, number>()
  return {
    numberOf(scope) {
      const key = JSON.stringify(scope)
      const hit = known.get(key)
      if (hit !== undefined) return hit
      if (find.get(...scope) === undefined) add.run(...scope)
      const number = Number(find.get(...scope)?.id)
      if (known.size >= maxScopes) known.clear()
      known.set(key, number)
      return number
    },
    forget: () => known.clear(),
  }
}

function createTotals(db: Connection): Totals {
  const add = db.prepare(
    'INSERT INTO total VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks',
  )
  const counts = new Map<number, Map<string, number>>()
  return {
    count(scope, state) {
      const states = counts.get(scope) ?? new Map<string, number>()
      counts.set(scope, states.set(state, (states.get(state) ?? 0) + 1))
    },
    flush() {
      for (const [scope, states] of counts)
        for (const [state, tasks] of states) add.run(scope, state, tasks)
      counts.clear()
    },
    forget: () => counts.clear(),
  }
}
