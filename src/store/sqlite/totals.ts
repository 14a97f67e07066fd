import type { Connection } from './driver.ts'

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
