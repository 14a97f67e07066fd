import type { Contexts } from './contexts.ts'
import type { Connection } from './driver.ts'

/** Removes a task by its number, and with it all that hangs on it. */
export type Remove = (number: number) => void

/** Removes tasks within a transaction. Triggers take away what is the task's own; here go the values of its context. */
export function createRemove(db: Connection, contexts: Pick<Contexts, 'has'>): Remove {
  const remove = db.prepare('DELETE FROM task WHERE number = ? RETURNING scope, context_id')
  const hasValues = db.prepare('SELECT 1 FROM context_value WHERE scope = ? AND context_id = ?')
  const removeValues = db.prepare('DELETE FROM context_value WHERE scope = ? AND context_id = ?')
  return (number) => {
    const row = remove.get(number)
    if (row === undefined) return
    const [scope, contextId] = [Number(row.scope), String(row.context_id)]
    if (hasValues.get(scope, contextId) === undefined || contexts.has(scope, contextId)) return
    removeValues.run(scope, contextId)
  }
}
