import { createFold } from '../../protocol/fold.ts'
import type { Artifact, Json, Task } from '../../protocol/types.ts'
import type { Mutable } from '../../shared/json.ts'
import type {
  DeadLetter,
  LogRecord,
  PushConfigRecord,
  Scope,
  StoredTask,
  TaskHead,
} from '../store.ts'
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
  const task = fromText<Mutable<Task>>(row.snapshot)
  const { artifacts } = row
  if (artifacts === '') task.artifacts = artifactsOf(readLog(Number(row.number), taskVersion)) ?? []
  else if (typeof artifacts === 'string') task.artifacts = fromText<Artifact[]>(artifacts)
  // A task of the first schema may have kept them in its snapshot.
  else if (artifacts === undefined) delete task.artifacts
  restoreStatus(task)
  return { head: toHead(row), version: Number(row.version), task, taskVersion }
}

/** A status message that the history ends with is stored once. */
function restoreStatus(task: Mutable<Task>): void {
  const { status, history } = task
  const message = history?.at(-1)
  if ((status.message as unknown) === 0 && message) task.status = { ...status, message } // see rows.ts
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

/** A row of the webhooks table; the cursor's column is newer than the document. */
export function toPushConfig(row: Row): PushConfigRecord {
  return { ...fromText<PushConfigRecord>(row.record), cursor: Number(row.cursor) }
}

/** A row of the dead letters. */
export function toDeadLetter(row: Row): DeadLetter {
  return fromText<DeadLetter>(row.letter)
}

/** A row of a context's values. */
export function toContextValue({ key, value }: Row): readonly [key: string, value: Json] {
  return [fromText<string>(key), fromText<Json>(value)]
}

/** Records as JSON text; none where there is no text. */
export function toRecords(text: unknown): readonly LogRecord[] {
  return typeof text === 'string' ? fromText<readonly LogRecord[]>(text) : []
}

function fromText<T>(text: unknown): T {
  return JSON.parse(String(text)) as T // our own document: see rows.ts
}
