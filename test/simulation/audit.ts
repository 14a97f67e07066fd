import { A2AError } from '../../src/protocol/errors.ts'
import { isTerminal, textOf } from '../../src/protocol/task.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import type { LogRecord, StoredTask } from '../../src/store/store.ts'
import { auditStreams, type Disturbances } from './audit-streams.ts'
import type { Auditor } from './auditor.ts'
import { type Database, isLiving } from './database.ts'
import type { Hooks } from './hooks.ts'
import type { Ledger, Outcome, Sent } from './ledger.ts'

/** What is held against the ledger when the dust has settled. */
export interface Audited {
  readonly database: Database
  readonly ledger: Ledger
  readonly auditor: Auditor
  readonly hooks: Hooks
  readonly disturbances: Disturbances
  /** Whether agents want to hear of cancels. */
  readonly hearsCancels: boolean
}

/** A task and its log. */
export interface AuditedTask {
  readonly stored: StoredTask
  readonly records: readonly LogRecord[]
}

/** Says of everything that must hold at the end where it does not. */
export async function audit(audited: Audited): Promise<void> {
  const tasks = await readTasks(audited.database)
  for (const task of tasks.values()) auditTask(audited, task)
  auditSends(audited, tasks)
  auditKeys(audited.ledger, tasks)
  auditCancels(audited.ledger, tasks)
  auditMail(audited, tasks)
  auditChanges(audited, tasks)
  for (const { id, kind, outcome } of audited.ledger.hookings)
    auditAnswer(audited.ledger.violate, `to ${kind} ${id}`, outcome)
  audited.hooks.audit(audited.auditor.storedAt, audited.disturbances)
  auditStreams(audited, tasks)
}

async function readTasks({ memory, rows }: Database): Promise<ReadonlyMap<string, AuditedTask>> {
  const tasks = new Map<string, AuditedTask>()
  for (const id of rows.keys()) {
    const stored = await memory.get(id)
    if (stored) tasks.set(id, { stored, records: await memory.records(id, 0) })
  }
  return tasks
}

/** Nothing is left to do, and the log has no gaps and answers every message. */
function auditTask(
  { database, ledger, auditor, hearsCancels }: Audited,
  { stored, records }: AuditedTask,
): void {
  const { id, state } = stored.head
  const row = database.rows.get(id)
  if (row?.replica !== undefined)
    ledger.violate(
      `task ${id} is ${state} and still has work, ${isLiving(database, row.replica) ? 'with' : 'without'} a living replica`,
    )
  if (records.some(({ seq }, index) => seq !== index + 1)) ledger.violate(`task ${id} has a gap`)
  if (auditor.meddled.has(id)) return
  if (state === 'TASK_STATE_FAILED')
    ledger.violate(`task ${id} failed: ${textOf(stored.task.status.message?.parts ?? [])}`)
  if (hearsCancels && state === 'TASK_STATE_CANCELED' && !ledger.heardCancels.has(id))
    ledger.violate(`the agent never heard that task ${id} was cancelled`)
  if (state === 'TASK_STATE_COMPLETED' || state === 'TASK_STATE_CANCELED') return
  const started = new Set(records.flatMap((r) => (r.kind === 'start' ? [r.turn] : [])))
  for (const record of records)
    if (record.kind === 'message' && !started.has(record.turn))
      if (!isDropped({ records }, record.message))
        ledger.violate(
          `${record.message.messageId} is in task ${id}, which is ${state}, and never had its turn`,
        )
  if (state !== 'TASK_STATE_INPUT_REQUIRED') ledger.violate(`task ${id} was left ${state}`)
}

function isDropped(
  task: Pick<AuditedTask, 'records'> | undefined,
  { messageId }: Pick<Sent, 'messageId'>,
): boolean {
  return task?.records.some((r) => r.kind === 'dropped' && r.messageId === messageId) ?? false
}

/** What was acknowledged stands in its log once, and nothing stands there twice. */
function auditSends(
  { ledger: { sends, violate }, auditor: { meddled } }: Audited,
  tasks: ReadonlyMap<string, AuditedTask>,
): void {
  const places = new Map<string, string[]>()
  for (const [id, { records }] of tasks)
    for (const record of records)
      if (record.kind === 'message') {
        const { messageId } = record.message
        places.set(messageId, [...(places.get(messageId) ?? []), id])
      }
  for (const sent of sends) {
    const found = places.get(sent.messageId) ?? []
    const { outcome } = sent
    // A task that somebody has written anew from what was read too early may fail by that, and says so.
    const isMeddlers =
      outcome instanceof A2AError && outcome.code === 'taskFailed' && meddled.has(sent.taskId ?? '')
    if (!isMeddlers) auditAnswer(violate, sent.messageId, outcome)
    if (sent.acknowledged && found.length === 0 && !isEnded(sent, tasks))
      violate(
        `${sent.messageId} was acknowledged and is lost; it ended with ${sent.outcome} in ${sent.taskId}`,
      )
    // Who sends it once more hears how the task is, whatever became of the first.
    if (sent.ended && sent.key === undefined && isDropped(tasks.get(found[0] ?? ''), sent))
      violate(`${sent.messageId} was dropped and is answered with the end of ${sent.taskId}`)
    if (found.length > 1)
      violate(`${sent.messageId} stands ${found.length} times in ${found.join(', ')}`)
    if (sent.acknowledged && found[0] !== undefined && found[0] !== sent.taskId)
      violate(`${sent.messageId} was said to be in ${sent.taskId}, and is in ${found[0]}`)
  }
}

