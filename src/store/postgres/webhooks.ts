import { toDeadLetter, toPushConfig } from '../documents.ts'
import type { Store } from '../store.ts'
import { headColumnsOf, toDatabaseHead } from './columns.ts'
import { scopeColumn } from './keys.ts'
import type { Names } from './names.ts'
import type { Readers } from './readers.ts'

type WebhookReads = Pick<Store, 'pushConfigs' | 'webhooks' | 'deadLetters'>

/** The reads of webhooks and of deliveries given up. */
export function createWebhookReads(
  { read }: Pick<Readers, 'read'>,
  { schema }: Names,
): WebhookReads {
  const configs = `SELECT cursor, record FROM ${schema}.push WHERE task_id = $1 ORDER BY number`
  const webhooks = `SELECT ${headColumnsOf}, t.version, p.cursor, p.record FROM ${schema}.push p
    JOIN ${schema}.task t ON t.id = p.task_id WHERE coalesce($1::text, t.scope) = t.scope
    ORDER BY t.timestamp DESC, t.id DESC, p.number LIMIT $2`
  const letters = `SELECT letter FROM ${schema}.dead_letter ORDER BY number DESC LIMIT $1`
  const lettersOf = `SELECT l.letter FROM ${schema}.dead_letter l JOIN ${schema}.task t ON t.id = l.task_id
    WHERE t.scope = $2 ORDER BY l.number DESC LIMIT $1`
  return {
    async pushConfigs(taskId) {
      const rows = await read({ name: 'configs', text: configs, values: [taskId] })
      return rows.map(toPushConfig)
    },
    async webhooks({ scope, limit }) {
      const values = [scope ? scopeColumn(scope) : null, limit]
      const rows = await read({ name: 'webhooks', text: webhooks, values })
      return rows.map((row) => ({
        record: toPushConfig(row),
        head: toDatabaseHead(row),
        version: Number(row.version),
      }))
    },
    async deadLetters(limit, scope) {
      const statement = scope
        ? { name: 'letters_of', text: lettersOf, values: [limit ?? null, scopeColumn(scope)] }
        : { name: 'letters', text: letters, values: [limit ?? null] }
      return (await read(statement)).map(toDeadLetter)
    },
  }
}
