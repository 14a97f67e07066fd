import type { Artifact } from '../../protocol/types.ts'
import { fromSnapshot, fromText } from '../documents.ts'
import type { Scope, StoredTask, TaskHead } from '../store.ts'
import type { DatabaseRow } from './connection.ts'

/** The columns of a task's head, `t`, as `toDatabaseHead` reads them. What waits in the inbox is work that is left. */
export const headColumnsOf =
  't.id, t.agent, t.tenant, t.principal AS owner, t.context_id AS "contextId", t.state, t.timestamp, t.busy OR t.mail > 0 AS busy, t.generation, t.build'

/** The columns of a task without its artifacts. */
export const bareColumnsOf: string = `${headColumnsOf}, t.version, t.snapshot_version AS "taskVersion", t.replica, t.mail, t.snapshot`

/** The columns of a whole task. */
export const taskColumnsOf: string = `${bareColumnsOf}, t.artifacts`

/** A row of `headColumnsOf`. The tables are ours alone, so what we wrote into them is what we read. */
export function toDatabaseHead(row: DatabaseRow): TaskHead {
  const flat: unknown = row
  const { id, agent, tenant, owner, contextId, state, timestamp, ...more } = flat as FlatHead // see above
  const { busy, generation, build } = more
  const scope = { agent, tenant, owner }
  return { id, scope, contextId, state, timestamp, busy, generation, build }
}

type FlatHead = Omit<TaskHead, 'scope'> & Scope

/** A row of `taskColumnsOf`, or of `bareColumnsOf`: a task without its artifacts. */
export function toDatabaseTask(row: DatabaseRow): StoredTask {
  const task = fromSnapshot(row.snapshot)
  if (typeof row.artifacts === 'string') task.artifacts = fromText<Artifact[]>(row.artifacts)
  const replica = Number(row.replica ?? 0)
  return {
    head: toDatabaseHead(row),
    version: Number(row.version),
    task,
    taskVersion: Number(row.taskVersion),
    // 0 is the number of those who gave the task up.
    ...(replica > 0 && { replica, mail: Number(row.mail) }),
  }
}
