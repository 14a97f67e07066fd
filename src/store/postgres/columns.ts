import type { Artifact, Task } from '../../protocol/types.ts'
import type { Mutable } from '../../shared/json.ts'
import { documentColumns, listedDocumentColumns } from '../document-columns.ts'
import { fromSnapshot, fromText } from '../documents.ts'
import { taskOfHead } from '../list.ts'
import type { Scope, StoredTask, TaskHead, TaskParts } from '../store.ts'
import type { DatabaseRow } from './connection.ts'

/** The columns of a task's head, `t`, as `toDatabaseHead` reads them. What waits in the inbox is work that is left. */
export const headColumnsOf =
  't.id, t.agent, t.tenant, t.principal AS owner, t.context_id AS "contextId", t.state, t.timestamp, t.busy OR t.mail > 0 AS busy, t.generation, t.build'

/** The columns of as much of a task as is asked for, as `toDatabaseTask` reads them. */
export function taskColumnsOf(parts?: TaskParts): string {
  return `${numbers}, ${documentColumns('t', parts)}`
}

/** The same for a list, where the documents of large tasks are left out: they are null. */
export function listColumnsOf(parts: TaskParts): string {
  return `${numbers}, ${listedDocumentColumns('t', parts)}`
}

const numbers = `${headColumnsOf}, t.version, t.snapshot_version AS "taskVersion", t.replica, t.mail`

/** How a statement over these columns is called. */
export function partsName({ artifacts = true, light = false }: TaskParts = {}): string {
  if (light) return '_light'
  return artifacts ? '_whole' : ''
}

/** A row of `headColumnsOf`. The tables are ours alone, so what we wrote into them is what we read. */
export function toDatabaseHead(row: DatabaseRow): TaskHead {
  const flat: unknown = row
  const { id, agent, tenant, owner, contextId, state, timestamp, ...more } = flat as FlatHead // see above
  const { busy, generation, build } = more
  const scope = { agent, tenant, owner }
  return { id, scope, contextId, state, timestamp, busy, generation, build }
}

type FlatHead = Omit<TaskHead, 'scope'> & Scope

/** A row of `taskColumnsOf`, with as much of the task as it has. */
export function toDatabaseTask(row: DatabaseRow): StoredTask {
  const head = toDatabaseHead(row)
  const task: Mutable<Task> =
    row.snapshot === '' ? { ...taskOfHead(head) } : fromSnapshot(row.snapshot)
  if (typeof row.artifacts === 'string') task.artifacts = fromText<Artifact[]>(row.artifacts)
  const replica = Number(row.replica ?? 0)
  return {
    head,
    version: Number(row.version),
    task,
    taskVersion: Number(row.taskVersion),
    // 0 is the number of those who gave the task up.
    ...(replica > 0 && { replica, mail: Number(row.mail) }),
  }
}
