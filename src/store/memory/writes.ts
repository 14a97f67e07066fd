import { principalOf } from '../../protocol/call.ts'
import { isInterrupted, isTerminal } from '../../protocol/task.ts'
import type { Json } from '../../protocol/types.ts'
import { refusalFor } from '../refusal.ts'
import { contextKey, scopeKey } from '../scope.ts'
import type {
  DeadLetter,
  PushConfigRecord,
  StoredTask,
  TaskHead,
  TaskWrite,
  Write,
  WriteResult,
} from '../store.ts'
import { weigh, weighRecords } from '../weight.ts'
import type { Entry } from './entry.ts'
import { logOf, type Retention } from './retention.ts'
import type { TaskIndex } from './task-index.ts'

/** The values of a context, and whose share they are kept in. */
interface KeptValues {
  readonly principal: string
  readonly values: Map<string, Json>
}

/** All that a memory store holds. */
export interface Tables {
  readonly entries: Map<string, Entry>
  /** Task ids by scope and idempotency key. */
  readonly keys: Map<string, string>
  /** Oldest first. */
  readonly deadLetters: Map<string, DeadLetter>
  readonly maxDeadLetters: number
  readonly maxTaskBytes: number
  /** The values of each context that has any, by its key. */
  readonly contextValues: Map<string, KeptValues>
  readonly index: TaskIndex
  readonly retention: Retention
}

type ContextValueWrite = Extract<Write, { type: 'contextValue' }>

const missing: WriteResult = { conflict: 0 }

/** Makes one write and says what became of it. */
export function applyWrite(tables: Tables, write: Write): WriteResult {
  const refused = refusalFor(write, tables.maxTaskBytes)
  return refused === undefined ? apply(tables, write) : { refused }
}

function apply(tables: Tables, write: Write): WriteResult {
  switch (write.type) {
    case 'task':
      return writeTask(tables, write)
    case 'deleteTask':
      return deleteTask(tables, write.id)
    case 'pushConfig':
      return writeConfig(tables, write.record)
    case 'deletePushConfig':
      return deleteConfig(tables, write.taskId, write.id)
    case 'cursor':
      return moveCursor(tables, write)
    case 'deleteDeadLetter':
      return tables.deadLetters.delete(write.id) ? { version: 0 } : missing
    case 'contextValue':
      return writeContextValue(tables, write)
  }
}

function writeTask(tables: Tables, write: TaskWrite): WriteResult {
  const { head, expectedVersion, records } = write
  const key = keyOf(write)
  const existing = key === undefined ? undefined : tables.keys.get(key)
  if (existing !== undefined) return { existing }
  const entry = tables.entries.get(head.id)
  const version = entry?.stored.version ?? 0
  if (version !== expectedVersion) return { conflict: version }
  const stored = storedAfter(write, entry?.stored)
  tables.index.move(entry?.stored.head, head)
  if (entry === undefined) add(tables, createEntry(write, stored, key))
  else {
    tables.retention.hold(entry)
    entry.records = logOf(entry)
    entry.bytes += bytesOf(write)
    entry.stored = stored
    for (const record of records) entry.records.push(record)
    settle(tables, entry)
  }
  return { version: stored.version }
}

/** An idempotency key counts only where a task begins. */
function keyOf({ head, expectedVersion, idempotencyKey }: TaskWrite): string | undefined {
  if (expectedVersion > 0 || idempotencyKey === undefined) return undefined
  return scopeKey(head.scope) + idempotencyKey
}

function storedAfter(write: TaskWrite, before: StoredTask | undefined): StoredTask {
  const { head, expectedVersion, records } = write
  const version = expectedVersion + records.length
  if (write.task !== undefined) return { head, version, task: write.task, taskVersion: version }
  if (before === undefined) throw new Error(`Task ${head.id} begins without a snapshot`)
  return { head, version, task: before.task, taskVersion: before.taskVersion }
}

function createEntry(write: TaskWrite, stored: StoredTask, key: string | undefined): Entry {
  return {
    stored,
    records: write.records.slice(),
    idempotencyKey: key,
    configs: undefined,
    principal: write.principal ?? principalOf({ auth: { userId: write.head.scope.owner } }),
    bytes: bytesOf(write),
    queue: undefined,
    older: undefined,
    newer: undefined,
    place: undefined,
    order: 0,
  }
}

function bytesOf({ bytes, records }: TaskWrite): number {
  return bytes ?? weighRecords(records)
}

function add(tables: Tables, entry: Entry): void {
  tables.entries.set(entry.stored.head.id, entry)
  if (entry.idempotencyKey !== undefined)
    tables.keys.set(entry.idempotencyKey, entry.stored.head.id)
  settle(tables, entry)
}

