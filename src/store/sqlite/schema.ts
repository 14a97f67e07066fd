import type { Connection } from './driver.ts'
import { migrations } from './migrations.ts'

/**
 * The file. `application_id` says that it is ours, `user_version` which of the migrations it has seen.
 *
 * - scope: agent, tenant and principal, once each.
 * - task: one row per task. The columns are current; `snapshot` is the Task as JSON with all records up to
 *   `snapshot_version` in it, but for two things. `artifacts` holds its artifacts, so that a list without them does not
 *   read them; it is empty text where the task has ended, they are large and a log of about their size yields them:
 *   they are then not stored twice. And a status message that is the last of the history stands there as 0.
 *   `log` holds the records of the first commit, if its turn ended there.
 * - log: the records of every other commit, 128 in a row at most: who reads the log in pages parses each record about
 *   once, however long it is. A row's place is its task's number and the sequence number of its last record in one.
 * - push: webhooks and how far each has come. dead_letter: deliveries given up.
 * - context_value: values of contexts, their keys as JSON. They go with the context's last task.
 * - total: how many tasks a scope has in each state, so that a list need not count. Triggers keep it when a task changes
 *   or goes; new tasks are added by the writer, once per transaction.
 * - context_task, context_fill: tasks by context, from when that is first asked for; see contexts.ts.
 * - home: the path under which the file was last opened; see open.ts.
 *
 * An index costs time with every new task, so there are few. Most tasks are completed: a list of those walks the
 * index by time and passes over the others, the other states have an index of their own. Retention walks the index over
 * all scopes.
 *
 * Timestamps are ISO 8601 text, which sorts.
 */

/** "Crrl" as a number. */
export const applicationId = 0x4372726c

/**
 * Brings a file to the newest schema, from an empty one on. `before` is called where there is something to bring along.
 *
 * @throws Error if the file is another program's or was written by a newer version.
 */
export function migrate(
  db: Connection,
  steps: readonly string[] = migrations,
  before?: () => void,
): void {
  const version = pragma(db, 'user_version')
  mustKnow(version, steps.length)
  if (version === 0 ? !isEmpty(db) : !isStore(db)) throw new Error(foreign)
  if (version > 0 && version < steps.length) before?.()
  for (const [i, step] of steps.entries()) if (i >= version) apply(db, step, i + 1)
}

/** What is said of a file that is a database, but not ours. */
export const foreign = 'the file is a database of another program'

/**
 * Refuses a file whose schema is newer than ours.
 * @throws Error that says so.
 */
export function mustKnow(version: number, known: number = migrations.length): void {
  if (version > known)
    throw new Error(
      `the file has schema ${version}, this version of Corral knows ${known}; use a newer one`,
    )
}

/** Whether a file is a store of ours, of whatever version. */
function isStore(db: Connection): boolean {
  return pragma(db, 'application_id') === applicationId
}

/** The value of a pragma that is a number. */
export function pragma(db: Connection, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0)
}

function isEmpty(db: Connection): boolean {
  return db.prepare('SELECT name FROM sqlite_schema LIMIT 1').get() === undefined
}

/** The version is part of the transaction: a crash leaves either the old schema or the new one. */
function apply(db: Connection, step: string, version: number): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec(step)
    db.exec(`PRAGMA application_id = ${applicationId}`)
    db.exec(`PRAGMA user_version = ${version}`)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}
