import { toText } from '../documents.ts'
import type { Write, WriteResult } from '../store.ts'
import type { DatabaseRow, SqlStatement } from './connection.ts'
import { scopeColumn } from './keys.ts'
import type { OtherWrite } from './lines.ts'
import type { Names } from './names.ts'
import { removal } from './removal.ts'

/** What runs a statement within the commit. */
type RunStatement = (statement: SqlStatement) => Promise<readonly DatabaseRow[]>

/** Who writes, and whether the same was tried before and its answer lost. */
export interface CommitTurn {
  readonly replica: number
  readonly isRepeated: boolean
}

type Of<T extends Write['type']> = Extract<Write, { readonly type: T }>

/** A write that is not a task's, as a statement, and what the answer means. */
export type OtherWriter = (
  run: RunStatement,
  line: { readonly write: OtherWrite; readonly text: string },
  turn: CommitTurn,
) => Promise<WriteResult>

const missing: WriteResult = { conflict: 0 }
const gone: WriteResult = { version: 0 }

/** Writes webhooks, their cursors, values of contexts, and removes. */
export function createOtherWriter(names: Names): OtherWriter {
  const texts = textsIn(names)
  const value = valueStatements(names)
  return async (run, { write, text }, turn) => {
    switch (write.type) {
      case 'deleteTask': {
        const rows = await run(named('delete_task', texts.deleteTask, [turn.replica, write.id]))
        return removed(rows.length > 0, gone, turn)
      }
      case 'pushConfig': {
        const { taskId, id, cursor } = write.record
        const values = [turn.replica, taskId, id, cursor, text]
        return versionIn(await run(named('push', texts.push, values)))
      }
      case 'deletePushConfig': {
        const values = [turn.replica, write.taskId, write.id]
        const [row] = await run(named('delete_push', texts.deletePush, values))
        if (row?.removed === true || turn.isRepeated) return versionIn(row ? [row] : [])
        return missing
      }
      case 'cursor':
        return versionIn(await run(moved(texts.cursor, { write, text }, turn.replica)))
      case 'deleteDeadLetter': {
        const rows = await run(named('delete_letter', texts.deleteLetter, [write.id]))
        return removed(rows.length > 0, gone, turn)
      }
      case 'contextValue':
        await run(value(write, text))
        return gone
    }
  }
}

/** What is not there any more when the same is tried again is what the first try took away. */
function removed(found: boolean, result: WriteResult, { isRepeated }: CommitTurn): WriteResult {
  return found || isRepeated ? result : missing
}

/** A row has the task's version; `held` where the webhook is another replica's. */
function versionIn([row]: readonly DatabaseRow[]): WriteResult {
  if (row === undefined || row.version === null) return missing
  return row.held === true ? { conflict: Number(row.version) } : { version: Number(row.version) }
}

function named(name: string, text: string, values: unknown[]): SqlStatement {
  return { name, text, values }
}

function moved(
  sql: string,
  { write, text }: { readonly write: Of<'cursor'>; readonly text: string },
  replica: number,
): SqlStatement {
  const { taskId, id, cursor, deadLetter } = write
  const letter = deadLetter === undefined ? [null, null] : [deadLetter.id, text]
  return named('cursor', sql, [replica, taskId, id, cursor, ...letter])
}

function valueStatements({
  schema,
}: Names): (write: Of<'contextValue'>, text: string) => SqlStatement {
  const put = `INSERT INTO ${schema}.context_value VALUES ($1, $2, $3, $4)
    ON CONFLICT (scope, context_id, md5(key)) DO UPDATE SET value = excluded.value`
  const drop = `DELETE FROM ${schema}.context_value
    WHERE scope = $1 AND context_id = $2 AND md5(key) = md5($3) AND key = $3`
  return ({ scope, contextId, key, value }, text) => {
    // Keys may hold U+0000, which JSON writes as an escape.
    const place = [scopeColumn(scope), contextId, toText(key)]
    return value === null
      ? named('drop_value', drop, place)
      : named('put_value', put, [...place, text])
  }
}

/** Statements with one row to answer: the task's version, NULL or no row where there is no such task. */
function textsIn(names: Names) {
  const { schema, channel } = names
  const finished =
    "t.state IN ('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED')"
  const notice = "json_build_object('deliveries', $2::text)::text"
  const free = 'p.replica IS NULL OR p.replica IN (0, $1::int)'
  return {
    deleteTask: removal(names, 't.id = $2::text'),
    // Whoever runs the task learns of the webhook; a key lock keeps the task from being removed meanwhile.
    push: `WITH t AS (SELECT version, replica FROM ${schema}.task WHERE id = $2::text FOR KEY SHARE),
      w AS (INSERT INTO ${schema}.push AS p (task_id, id, cursor, record)
        SELECT $2::text, $3::text, $4::int, $5::text FROM t ON CONFLICT (task_id, id) DO UPDATE
        SET record = excluded.record, cursor = greatest(p.cursor, excluded.cursor), done = false),
      n AS (SELECT pg_notify('${channel}_' || replica, ${notice}) FROM t WHERE replica > 0 AND replica <> $1::int)
      SELECT version FROM t WHERE (SELECT count(*) FROM n) >= 0`,
    deletePush: `WITH d AS (DELETE FROM ${schema}.push WHERE task_id = $2::text AND id = $3::text RETURNING replica),
      t AS (SELECT version, replica FROM ${schema}.task WHERE id = $2::text),
      n AS (SELECT pg_notify('${channel}_' || replica, ${notice}) FROM (
          SELECT replica FROM d UNION SELECT replica FROM t WHERE EXISTS (SELECT 1 FROM d)) r
        WHERE replica > 0 AND replica <> $1::int)
      SELECT version, EXISTS (SELECT 1 FROM d) AS removed FROM t WHERE (SELECT count(*) FROM n) >= 0`,
    cursor: `WITH m AS (UPDATE ${schema}.push p SET cursor = greatest(p.cursor, $4::int),
          replica = CASE WHEN greatest(p.cursor, $4::int) < t.version THEN $1::int END,
          done = greatest(p.cursor, $4::int) >= t.version AND NOT t.busy AND ${finished}
        FROM ${schema}.task t WHERE t.id = $2::text AND p.task_id = $2::text AND p.id = $3::text AND (${free})
        RETURNING p.id),
      l AS (INSERT INTO ${schema}.dead_letter (id, task_id, letter)
        SELECT $5::text, $2::text, $6::text FROM m WHERE $5::text IS NOT NULL
        ON CONFLICT (id) DO UPDATE SET task_id = excluded.task_id, letter = excluded.letter)
      SELECT t.version, NOT EXISTS (SELECT 1 FROM m) AS held FROM ${schema}.task t
      JOIN ${schema}.push p ON p.task_id = t.id WHERE t.id = $2::text AND p.id = $3::text`,
    deleteLetter: `DELETE FROM ${schema}.dead_letter WHERE id = $1::text RETURNING id`,
  }
}
