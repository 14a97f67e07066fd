import type { Message, Task, TaskState } from '../../../src/protocol/types.ts'
import type {
  LogRecord,
  PushConfigRecord,
  Scope,
  Store,
  StoredTask,
  TaskCursor,
  TaskListFilter,
  TaskWrite,
} from '../../../src/store/store.ts'

/** The scope that samples live in. */
export const scope: Scope = { agent: 'agent', tenant: 'tenant', owner: 'owner' }

/** A moment so many seconds after a fixed one. */
export function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()
}

/** What a sample write may differ in. */
export interface SampleOptions {
  readonly scope?: Scope
  readonly contextId?: string
  readonly state?: TaskState
  readonly second?: number
  readonly expectedVersion?: number
  /** How many records; one by default. */
  readonly records?: number
  readonly idempotencyKey?: string
  /** False for a write that leaves the snapshot as it is. */
  readonly snapshot?: boolean
  readonly text?: string
  /** Whether there is work left; by default, as the state has it. */
  readonly busy?: boolean
  readonly generation?: number
  readonly build?: string
}

/** A write of a task, frozen through and through: a store that changes what it is given fails here. */
export function write(id: string, options: SampleOptions = {}): TaskWrite {
  const { expectedVersion = 0, records = 1, state = 'TASK_STATE_COMPLETED', second = 0 } = options
  const contextId = options.contextId ?? `context of ${id}`
  const timestamp = at(second)
  const {
    busy = state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_WORKING',
    generation = 1,
    build = '',
  } = options
  const work = { busy, generation, build }
  const task = sampleTask(id, { contextId, state, timestamp, text: options.text ?? 'hello' })
  return freeze<TaskWrite>({
    type: 'task',
    head: { id, scope: options.scope ?? scope, contextId, state, timestamp, ...work },
    expectedVersion,
    records: Array.from({ length: records }, (_, i) => record(task, expectedVersion + 1 + i)),
    ...(options.snapshot === false ? {} : { task }),
    ...(options.idempotencyKey === undefined ? {} : { idempotencyKey: options.idempotencyKey }),
  })
}

interface TaskOptions {
  readonly contextId: string
  readonly state: TaskState
  readonly timestamp: string
  readonly text: string
}

function sampleTask(id: string, { contextId, state, timestamp, text }: TaskOptions): Task {
  return {
    id,
    contextId,
    status: { state, timestamp },
    history: [message(id, text)],
    artifacts: [
      { artifactId: 'response', parts: [{ text }, { data: null }, { data: { n: 1.5 } }] },
    ],
    metadata: { 'a "quoted" key': 'ünï\u0000code 🎈' },
  }
}

function message(taskId: string, text: string): Message {
  return { messageId: `message of ${taskId}`, role: 'ROLE_USER', parts: [{ text }], taskId }
}

function record(task: Task, seq: number): LogRecord {
  const { id: taskId, contextId, status } = task
  if (seq === 1) {
    const request = { userId: 'owner', hops: ['a'] }
    return { seq, kind: 'message', turn: 1, message: message(taskId, 'hello'), request }
  }
  if (seq % 2 === 0) return { seq, kind: 'step', turn: 1, name: `step ${seq}`, result: [seq, null] }
  return { seq, kind: 'event', event: { statusUpdate: { taskId, contextId, status } } }
}

/** A webhook of a task. */
export function pushConfig(taskId: string, id: string, cursor = 0): PushConfigRecord {
  return freeze<PushConfigRecord>({
    taskId,
    id,
    config: { id, taskId, url: `https://hooks.example/${id}`, token: 'secret' },
    dialect: '1.0',
    events: ['completed'],
    cursor,
    agent: 'agent',
  })
}

/** Ids of all tasks on all pages of a list. */
export async function listAll(store: Store, filter: TaskListFilter): Promise<string[]> {
  const ids: string[] = []
  let cursor: TaskCursor | undefined = filter.cursor
  do {
    const page = await store.list({ ...filter, ...(cursor && { cursor }) })
    ids.push(...page.tasks.map(idOf))
    cursor = page.next
  } while (cursor)
  return ids
}

/** The id of a stored task. */
export function idOf(stored: StoredTask): string {
  return stored.head.id
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) freeze(member)
  return Object.freeze(value)
}
