import type { FailureNote } from '../protocol/failure.ts'
import type { DialectName } from '../protocol/operations.ts'
import type {
  Json,
  JsonObject,
  Message,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from '../protocol/types.ts'
import type { Feed, TurnRequest } from './feed.ts'

/**
 * Keeps tasks. Implement it for a database of your own; for less than that there is `TaskStore`.
 *
 * A task is an ordered log of records and a snapshot that folds them. Its version is the sequence number of its last
 * record. Values handed in and out are never changed.
 */
export interface Store {
  /**
   * Writes all or nothing durable, in one transaction; each write has its own result, in order.
   * A task write whose `expectedVersion` is stale is refused alone, and so is a write that cannot be stored at all;
   * the others stand. Where another client of a database has locked one of the tasks, all of it is rejected as
   * `unavailable` and may be committed again.
   */
  commit(writes: readonly Write[]): Promise<readonly WriteResult[]>
  /** A task by its id, if it is in scope. */
  get(id: string, scope?: Scope, parts?: TaskParts): Promise<StoredTask | undefined>
  /** The records of a task's log after a sequence number, in order, at most `limit`. */
  records(id: string, after: number, limit?: number): Promise<readonly LogRecord[]>
  /** A page of tasks, newest status first, ties by id descending (specification §3.1.4). */
  list(filter: TaskListFilter): Promise<TaskPage>
  /** The same over all scopes, for those who may see everything; it can take long, and holds nobody up meanwhile. */
  listAll(filter: AllTasksFilter): Promise<TaskPage>
  /**
   * Takes on busy tasks that no living process runs, by timestamp, then id, and gives their heads. Where one process has
   * the store to itself these are all busy tasks, so it asks once, page by page.
   */
  claim(wanted?: ClaimRequest): Promise<readonly TaskHead[]>
  /** The values of a context by their keys. They go with the context's last task. */
  contextValues(scope: Scope, contextId: string): Promise<ReadonlyMap<string, Json>>
  /** The task that a caller's idempotency key already made. */
  findByKey(scope: Scope, idempotencyKey: string): Promise<string | undefined>
  /** The webhooks of a task, oldest first. */
  pushConfigs(taskId: string): Promise<readonly PushConfigRecord[]>
  /**
   * Takes on webhooks that have not seen all of their task's log and that no other living process delivers, of one task
   * or of all; oldest first.
   */
  claimDeliveries(taskId?: string): Promise<readonly PushConfigRecord[]>
  /** Webhooks of one scope, or of all, those of the newest tasks first. */
  webhooks(filter: WebhookFilter): Promise<readonly Webhook[]>
  /** Deliveries given up, newest first; of one scope, or of all. */
  deadLetters(limit?: number, scope?: Scope): Promise<readonly DeadLetter[]>
  /** Whether writes are possible now. While they are not and no commit runs, no new task begins: find out by yourself when they are again. */
  health(): StoreHealth
  /** Stores what waits and releases everything. May be called twice. */
  close(): Promise<void>
  /** How processes that share the store work together; absent where one process has it to itself. */
  readonly feed?: Feed
  /**
   * The least time between two commits of one task's chunks, in milliseconds; none if absent. Whatever somebody waits
   * for does not wait.
   */
  readonly chunkGapMs?: number
}

/** Which tasks to take on: all, if nothing is said. */
export interface ClaimRequest {
  /** Only those of this agent. */
  readonly agent?: string
  /** The digest of the agent's definition here: tasks begun with another one are left to those who have that. */
  readonly build?: string
  /** The most tasks to take on. */
  readonly limit?: number
  /** Only those after this place. */
  readonly after?: TaskCursor
}

/** Whose tasks: those of a caller, of a tenant, with a served agent. Nothing crosses a scope. */
export interface Scope {
  /** The served agent's id. */
  readonly agent: string
  /** The tenant; empty where none is named. */
  readonly tenant: string
  /** The caller's user id; empty for the anonymous one. */
  readonly owner: string
}

/** What is always current of a stored task, however old its snapshot. */
export interface TaskHead {
  readonly id: string
  readonly scope: Scope
  readonly contextId: string
  readonly state: TaskState
  /** ISO 8601 with milliseconds; sorts as text. */
  readonly timestamp: string
  /** Whether there is work left: a turn runs or a message waits. */
  readonly busy: boolean
  /** 1 at first and one more with each public status or artifact event, without gaps. */
  readonly generation: number
  /** A digest of the agent's definition that the last run began with; empty where unknown. */
  readonly build: string
}

/** A task as stored: current columns, and a snapshot that may be older than the log. */
export interface StoredTask {
  /** What is always current. */
  readonly head: TaskHead
  /** The sequence number of the last record. */
  readonly version: number
  /** The snapshot. */
  readonly task: Task
  /** The last record that the snapshot contains. */
  readonly taskVersion: number
  /** The replica that runs the task; absent where nobody does, or where one process has the store to itself. */
  readonly replica?: number
  /** How many entries wait in its inbox. */
  readonly mail?: number
}

/**
 * One entry of a task's log. Only `event` is public; the others serve recovery and the trace. Pass over kinds that you
 * do not know: a newer version may have written them.
 */
export type LogRecord =
  /** What clients are told. */
  | {
      readonly seq: number
      readonly kind: 'event'
      readonly event: StreamResponse
      /** The key of the inbox entry that a change came by, where another replica took it in. */
      readonly forwarded?: string
      /** Why the task failed; absent in logs of earlier versions. */
      readonly failure?: FailureNote
    }
  /** A message of the client, which is the turn's. */
  | {
      readonly seq: number
      readonly kind: 'message'
      readonly turn: number
      readonly message: Message
      readonly request: TurnRequest
    }
  /** A turn begins, or begins again. */
  | {
      readonly seq: number
      readonly kind: 'start'
      readonly turn: number
      readonly attempt: number
      /** What deaths of the process this turn has seen; absent where it has seen none. */
      readonly deaths?: Deaths
    }
  /** A planned stop of the process interrupted the turn: no death, and no attempt. */
  | { readonly seq: number; readonly kind: 'stop'; readonly turn: number }
  /** A turn that was suspected of killing the process has run long enough to be cleared. */
  | { readonly seq: number; readonly kind: 'alive'; readonly turn: number }
  /** The turn is over, or its agent has heard of the cancel, where no event says so. */
  | { readonly seq: number; readonly kind: 'rest'; readonly turn: number }
  /** The result of a durable step. */
  | {
      readonly seq: number
      readonly kind: 'step'
      readonly turn: number
      readonly name: string
      readonly result: Json
    }
  /** A value that the agent keeps with the task. */
  | { readonly seq: number; readonly kind: 'state'; readonly key: string; readonly value: Json }
  /** The client has canceled the task. */
  | { readonly seq: number; readonly kind: 'cancel'; readonly at: string }
  /** Another replica has taken the task on: from here on its former one can write nothing more. */
  | { readonly seq: number; readonly kind: 'claim'; readonly by: number; readonly at: string }
  /** A message that waited and will not be answered. */
  | {
      readonly seq: number
      readonly kind: 'dropped'
      readonly messageId: string
      readonly reason: string
    }
  /** An entry of the trace. */
  | {
      readonly seq: number
      readonly kind: 'trace'
      readonly at: string
      readonly entry: JsonObject
      /** Why what the entry is about failed; absent in logs of earlier versions. */
      readonly failure?: FailureNote
    }

/** How often the process died while a turn ran, so that one which kills it is found. */
export interface Deaths {
  /** While this turn ran, in all. */
  readonly total: number
  /** Of them, those since the turn was last seen to get on. */
  readonly silent: number
  /** Of these, those in which it was the only suspect that ran. */
  readonly alone: number
  /** How many suspects might run at once when it started; absent where it was none. */
  readonly apart?: number
}

/** A record before it has its place in the log. */
export type RecordDraft = LogRecord extends infer R
  ? R extends LogRecord
    ? Omit<R, 'seq'>
    : never
  : never

/** One change to a store; several go into one commit. */
export type Write =
  | TaskWrite
  | { readonly type: 'deleteTask'; readonly id: string }
  | { readonly type: 'pushConfig'; readonly record: PushConfigRecord }
  | { readonly type: 'deletePushConfig'; readonly taskId: string; readonly id: string }
  | {
      readonly type: 'cursor'
      readonly taskId: string
      readonly id: string
      readonly cursor: number
      /** The delivery that was given up at this step of the cursor. */
      readonly deadLetter?: DeadLetter
    }
  | { readonly type: 'deleteDeadLetter'; readonly id: string }
  | {
      readonly type: 'contextValue'
      readonly scope: Scope
      readonly contextId: string
      readonly key: string
      /** The last write wins; null deletes. */
      readonly value: Json | null
    }

/** A write to one task: new records, what is current, and its snapshot where it is rewritten. */
export interface TaskWrite {
  readonly type: 'task'
  readonly head: TaskHead
  /** The last sequence number the writer knows; 0 makes a new task. */
  readonly expectedVersion: number
  /** Records `expectedVersion + 1` and on, without gaps. */
  readonly records: readonly LogRecord[]
  /** The task with all of `records` folded in; always present on the first write. */
  readonly task?: Task
  /** About how many bytes `records` take, where the writer has weighed them. */
  readonly bytes?: number
  /** Whose share of a bounded store a new task is kept in; its owner's if absent. */
  readonly principal?: string | undefined
  /** Ties the caller's key to a new task; refused with `existing` where the key is already tied. */
  readonly idempotencyKey?: string
  /** Entries of the task's inbox that these records answer: they are taken away with this write. */
  readonly takes?: readonly number[]
}

/** What became of one write. */
export type WriteResult =
  /** It is stored; the task's version from here on, 0 where the write was not about a task that still is. */
  | { readonly version: number }
  /** The stored version that the write did not expect; 0 if the task, webhook or dead letter is not there. */
  | { readonly conflict: number }
  /** The task that already has this idempotency key. */
  | { readonly existing: string }
  /** Why this write can never be stored: it cannot be serialised, or it is larger than the store takes. */
  | { readonly refused: string }

/** Which tasks of one scope to list. */
export interface TaskListFilter extends ListConditions {
  readonly scope: Scope
}

/** Which tasks to list, whosever they are. */
export interface AllTasksFilter extends ListConditions {
  /** Those of one served agent; of all if absent. */
  readonly agent?: string
}

/** How much of a task to read. A store that has it at hand may give more. */
export interface TaskParts {
  /** Whether tasks come with their artifacts, as by default; without, the store does not even read them. */
  readonly artifacts?: boolean
  /**
   * Whether what is soon read is enough: tasks come without their artifacts, and those of more than 16 KiB with what
   * their heads tell alone, so that a page costs little whatever is in it.
   */
  readonly light?: boolean
}

/** Which tasks to list. */
export interface ListConditions extends TaskParts {
  /** Only those of this conversation. */
  readonly contextId?: string
  /** Only those in this state. */
  readonly state?: TaskState
  /** Only those whose status is of this moment or later. */
  readonly timestampAfter?: string
  /** The most tasks of a page. */
  readonly limit: number
  /** About the most bytes of them: a page ends with the task that reaches it. Without bound if absent. */
  readonly maxBytes?: number
  /** Where the page begins. */
  readonly cursor?: TaskCursor
  /** Whether the page says how many tasks match, as by default; without, `total` says nothing, and may be 0. */
  readonly counted?: boolean
}

/** Where a page begins: strictly after this task in the order of the list. */
export interface TaskCursor {
  readonly timestamp: string
  readonly id: string
}

/** A page of tasks. */
export interface TaskPage {
  readonly tasks: readonly StoredTask[]
  /** Where the next page begins; absent on the last one. */
  readonly next?: TaskCursor
  /** How many tasks match, on all pages together. */
  readonly total: number
}

/** A webhook and how far along the task's log it is. */
export interface PushConfigRecord {
  readonly taskId: string
  readonly id: string
  /** The webhook as it was registered. */
  readonly config: TaskPushNotificationConfig
  /** The wire on which it was registered; events are written in it. */
  readonly dialect: DialectName
  /** Which events it gets: `statusChanged`, `artifactAdded`, `completed`, `failed`, `cancelled`; all if absent. */
  readonly events?: readonly string[]
  /** The last sequence number delivered or passed over. */
  readonly cursor: number
  /** The served agent whose task it is. */
  readonly agent: string
}

/** Which webhooks to list. */
export interface WebhookFilter {
  /** Those of the tasks of one scope; of all if absent. */
  readonly scope?: Scope
  /** The most webhooks to list. */
  readonly limit: number
}

/** A webhook with the task that it belongs to. */
export interface Webhook {
  readonly record: PushConfigRecord
  readonly head: TaskHead
  /** The sequence number of the last record of the task's log. */
  readonly version: number
}

/** A delivery to a webhook that was given up. */
export interface DeadLetter {
  readonly id: string
  readonly taskId: string
  /** The webhook. */
  readonly configId: string
  /** The number of the event in its task's log. */
  readonly seq: number
  /** How often it was tried. */
  readonly attempts: number
  /** Why the last try failed. */
  readonly reason: string
  /** When it was given up. */
  readonly at: string
}

/** Whether a store can write, and if not, why. */
export interface StoreHealth {
  readonly writable: boolean
  readonly reason?: string
  /** How long the oldest commit that is not stored yet has waited, in milliseconds; absent where none waits. */
  readonly oldestCommitMs?: number
}
