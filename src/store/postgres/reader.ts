import { recordsPerRow, toContextValue, toRecords } from '../documents.ts'
import { isSameScope } from '../scope.ts'
import type { LogRecord, Store } from '../store.ts'
import { partsName, taskColumnsOf, toDatabaseTask } from './columns.ts'
import { keyColumn, scopeColumn } from './keys.ts'
import { createTaskLists } from './list.ts'
import type { Names } from './names.ts'
import type { Readers } from './readers.ts'
import { createWebhookReads } from './webhooks.ts'

/** The plain reads of the store. A read sees every commit that was answered before it began, by whatever replica. */
type DatabaseReader = Pick<
  Store,
  | 'get'
  | 'records'
  | 'list'
  | 'listAll'
  | 'contextValues'
  | 'findByKey'
  | 'pushConfigs'
  | 'webhooks'
  | 'deadLetters'
>

/** The largest number of a column. */
const maxInt = 2_147_483_647

/** Reads on whichever connection is free. */
export function createDatabaseReader({ read }: Readers, names: Names): DatabaseReader {
  const { schema } = names
  const values = `SELECT key, value FROM ${schema}.context_value WHERE scope = $1 AND context_id = $2`
  const byKey = `SELECT id FROM ${schema}.task WHERE scope = $1 AND idempotency_key = $2`
  const log = logIn(schema)
  const get: Store['get'] = async (id, scope, parts) => {
    const text = `SELECT ${taskColumnsOf(parts)} FROM ${schema}.task t WHERE t.id = $1`
    const [row] = await read({ name: `get${partsName(parts)}`, text, values: [id] })
    const stored = row && toDatabaseTask(row)
    return stored && (!scope || isSameScope(scope, stored.head.scope)) ? stored : undefined
  }
  return {
    get,
    async records(id, after, limit = maxInt) {
      const wanted = Math.min(limit, maxInt - after)
      if (wanted <= 0) return []
      const rows = await read({ name: 'records', text: log, values: [id, after, wanted] })
      const records: LogRecord[] = []
      for (const row of rows)
        for (const record of toRecords(row.records)) if (record.seq > after) records.push(record)
      return records.length > wanted ? records.slice(0, wanted) : records
    },
    ...createTaskLists({ read }, names, get),
    ...createWebhookReads({ read }, names),
    async contextValues(scope, contextId) {
      const place = [scopeColumn(scope), contextId]
      const rows = await read({ name: 'values', text: values, values: place })
      return new Map(rows.map(toContextValue))
    },
    async findByKey(scope, key) {
      const place = [scopeColumn(scope), keyColumn(key)]
      const [row] = await read({ name: 'by_key', text: byKey, values: place })
      return row && String(row.id)
    },
  }
}

/** The rows of a log after a sequence number; where the first hold enough, the others are not even read. */
function logIn(schema: string): string {
  // A log within the task's row is one row's worth at most.
  return `SELECT 0 AS last_seq, log AS records FROM ${schema}.task
      WHERE id = $1::text AND $2::int < ${recordsPerRow} AND log IS NOT NULL
    UNION ALL SELECT last_seq, records FROM ${schema}.log WHERE task_id = $1::text AND last_seq > $2::int
      AND last_seq <= coalesce((SELECT last_seq FROM ${schema}.log WHERE task_id = $1::text
        AND last_seq >= $2::int + $3::int ORDER BY last_seq LIMIT 1), ${maxInt})
    ORDER BY last_seq`
}
