import { A2AError } from '../../protocol/errors.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { claimable, shownIn, toTaskPage } from '../list.ts'
import { checkWrites, defaultMaxTaskBytes } from '../refusal.ts'
import { contextKey, isSameScope, scopeKey } from '../scope.ts'
import type {
  DeadLetter,
  ListConditions,
  LogRecord,
  PushConfigRecord,
  Scope,
  Store,
  TaskHead,
  TaskPage,
  Webhook,
  WebhookFilter,
} from '../store.ts'
import type { Entry } from './entry.ts'
import { createRetention, logOf } from './retention.ts'
import { createTaskIndex, type HeadPage } from './task-index.ts'
import { applyWrite, forget, type Tables } from './writes.ts'

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

/** Keeps tasks in this process; they are gone when it ends. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
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
    claimDeliveries: async (taskId) => [...pending(some(entries, taskId))],
    webhooks: async (filter) => webhooksOf(tables, filter),
    deadLetters: async (limit, scope) => deadLettersOf(tables, scope).slice(0, limit),
    health: () =>
      closed ? { writable: false, reason: 'The store is closed' } : { writable: true },
    async close() {
      closed = true
    },
  }
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
    index: createTaskIndex(() => heads(entries.values())),
    retention: createRetention(
      { clock, maxTasks, maxBytes, maxAgeMs, maxWaitingMs, maxRecords },
      (task) => forget(tables, task),
    ),
  }
  return tables
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

function some(entries: ReadonlyMap<string, Entry>, taskId?: string): Iterable<Entry> {
  if (taskId === undefined) return entries.values()
  const entry = entries.get(taskId)
  return entry ? [entry] : []
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

function* heads(entries: Iterable<Entry>): Iterable<TaskHead> {
  for (const { stored } of entries) yield stored.head
}

function* pending(entries: Iterable<Entry>): Iterable<PushConfigRecord> {
  for (const { configs, stored } of entries)
    for (const config of configs?.values() ?? []) if (config.cursor < stored.version) yield config
}
