import { createFold } from '../../protocol/fold.ts'
import type { Artifact } from '../../protocol/types.ts'
import { documentColumns, listedDocumentColumns } from '../document-columns.ts'
import { fromSnapshot, fromText } from '../documents.ts'
import { taskOfHead } from '../list.ts'
import type { LogRecord, Scope, StoredTask, TaskHead, TaskParts } from '../store.ts'
import type { Row } from './driver.ts'

/** The number of a scope; bind agent, tenant, owner. */
export const scopeNumber =
  '(SELECT scope.id FROM scope WHERE agent = ? AND tenant = ? AND owner = ?)'

/** The columns of a task's head, as `toHead` reads them. */
export const headColumns =
  'task.id, agent, tenant, owner, task.context_id AS contextId, state, task.timestamp, busy, generation, build'

/** The columns of as much of a task as is asked for, as `toStoredTask` reads them. */
export function taskColumns(parts?: TaskParts): string {
  return `${numbers}, ${documentColumns('task', parts)}`
}

/** The same for a list, where the documents of large tasks are left out: they are null. */
export function listColumns(parts: TaskParts): string {
  return `${numbers}, ${listedDocumentColumns('task', parts)}`
}

const numbers = `${headColumns}, task.number, version, snapshot_version AS snapshotVersion`

/** A row of `headColumns`. The file is ours alone, so what we wrote into it is what we read. */
export function toHead(row: Row): TaskHead {
  const flat: unknown = row
  const { id, agent, tenant, owner, contextId, state, timestamp, ...more } = flat as FlatHead // see above
  const scope = { agent, tenant, owner }
  const { busy, generation, build } = more
  return { id, scope, contextId, state, timestamp, busy: busy === 1, generation, build }
}

type FlatHead = Omit<TaskHead, 'scope' | 'busy'> & Scope & { readonly busy: number }

/** Finds the records of a task up to a version: artifacts may stand in the log alone. */
type ReadLog = (number: number, upTo: number) => readonly LogRecord[]

/** A row of `taskColumns`, with as much of the task as it has. */
export function toStoredTask(row: Row, readLog: ReadLog): StoredTask {
  const taskVersion = Number(row.snapshotVersion)
  const head = toHead(row)
  const version = Number(row.version)
  if (row.snapshot === '') return { head, version, task: taskOfHead(head), taskVersion }
  const task = fromSnapshot(row.snapshot)
  const { artifacts } = row
  if (artifacts === '') task.artifacts = artifactsOf(readLog(Number(row.number), taskVersion)) ?? []
  else if (typeof artifacts === 'string') task.artifacts = fromText<Artifact[]>(artifacts)
  // A task of the first schema may have kept them in its snapshot.
  else if (artifacts === undefined) delete task.artifacts
  return { head, version, task, taskVersion }
}

/** The artifacts that a whole log adds up to, as a task that has ended holds them. */
export function artifactsOf(records: readonly LogRecord[]): readonly Artifact[] | undefined {
  const nothing = { id: '', contextId: '', status: { state: 'TASK_STATE_WORKING' } } as const
  const fold = createFold(nothing)
  for (const record of records)
    if (record.kind === 'event' && !('statusUpdate' in record.event)) fold.apply(record.event)
  fold.compact()
  return fold.snapshot().artifacts
}