/** A message that was stored for a task may find it ended; then whoever waits for its answer hears so. */
function isEnded({ taskId, ended }: Sent, tasks: ReadonlyMap<string, AuditedTask>): boolean {
  const task = tasks.get(taskId ?? '')
  return task !== undefined && !ended && isTerminal(task.stored.head.state)
}

/** Each call got an answer, and none that only a mistake of ours could give. */
function auditAnswer(violate: Ledger['violate'], what: string, outcome: Outcome): void {
  if (outcome === 'open') violate(`${what} never got an answer`)
  if (outcome instanceof A2AError && !honest.has(outcome.code))
    violate(`${what} was answered with ${outcome.code}: ${outcome.message}`)
}

const honest: ReadonlySet<string> = new Set([
  'unavailable',
  'rateLimited',
  'unsupportedOperation',
  'taskCanceled',
  'taskNotCancelable',
])

/** One key, one task. */
function auditKeys({ sends, violate }: Ledger, tasks: ReadonlyMap<string, AuditedTask>): void {
  const made = new Map<string, Set<string>>()
  for (const [id, { records }] of tasks)
    for (const record of records)
      if (record.kind === 'message' && record.request.idempotencyKey !== undefined) {
        const ids = made.get(record.request.idempotencyKey) ?? new Set()
        made.set(record.request.idempotencyKey, ids.add(id))
      }
  for (const { key, taskId, acknowledged } of sends)
    if (key !== undefined && acknowledged && taskId) made.get(key)?.add(taskId)
  for (const [key, ids] of made) if (ids.size > 1) violate(`${key} made ${[...ids].join(' and ')}`)
}

function auditCancels({ cancels, violate }: Ledger, tasks: ReadonlyMap<string, AuditedTask>): void {
  for (const { taskId, acknowledged, outcome } of cancels) {
    const state = tasks.get(taskId)?.stored.head.state
    if (acknowledged && state !== 'TASK_STATE_CANCELED')
      violate(`task ${taskId} was said to be cancelled, and is ${state}`)
    auditAnswer(violate, `a cancel of ${taskId}`, outcome)
  }
}

/** What was added to a task is there once, and so it was where somebody was told so. */
function auditChanges(
  { ledger: { changes, violate }, auditor: { meddled } }: Audited,
  tasks: ReadonlyMap<string, AuditedTask>,
): void {
  for (const { taskId, artifactId, acknowledged, ignored, outcome } of changes) {
    const found = (tasks.get(taskId)?.records ?? []).filter(
      (record) => record.kind === 'event' && adds(record.event, artifactId),
    ).length
    // Who writes the whole task again takes away what others have added.
    if (ignored && !meddled.has(taskId))
      violate(`${artifactId} of task ${taskId} was answered without it`)
    if (acknowledged && found === 0) violate(`${artifactId} was acknowledged and is lost`)
    if (found > 1 && !meddled.has(taskId))
      violate(`${artifactId} stands ${found} times in ${taskId}`)
    // An ended task takes nothing more, and one whose state has changed may not take the one that was read.
    const isRefused = outcome instanceof A2AError && refusals.has(outcome.code)
    if (!isRefused) auditAnswer(violate, artifactId, outcome)
  }
}

/** A whole task that has it counts too: then the user had read other artifacts than there were by then. */
function adds(event: StreamResponse, artifactId: string): boolean {
  if ('artifactUpdate' in event) return event.artifactUpdate.artifact.artifactId === artifactId
  return (
    'task' in event && (event.task.artifacts ?? []).some((one) => one.artifactId === artifactId)
  )
}

const refusals: ReadonlySet<string> = new Set(['invalidRequest', 'invalidAgentResponse'])

/** Each entry was taken at most once, and is gone. */
function auditMail({ auditor, ledger }: Audited, tasks: ReadonlyMap<string, AuditedTask>): void {
  for (const [key, { taskId, stored, taken, dismissed }] of auditor.mail) {
    const inLog = (tasks.get(taskId)?.records ?? []).filter(
      (record) => record.kind === 'message' && record.request.forwarded === key,
    ).length
    // One whose answer was lost may come again to a task that has ended: then it is dismissed.
    if (taken > 1) ledger.violate(`entry ${key} of task ${taskId} was taken ${taken} times`)
    if (taken + dismissed !== stored)
      ledger.violate(
        `entry ${key} of task ${taskId}: stored ${stored}, taken ${taken}, dismissed ${dismissed}`,
      )
    if (inLog > 1) ledger.violate(`entry ${key} stands ${inLog} times in the log of ${taskId}`)
  }
}