/** Hands a task to retention once it is finished, or waits for its user, and its webhooks have seen all of it. */
function settle({ retention }: Tables, entry: Entry): void {
  const { state, busy } = entry.stored.head
  const isBehind = hasPending(entry)
  if (isTerminal(state) && !isBehind) retention.release(entry)
  else {
    retention.hold(entry)
    if (isTerminal(state)) retention.lag(entry)
    else if (isInterrupted(state) && !busy) {
      if (isBehind) retention.lag(entry)
      else retention.wait(entry)
    }
  }
}

/** Whether a webhook of this task has not seen all of its log. */
function hasPending({ configs, stored }: Entry): boolean {
  if (configs === undefined) return false
  for (const config of configs.values()) if (config.cursor < stored.version) return true
  return false
}

function deleteTask(tables: Tables, id: string): WriteResult {
  const entry = tables.entries.get(id)
  if (entry === undefined) return missing
  tables.retention.hold(entry)
  forget(tables, entry)
  return { version: 0 }
}

/** Removes every trace of a task. */
export function forget(tables: Tables, entry: Entry): void {
  const { head } = entry.stored
  tables.entries.delete(head.id)
  tables.index.move(head, undefined)
  if (entry.idempotencyKey !== undefined) tables.keys.delete(entry.idempotencyKey)
  if (tables.contextValues.size > 0) forgetValues(tables, head)
  if (entry.configs === undefined) return
  for (const letter of tables.deadLetters.values())
    if (letter.taskId === head.id) tables.deadLetters.delete(letter.id)
}

/** The values of a context go with its last task. */
function forgetValues(tables: Tables, { scope, contextId }: TaskHead): void {
  const { contextValues, index, retention } = tables
  const context = contextKey(scope, contextId)
  const kept = contextValues.get(context)
  if (!kept || index.page({ scope, contextId, limit: 0 }).total > 0) return
  contextValues.delete(context)
  for (const [key, value] of kept.values) retention.count(kept.principal, -sizeOf(key, value))
}

function writeContextValue(tables: Tables, write: ContextValueWrite): WriteResult {
  const { contextValues, retention } = tables
  const { scope, contextId, key, value } = write
  const context = contextKey(scope, contextId)
  const kept = contextValues.get(context) ?? {
    principal: keeperOf(tables, write),
    values: new Map(),
  }
  const bytes = sizeOf(key, value) - sizeOf(key, kept.values.get(key) ?? null)
  if (value === null) kept.values.delete(key)
  else kept.values.set(key, value)
  if (kept.values.size > 0) contextValues.set(context, kept)
  else contextValues.delete(context)
  retention.count(kept.principal, bytes)
  return { version: 0 }
}

/** Whose share the values of a context are kept in: the one of its tasks, since they go when those go. */
function keeperOf({ index, entries }: Tables, { scope, contextId }: ContextValueWrite): string {
  const [head] = index.page({ scope, contextId, limit: 1 }).heads
  const entry = head && entries.get(head.id)
  return entry?.principal ?? principalOf({ auth: { userId: scope.owner } })
}

function sizeOf(key: string, value: Json | null): number {
  return value === null ? 0 : key.length + weigh(value)
}

function writeConfig(tables: Tables, record: PushConfigRecord): WriteResult {
  const entry = tables.entries.get(record.taskId)
  if (entry === undefined) return missing
  entry.configs ??= new Map()
  const cursor = Math.max(record.cursor, entry.configs.get(record.id)?.cursor ?? 0)
  entry.configs.set(record.id, cursor === record.cursor ? record : { ...record, cursor })
  settle(tables, entry)
  return { version: entry.stored.version }
}

function deleteConfig(tables: Tables, taskId: string, id: string): WriteResult {
  const entry = tables.entries.get(taskId)
  if (entry?.configs?.delete(id) !== true) return missing
  settle(tables, entry)
  return { version: entry.stored.version }
}

function moveCursor(tables: Tables, write: Extract<Write, { type: 'cursor' }>): WriteResult {
  const entry = tables.entries.get(write.taskId)
  const config = entry?.configs?.get(write.id)
  if (entry === undefined || config === undefined) return missing
  if (write.cursor > config.cursor)
    entry.configs?.set(config.id, { ...config, cursor: write.cursor })
  if (write.deadLetter) addDeadLetter(tables, write.deadLetter)
  settle(tables, entry)
  return { version: entry.stored.version }
}

function addDeadLetter({ deadLetters, maxDeadLetters }: Tables, letter: DeadLetter): void {
  deadLetters.set(letter.id, letter)
  if (deadLetters.size <= maxDeadLetters) return
  for (const oldest of deadLetters.keys()) {
    deadLetters.delete(oldest)
    return
  }
}
