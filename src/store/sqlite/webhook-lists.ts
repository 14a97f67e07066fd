import { toDeadLetter, toPushConfig } from '../documents.ts'
import type { DeadLetter, Scope, Store, Webhook } from '../store.ts'
import { headColumns, scopeNumber, toHead } from './documents.ts'
import type { Row } from './driver.ts'
import type { Query } from './list.ts'

interface WebhookLists extends Pick<Store, 'webhooks'> {
  deadLettersOf(scope: Scope, limit?: number): Promise<readonly DeadLetter[]>
}

/** The lists of webhooks over many tasks. They walk all that there are, so they run in a thread of their own. */
export function createWebhookLists(
  elsewhere: (query: Query) => Promise<readonly Row[]>,
): WebhookLists {
  return {
    async webhooks({ scope, limit }) {
      const sql = `SELECT ${headColumns}, version, cursor, record FROM push
        CROSS JOIN task ON task.id = push.task_id JOIN scope ON scope.id = task.scope
        ${scope === undefined ? '' : `WHERE task.scope = ${scopeNumber}`}
        ORDER BY task.number DESC, push.number LIMIT ?`
      const whose = scope === undefined ? [] : [scope.agent, scope.tenant, scope.owner]
      return (await elsewhere({ sql, values: [...whose, limit] })).map(toWebhook)
    },
    async deadLettersOf(scope, limit = -1) {
      const sql = `SELECT letter FROM dead_letter CROSS JOIN task ON task.id = dead_letter.task_id
        WHERE task.scope = ${scopeNumber} ORDER BY dead_letter.number DESC LIMIT ?`
      const values = [scope.agent, scope.tenant, scope.owner, limit]
      return (await elsewhere({ sql, values })).map(toDeadLetter)
    },
  }
}

function toWebhook(row: Row): Webhook {
  return { record: toPushConfig(row), head: toHead(row), version: Number(row.version) }
}
