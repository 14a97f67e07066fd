import { A2AError } from '../../protocol/errors.ts'
import { principalOf } from '../../protocol/operations.ts'
import { isInterrupted, isTerminal } from '../../protocol/task.ts'
import type { Json } from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import { claimable, contextKey, isSameScope, scopeKey, shownIn, toTaskPage } from '../documents.ts'
import {
  checkWrites,
  defaultMaxTaskBytes,
  refusalFor,
  weigh,
  weighRecords,
} from '../size-limits.ts'
import type {
  DeadLetter,
  ListConditions,
  LogRecord,
  PushConfigRecord,
  Scope,
  Store,
  StoredTask,
  TaskHead,
  TaskPage,
  TaskWrite,
  Webhook,
  WebhookFilter,
  Write,
  WriteResult,
} from '../store.ts'
import { type Entry, logOf, Retention } from './retention.ts'
import { type HeadPage, TaskIndex } from './task-index.ts'

/** How much a memory store keeps. Only tasks that do not run are dropped. */
export interface MemoryStoreOptions {
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Finished tasks to keep, the newest; 10,000 by default. Beyond it the oldest of whoever keeps most goes. */
  readonly maxTasks?: number
  /**
   * Bytes of tasks that do not run, and of the values of contexts; 256 MiB by default. Beyond it the oldest task of
   * whoever keeps most goes, a finished one before one that waits for its user; values go with their context's last.
   */
  readonly maxBytes?: number
  /** How long a finished task is kept, in milliseconds by its status timestamp; for ever by default. */
  readonly maxAgeMs?: number
  /**
   * Records of finished tasks to keep, 2,000 by default: time enough for a reader who lost the connection to come
   * back. Beyond it the logs of the oldest become one record that holds the task.
   */
  readonly maxRecords?: number
  /** Deliveries given up to keep, the newest; 1,000 by default. */
  readonly maxDeadLetters?: number
  /**
   * How long a task may wait for input, in milliseconds, before it is dropped like a finished one; for ever by
   * default.
   */
  readonly maxWaitingMs?: number
  /** The largest write of one task, in bytes; 32 MiB by default. A larger one is refused alone. */
  readonly maxTaskBytes?: number
}

/** What the options of a memory store may be. */
export const memoryOptions: OptionTable<MemoryStoreOptions> = {
  clock: 'object',
  maxTasks: 'number',
  maxBytes: 'number',
  maxAgeMs: 'number',
  maxRecords: 'number',
  maxDeadLetters: 'number',
  maxWaitingMs: 'number',
  maxTaskBytes: 'number',
}

/** Keeps tasks in this process; they are gone when it ends. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions('createMemoryStore', options, memoryOptions)
  const tables = createTables(options)
  const { entries, keys, retention } = tables
  let closed = false
  return {
    async commit(writes) {
      if (closed) throw new A2AError('unavailable', 'The store is closed')
      checkWrites(writes)
      const results = writes.map((write) => applyWrite(tables, write))
      retention.trim()
      return results
    },
    async get(id, scope) {
      const stored = entries.get(id)?.stored
      return stored && (!scope || isSameScope(stored.head.scope, scope)) ? stored : undefined
    },
    async records(id, after, limit) {
      const entry = entries.get(id)
      return entry ? recordsAfter(logOf(entry), after, limit) : []
    },
    async list(filter) {
      retention.trim()
      return toPage(tables, filter, tables.index.page(filter))
    },
    async listAll(filter) {
      retention.trim()
      return toPage(tables, filter, tables.index.pageOfAll(filter))
    },
    claim: async (wanted) => claimable(heads(entries.values()), wanted),
    contextValues: async (scope, contextId) =>
      new Map(tables.contextValues.get(contextKey(scope, contextId))?.values),
    findByKey: async (scope, key) => keys.get(scopeKey(scope) + key),
    pushConfigs: async (taskId) => [...(entries.get(taskId)?.configs?.values() ?? [])],
    claimDeliveries: async (taskId) => [...pending(entries, taskId)],
    webhooks: async (filter) => webhooksOf(tables, filter),
    deadLetters: async (limit, scope) => deadLettersOf(tables, scope).slice(0, limit),
    health: () =>
      closed ? { writable: false, reason: 'The store is closed' } : { writable: true },
    async close() {
      closed = true
    },
  }
}

/** All that a memory store holds. */
interface Tables {
  readonly entries: Map<string, Entry>
  /** Task ids by scope and idempotency key. */
  readonly keys: Map<string, string>
  /** Oldest first. */
  readonly deadLetters: Map<string, DeadLetter>
  readonly maxDeadLetters: number
  readonly maxTaskBytes: number
  /** The values of each context that has any, by its key, and the principal that they count against. */
  readonly contextValues: Map<
    string,
    { readonly principal: string; readonly values: Map<string, Json> }
  >
  readonly index: TaskIndex
  readonly retention: Retention
}

