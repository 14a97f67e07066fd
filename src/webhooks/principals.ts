import type { Store } from '../store/store.ts'

/** Whose webhooks a task's are: their places are counted by this. */
export type PrincipalOf = (taskId: string) => Promise<string>

/** How many tasks' owners are remembered; a forgotten one costs a read. */
const maxRemembered = 10_000

/** Asks the store once for the owner of a task, which never changes. */
export function createPrincipals(store: Store): PrincipalOf {
  const known = new Map<string, string>()
  return async (taskId) => {
    const remembered = known.get(taskId)
    if (remembered !== undefined) return remembered
    const stored = await store.get(taskId, undefined, { light: true })
    if (!stored) return ''
    known.set(taskId, stored.head.scope.owner)
    const [oldest = ''] = known.keys()
    if (known.size > maxRemembered) known.delete(oldest)
    return stored.head.scope.owner
  }
}
