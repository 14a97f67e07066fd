import type { Connection } from './driver.ts'
import { fromScopeText, type ScopeText } from './rows.ts'

/** Scopes whose numbers are kept at hand; beyond it they are looked up again. */
const maxScopes = 10_000

/** The numbers of scopes. */
export interface Scopes {
  /** A scope that has no number gets one. */
  numberOf(scope: ScopeText): number
  /** Numbers that were given in a transaction that is rolled back may go to others. */
  forget(): void
}

/** The numbers of scopes on a writing connection. */
export function createScopes(db: Connection): Scopes {
  const find = db.prepare('SELECT id FROM scope WHERE agent = ? AND tenant = ? AND owner = ?')
  const add = db.prepare('INSERT INTO scope (agent, tenant, owner) VALUES (?, ?, ?)')
  const known = new Map<string, number>()
  return {
    numberOf(scope) {
      const hit = known.get(scope)
      if (hit !== undefined) return hit
      const columns = fromScopeText(scope)
      if (find.get(...columns) === undefined) add.run(...columns)
      const number = Number(find.get(...columns)?.id)
      if (known.size >= maxScopes) known.clear()
      known.set(scope, number)
      return number
    },
    forget: () => known.clear(),
  }
}

/** New tasks by scope and state, on their way to the totals. */
export interface Totals {
  count(scope: number, state: string): void
  flush(): void
  forget(): void
}

/** Gathers the new tasks of a transaction, so that each total is written once. */
export function createTotals(db: Connection): Totals {
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
