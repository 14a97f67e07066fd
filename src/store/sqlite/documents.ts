import { createFold } from '../../protocol/fold.ts'
import type { Artifact } from '../../protocol/types.ts'
import { fromSnapshot, fromText } from '../documents.ts'
import type { LogRecord, Scope, StoredTask, TaskHead } from '../store.ts'
import type { Row } from './driver.ts'

/** The number of a scope; bind agent, tenant, owner. */
export const scopeNumber =
  '(SELECT scope.id FROM scope WHERE agent = ? AND tenant = ? AND owner = ?)'

/** The columns of a task's head, as `toHead` reads them. */
export const headColumns =
  'task.id, agent, tenant, owner, task.context_id AS contextId, state, task.timestamp, busy, generation, build'

/** The columns of a task without its artifacts, as `toStoredTask` reads them. */
export const bareColumns: string = `${headColumns}, task.number, version, snapshot_version AS snapshotVersion, snapshot`

/** The columns of a whole task, as `toStoredTask` reads them. */
export const taskColumns: string = `${bareColumns}, artifacts`

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

/** A row of `taskColumns`, or of `bareColumns`: a task without its artifacts. */
export function toStoredTask(row: Row, readLog: ReadLog): StoredTask {
  const taskVersion = Number(row.snapshotVersion)
  const task = fromSnapshot(row.snapshot)
  const { artifacts } = row
  if (artifacts === '') task.artifacts = artifactsOf(readLog(Number(row.number), taskVersion)) ?? []
  else if (typeof artifacts === 'string') task.artifacts = fromText<Artifact[]>(artifacts)
  // A task of the first schema may have kept them in its snapshot.
  else if (artifacts === undefined) delete task.artifacts
  return { head: toHead(row), version: Number(row.version), task, taskVersion }
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