function createTables(options: MemoryStoreOptions): Tables {
  const { clock = systemClock, maxTasks = 10_000, maxAgeMs = Number.POSITIVE_INFINITY } = options
  const { maxRecords = 2_000, maxDeadLetters = 1_000, maxBytes = 256 * 1024 * 1024 } = options
  const { maxWaitingMs = Number.POSITIVE_INFINITY, maxTaskBytes = defaultMaxTaskBytes } = options
  const entries = new Map<string, Entry>()
  const tables: Tables = {
    entries,
    keys: new Map(),
    deadLetters: new Map(),
    contextValues: new Map(),
    maxDeadLetters,
    maxTaskBytes,
    index: new TaskIndex(),
    retention: new Retention(
      { clock, maxTasks, maxBytes, maxAgeMs, maxWaitingMs, maxRecords },
      (task) => forget(tables, task),
    ),
  }
  return tables
}

function* heads(entries: Iterable<Entry>): Iterable<TaskHead> {
  for (const { stored } of entries) yield stored.head
}

/** Sequence numbers have no gaps, so the place of a record follows from that of the first. */
function recordsAfter(
  records: readonly LogRecord[],
  after: number,
  limit = records.length,
): readonly LogRecord[] {
  const from = Math.max(0, after + 1 - (records[0]?.seq ?? 1))
  return records.slice(from, from + limit)
}

async function toPage(
  { entries }: Tables,
  filter: ListConditions,
  { heads, more, total }: HeadPage,
): Promise<TaskPage> {
  const page = await toTaskPage(heads, { ...filter, total }, ({ id }) => {
    const entry = entries.get(id)
    return entry && shownIn(filter, entry.stored)
  })
  const last = heads.at(-1)
  if (page.next || !more || last === undefined) return page
  return { ...page, next: { timestamp: last.timestamp, id: last.id } }
}

function webhooksOf({ entries }: Tables, { scope, limit }: WebhookFilter): Webhook[] {
  const found: Webhook[] = []
  for (const { configs, stored } of [...entries.values()].reverse()) {
    const { head, version } = stored
    if (configs === undefined || (scope && !isSameScope(head.scope, scope))) continue
    for (const record of configs.values()) found.push({ record, head, version })
    if (found.length >= limit) break
  }
  return found.slice(0, limit)
}

function deadLettersOf({ deadLetters, entries }: Tables, scope?: Scope): DeadLetter[] {
  const newest = [...deadLetters.values()].reverse()
  if (scope === undefined) return newest
  return newest.filter(({ taskId }) => {
    const entry = entries.get(taskId)
    return entry !== undefined && isSameScope(entry.stored.head.scope, scope)
  })
}

/** The webhooks of all tasks, or of one, that have not seen all of its log. */
function* pending(
  entries: ReadonlyMap<string, Entry>,
  taskId: string | undefined,
): Iterable<PushConfigRecord> {
  const one = taskId === undefined ? undefined : entries.get(taskId)
  for (const { configs, stored } of taskId === undefined ? entries.values() : one ? [one] : [])
    for (const config of configs?.values() ?? []) if (config.cursor < stored.version) yield config
}

function applyWrite(tables: Tables, write: Write): WriteResult {
  const refused = refusalFor(write, tables.maxTaskBytes)
  if (refused !== undefined) return { refused }
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

const missing: WriteResult = { conflict: 0 }

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
function forget(tables: Tables, entry: Entry): void {
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

type ContextValueWrite = Extract<Write, { type: 'contextValue' }>

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

/** The principal that the values of a context count against: that of its tasks, since they are dropped with them. */
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
