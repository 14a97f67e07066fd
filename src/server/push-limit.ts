import type { PushConfigs } from '../operations/service.ts'
import { A2AError } from '../protocol/errors.ts'

/**
 * Keeps the webhooks of a task within a number. What is reserved counts until it is stored, so that many who come at once
 * do not all find the last place free.
 */
export function createPushLimit(
  max: number,
  list: PushConfigs['list'],
): Pick<PushConfigs, 'reserve'> {
  const reserved = new Map<string, string[]>()

  function release(taskId: string, id: string): void {
    const ids = reserved.get(taskId) ?? []
    ids.splice(ids.indexOf(id), 1)
    if (ids.length === 0) reserved.delete(taskId)
  }

  return {
    async reserve(taskId, id) {
      const ids = reserved.get(taskId) ?? []
      // Taken before the store is read: one of these that is stored meanwhile counts in either.
      const taken = new Set(ids)
      ids.push(id)
      reserved.set(taskId, ids)
      try {
        for (const stored of await list(taskId)) taken.add(stored.id)
        if (!taken.has(id) && taken.size >= max) throw tooMany(max, taskId)
      } catch (thrown) {
        release(taskId, id)
        throw thrown
      }
      return () => release(taskId, id)
    },
  }
}

function tooMany(max: number, taskId: string): A2AError {
  return new A2AError(
    'invalidParams',
    `Task ${taskId} has ${max} push notification configs, which is as many as it may have; delete one, or replace one by its id`,
    { reason: 'PUSH_CONFIG_LIMIT', metadata: { taskId } },
  )
}
