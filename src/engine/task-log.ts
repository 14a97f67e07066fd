import { A2AError } from '../protocol/errors.ts'
import type { FailureNote } from '../protocol/failure.ts'
import { type DialectName, principalOf } from '../protocol/operations.ts'
import { canTransition, createFold, type Fold, isTerminal } from '../protocol/task.ts'
import type {
  Json,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../protocol/types.ts'
import { weighRecord } from '../store/size-limits.ts'
import type {
  LogRecord,
  RecordDraft,
  Scope,
  TaskWrite,
  Write,
  WriteResult,
} from '../store/store.ts'
import { type CommitSource, storeErrorOf } from './commit.ts'
import type { Engine } from './engine.ts'
import { toPushRecord } from './queued-messages.ts'

/** Which task a log is of. */
interface TaskKey {
  readonly id: string
  readonly contextId: string
  readonly scope: Scope
  /** The stored task's, where there is one. */
  readonly generation?: number
  readonly build?: string
  /** The principal that a bounded store counts a new task against. */
  readonly principal?: string
}

/** A task and the sequence number of the last record in it. */
export interface VersionedTask {
  readonly task: Task
  readonly version: number
}

/** A task as a store has it. */
export interface StoredLog extends VersionedTask {
  /** About how many bytes its records are. */
  readonly bytes: number
}

interface Waiter {
  readonly seq: number
  /** Called when everything up to there is stored, or with the reason why it is not. */
  readonly settled: (refusal: A2AError | undefined) => void
}

/**
 * The log of one live task and the reducer over it: the only place where the task changes.
 *
 * An event is checked when it comes in, reduced when a commit begins and published when it is stored, so that after each
 * commit the reducer has exactly what is stored. `state` is therefore ahead of the reducer between `emit` and the commit.
 * A class, not closures: one is made per request.
 */
export class TaskLog implements CommitSource {
  readonly id: string
  readonly contextId: string
  readonly scope: Scope
  /** The principal that the task's bytes are counted against. */
  readonly principal: string
  /** The state after everything that has come in, stored or not: the next event is checked against it. */
  state: TaskState = 'TASK_STATE_UNSPECIFIED'
  /** When that state was entered. */
  timestamp: string | undefined
  /** The sequence number of the last record that has come in. */
  seq = 0
  /** The sequence number of the last stored record. */
  version = 0
  /** About how many bytes the log holds. */
  size: number
  /** About how many bytes of records go into the next commit. */
  pendingBytes = 0
  /** Whether there is work left: a turn runs, a message waits, or the agent is yet to be notified of a cancel. */
  busy = true
  /** The definition digest that the last run began with. */
  build: string
  /** Whether the task is in the store only. */
  unloaded = false

  readonly #engine: Engine
  /** The principal as a bounded store is given it; undefined for a task that was loaded. */
  readonly #newPrincipal: string | undefined
  /** The artifact that came last, which chunks mostly continue; those before it, where there are any. */
  #lastArtifact: string | undefined
  #earlierArtifacts: Set<string> | undefined
  #events: number
  /** How many of its bytes are counted among those of all live tasks. */
  #countedBytes = 0
  #pending: LogRecord[] = []
  #inFlight: readonly LogRecord[] = []
  #webhookInFlight = false
  #waiters: Waiter[] = []
  #extraWrites: Write[] = []
  /** The forwarded messages that this log has taken, and of them those that go into the next commit. */
  #taken: Set<number> | undefined
  #takes: number[] | undefined
  /** Why nothing more is written once the commit under way has ended. */
  #leaving: A2AError | undefined
  #broken: A2AError | undefined
  /** The task as far as commits have reduced it; undefined before its first commit and while it is unloaded. */
  #reducer: Fold | undefined
  /** 1 when the task is created, and one more with each status or artifact event. */
  #generation: number
  /** Whether the last write said that there is work left. */
  #busyPersisted = true
  #idempotencyKey: string | undefined
  /** Whether the next write has the whole task, and whether its texts are merged before. */
  #rewrite = false
  #compact = false

  constructor(engine: Engine, key: TaskKey, stored?: StoredLog) {
    this.#engine = engine
    this.id = key.id
    this.contextId = key.contextId
    this.scope = key.scope
    this.build = key.build ?? ''
    this.principal = key.principal ?? ownerOf(key.scope)
    this.#newPrincipal = key.principal
    this.#generation = key.generation ?? 1
    this.size = stored?.bytes ?? 0
    this.#events = stored ? this.#generation : 0
    this.#countLive()
    if (!stored) return
    this.#reducer = createFold(stored.task, { strict: true })
    this.#enter(stored.task)
    this.seq = stored.version
    this.version = stored.version
  }

  /** Whether there is a task; before its first event there is none. */
  get exists(): boolean {
    return this.state !== 'TASK_STATE_UNSPECIFIED'
  }
  /** Whether nothing more is to be stored: everything is, or the store has rejected it. */
  get quiet(): boolean {
    return this.#broken !== undefined || this.backlog === 0
  }
  /** Whether nothing more can be written: the store has rejected a commit, or another process is to continue. */
  get broken(): boolean {
    return this.#broken !== undefined || this.#leaving !== undefined
  }
  /** Whether the store will know how busy the task is without a record of its own for that. */
  get willPersistBusy(): boolean {
    return this.#pending.length > 0 || this.#busyPersisted === this.busy
  }
  /** About how many bytes its next writes have: the records, and the task where it is written as a whole. */
  get commitBytes(): number {
    return this.#rewrite ? this.pendingBytes + this.size : this.pendingBytes
  }
  /** How many records wait to be stored. */
  get backlog(): number {
    return this.#pending.length + this.#inFlight.length
  }

  /** Appends a private record. It is stored with the next commit. @throws A2AError where the task grows too large. */
  append(draft: RecordDraft): void {
    const record = toRecord(draft, this.seq + 1)
    this.#push(record, this.#mustFit(record))
  }

  /**
   * Records that a message will not be answered. The record goes before an end of the task that is not stored yet, for
   * readers that stop at the end.
   */
  drop(messageId: string, reason: string): void {
    const isOver = isTerminal(this.state) && this.#pending.at(-1)?.kind === 'event'
    const end = isOver ? this.#pending.pop() : undefined
    if (end) this.seq--
    this.append({ kind: 'dropped', messageId, reason })
    if (end) this.#pending.push({ ...end, seq: ++this.seq })
  }

  /**
   * Appends an event, with why the task failed where it ends it.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is, or where the task grows too large.
   */
  emit(event: StreamResponse, failure?: FailureNote): void {
    const seq = this.seq + 1
    const record: LogRecord = failure
      ? { seq, kind: 'event', event, failure }
      : { seq, kind: 'event', event }
    const bytes = this.#mustFit(record)
    this.#check(event)
    this.#push(record, bytes)
  }

  /**
   * Appends an event that comes from outside a turn: also a whole task, in place of the one there is.
   * @param forwarded The key of the forwarded message that it came by.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is, or where the task grows too large.
   */
  amend(event: StreamResponse, forwarded?: string): void {
    const seq = this.seq + 1
    const record: LogRecord = { seq, kind: 'event', event, ...(forwarded && { forwarded }) }
    const bytes = this.#mustFit(record)
    if ('task' in event) {
      this.#enterStatus(event.task.status)
      this.#lastArtifact = undefined
      this.#earlierArtifacts = undefined
      this.#enter(event.task)
    } else this.#check(event)
    this.#push(record, bytes)
  }

  /** Checks an event against what has come in. @throws A2AError `invalidAgentResponse` where it may not follow. */
  #check(event: StreamResponse): void {
    if ('statusUpdate' in event) this.#enterStatus(event.statusUpdate.status)
    else if ('artifactUpdate' in event) this.#checkArtifact(event.artifactUpdate)
    else if ('task' in event) {
      if (this.exists) throw invalid(`A second Task for task ${this.id}`)
      this.#enter(event.task)
    }
  }

  #enter({ status, artifacts }: Task): void {
    this.state = status.state
    this.timestamp = status.timestamp
    if (artifacts) for (const { artifactId } of artifacts) this.#addArtifact(artifactId)
  }

  #enterStatus({ state, timestamp }: TaskStatus): void {
    if (!canTransition(this.state, state))
      throw invalid(`Task ${this.id} cannot go from ${this.state} to ${state}`)
    this.state = state
    this.timestamp = timestamp
  }

  #checkArtifact({
    artifact,
    append,
  }: {
    artifact: { artifactId: string }
    append?: boolean
  }): void {
    if (isTerminal(this.state)) throw invalid(`Artifact after ${this.state}: task ${this.id}`)
    const { artifactId } = artifact
    if (!append) this.#addArtifact(artifactId)
    else if (artifactId !== this.#lastArtifact && !this.#earlierArtifacts?.has(artifactId))
      throw invalid(`Chunk of unknown artifact ${artifactId}`)
  }

  #addArtifact(id: string): void {
    if (this.#lastArtifact !== undefined && this.#lastArtifact !== id) {
      this.#earlierArtifacts ??= new Set()
      this.#earlierArtifacts.add(this.#lastArtifact)
    }
    this.#lastArtifact = id
  }

  #push(record: LogRecord, bytes: number): void {
    const refusal = this.#broken ?? this.#leaving
    if (refusal) throw refusal
    this.seq = record.seq
    this.size += bytes
    if (record.kind === 'event') this.#events++
    this.#countLive()
    this.pendingBytes += bytes
    this.#pending.push(record)
    if (this.exists) this.#engine.commits.enqueue(this, 'burst')
  }

  /** Why the task cannot hold this as well; undefined where it can. */
  refusalOf(draft: RecordDraft): A2AError | undefined {
    const record = toRecord(draft, this.seq + 1)
    return this.#refusalOf(record, weighRecord(record))
  }

  /** How many bytes a record takes. The first records of a task are never too large: an error needs a task. */
  #mustFit(record: LogRecord): number {
    const bytes = weighRecord(record)
    const refusal = this.exists ? this.#refusalOf(record, bytes) : undefined
    if (!refusal) return bytes
    this.#engine.tasks.get(this.id)?.outgrow(refusal)
    throw refusal
  }

  #refusalOf(record: LogRecord, bytes: number): A2AError | undefined {
    const { maxTaskBytes, maxTaskEvents } = this.#engine.limits
    const { liveBytes } = this.#engine
    const after = this.size + bytes
    const isStep = after > this.#countedBytes + freeBytes
    const isCrowded =
      isStep && liveBytes?.fits(this.principal, after - this.#countedBytes) === false
    const isEvent = record.kind === 'event'
    if (!isCrowded && after <= maxTaskBytes && (!isEvent || this.#events < maxTaskEvents))
      return undefined
    if (!growing.has(record.kind)) return undefined
    if (bytes <= maxEndBytes && (isEnd(record) || isTerminal(this.state))) return undefined
    if (after > maxTaskBytes) return tooLarge(`${maxTaskBytes} bytes`)
    return isCrowded ? tooManyLive() : tooLarge(`${maxTaskEvents} events`)
  }

  /** Counts the task's bytes among those of all live tasks, once it holds enough for that. */
  #countLive(): void {
    if (this.size > this.#countedBytes + freeBytes) this.#count(this.size - this.#countedBytes)
  }

  #count(bytes: number): void {
    this.#countedBytes += bytes
    this.#engine.liveBytes?.change(this.principal, bytes)
  }

  /** The task is no longer live, so its bytes are no longer counted among the live ones. May be called twice. */
  release(): void {
    if (this.#countedBytes > 0) this.#count(-this.#countedBytes)
  }

  /** The snapshot is compacted and rewritten with the next commit, which begins at once. */
  endTurn(): void {
    this.#compact = true
    this.#rewrite = true
    this.#engine.commits.enqueue(this, 'now')
  }

  /** Binds the caller's key to the task with the next commit. */
  bindIdempotencyKey(key: string): void {
    this.#idempotencyKey = key
    this.#rewrite = true
  }

  /** Stores a value of the context, together with the records that follow. */
  setContextValue(key: string, value: Json | null): void {
    const { scope, contextId } = this
    this.#extraWrites.push({ type: 'contextValue', scope, contextId, key, value })
  }

  /** Registers a webhook for what follows `cursor`; it is stored together with the records that wait. */
  register(config: TaskPushNotificationConfig, dialect: DialectName, cursor: number): void {
    const record = toPushRecord(config, { taskId: this.id, agent: this.scope.agent, dialect })
    this.#extraWrites.push({ type: 'pushConfig', record: { ...record, cursor } })
    if (this.exists) this.#engine.commits.enqueue(this, 'burst')
  }

  /** Whether a forwarded message has been taken. */
  hasTaken(entry: number): boolean {
    return this.#taken?.has(entry) ?? false
  }

  /** Takes a forwarded message: it is removed by the commit that has the records which follow and answer it. */
  take(entry: number): void {
    this.#taken ??= new Set()
    this.#taken.add(entry)
    this.#takes ??= []
    this.#takes.push(entry)
  }

  reduce(): readonly Write[] {
    const records = this.#pending
    if (this.#broken || this.#leaving) return []
    if (records.length === 0 && this.#extraWrites.length === 0) return []
    this.#pending = []
    this.#inFlight = records
    const write = this.#toWrite(records)
    this.pendingBytes = 0
    const extra = this.#extraWrites
    if (extra.length === 0) return write ? [write] : []
    this.#extraWrites = []
    this.#webhookInFlight = extra.some(({ type }) => type === 'pushConfig')
    return write ? [write, ...extra] : extra
  }

  /** Reduces records and returns the write that stores them; undefined where there is no task yet. */
  #toWrite(records: readonly LogRecord[]): TaskWrite | undefined {
    if (this.unloaded) throw new Error(`Task ${this.id} is written while it is unloaded`)
    const before = this.#reducer?.state
    for (const record of records) this.#reduceRecord(record)
    const reducer = this.#reducer
    if (!reducer || records.length === 0) return undefined
    if (this.#compact) reducer.compact()
    const rewrite = this.#rewrite || reducer.state !== before
    this.#compact = false
    this.#rewrite = false
    const write = this.#createWrite(reducer, records, rewrite)
    if (!this.#takes) return write
    const takes = this.#takes
    this.#takes = undefined
    return { ...write, takes }
  }

  #reduceRecord(record: LogRecord): void {
    if (record.kind === 'event') {
      const { event } = record
      if (this.#reducer) {
        this.#reducer.apply(event)
        if ('statusUpdate' in event || 'artifactUpdate' in event) this.#generation++
      } else if ('task' in event) this.#reducer = createFold(event.task, { strict: true })
    } else if (record.kind === 'message') this.#reducer?.hear(record.message)
  }

  #createWrite(reducer: Fold, records: readonly LogRecord[], rewrite: boolean): TaskWrite {
    const { id, scope, contextId, busy, build, version: expectedVersion } = this
    const { state, timestamp } = reducer
    this.#busyPersisted = busy
    const generation = this.#generation
    const head = { id, scope, contextId, state, timestamp, busy, generation, build }
    const bytes = this.pendingBytes
    if (!rewrite) return { type: 'task', head, expectedVersion, records, bytes }
    const task = reducer.snapshot()
    const principal = this.#newPrincipal
    const idempotencyKey = this.#idempotencyKey
    if (idempotencyKey === undefined)
      return { type: 'task', head, expectedVersion, records, bytes, task, principal }
    this.#idempotencyKey = undefined
    return { type: 'task', head, expectedVersion, records, bytes, task, principal, idempotencyKey }
  }

  stored(results: readonly WriteResult[]): void {
    const rejected = results.find((result) => 'refused' in result) ?? results[0]
    const error = rejected && storeErrorOf(rejected, this.id)
    if (error) {
      this.refused(error, 'refused' in rejected)
      return
    }
    const records = this.#inFlight
    const registered = this.#webhookInFlight
    this.#inFlight = []
    this.#webhookInFlight = false
    const last = records.at(-1)
    if (last) this.version = last.seq
    if (records.length > 0 || results.length > 0)
      this.#engine.onStored(this.id, records, registered)
    this.#settle()
    if (this.#leaving) this.refused(this.#leaving)
  }

  refused(error: A2AError, never = false): void {
    this.#broken = error
    this.release()
    this.#inFlight = []
    this.#engine.onRefused(this, error, never)
    this.#settle()
  }

  #settle(): void {
    if (this.#waiters.length === 0) return
    const due: Waiter[] = []
    const waiting: Waiter[] = []
    for (const waiter of this.#waiters) {
      if (this.#broken || waiter.seq <= this.version) due.push(waiter)
      else waiting.push(waiter)
    }
    this.#waiters = waiting
    for (const { settled } of due) settled(this.#broken)
  }

  /**
   * Writes nothing more, because another process continues the task; a commit under way ends first. False for a task of
   * which nothing is stored: no other process can have it.
   */
  leave(reason: A2AError): boolean {
    const isUnderway = this.#inFlight.length > 0
    if (this.broken || (this.version === 0 && !isUnderway)) return false
    if (isUnderway) this.#leaving = reason
    else this.refused(reason)
    return true
  }

  /** Resolves when everything that has come in is stored. Rejects with the store's error. */
  committed(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.whenCommitted((refusal) => (refusal ? reject(refusal) : resolve())),
    )
  }

  /** Calls back when everything that has come in is stored or rejected: `committed` without a promise. */
  whenCommitted(settled: Waiter['settled']): void {
    if (this.#broken || (this.version === this.seq && this.#extraWrites.length === 0)) {
      settled(this.#broken)
      return
    }
    this.#waiters.push({ seq: this.seq, settled })
    this.#engine.commits.enqueue(this, 'now')
  }

  /** The task as of the last commit; only where nothing is under way, as in `whenCommitted`. */
  current(): Task {
    const task = this.#reducer?.snapshot()
    if (!task) throw new A2AError('taskNotFound', `Task not found: ${this.id}`)
    return task
  }

  /** The task as stored; waits for a commit that is under way. */
  async snapshot(): Promise<VersionedTask> {
    const stored = (): VersionedTask => ({ task: this.current(), version: this.version })
    if (this.#inFlight.length === 0 && this.#reducer) return stored()
    if (this.unloaded) return this.#engine.readVersion(this.id)
    // Taken in the callback: an await would return when the next commit has already reduced its records.
    return new Promise((resolve, reject) =>
      this.whenCommitted((refusal) => (refusal ? reject(refusal) : resolve(stored()))),
    )
  }

  /** Removes a stored task from memory; false where something is yet to be stored. Nothing may be written until `reload`. */
  unload(): boolean {
    const isStored = this.backlog === 0 && this.#extraWrites.length === 0
    if (this.#broken || !isStored || !this.#reducer) return false
    this.#reducer = undefined
    this.unloaded = true
    this.release()
    return true
  }

  /** Loads the task again, as it is stored. @throws A2AError where it is not the one that was unloaded. */
  reload({ task, version }: VersionedTask): void {
    if (version !== this.version) throw storeErrorOf({ conflict: version }, this.id)
    if (!this.unloaded) return
    this.#reducer = createFold(task, { strict: true })
    this.unloaded = false
    this.#countLive()
  }
}

/** The principal of a stored task: an address is not stored. */
function ownerOf({ owner }: Scope): string {
  return owner === '' ? '' : principalOf({ auth: { userId: owner } })
}

function invalid(message: string): A2AError {
  return new A2AError('invalidAgentResponse', message)
}

/** Bytes that a task may hold before they count among those of all live tasks: most never count, and others in steps. */
const freeBytes = 16 * 1024

/** How a task ends, and what its agent saves then, is written up to so many bytes, whatever the task holds. */
const maxEndBytes = 64 * 1024

/** Records that a caller or an agent can make many or large; the others are few and ours. */
const growing: ReadonlySet<string> = new Set(['event', 'message', 'step', 'state', 'trace'])

function isEnd(record: LogRecord): boolean {
  return (
    record.kind === 'event' &&
    'statusUpdate' in record.event &&
    isTerminal(record.event.statusUpdate.status.state)
  )
}

function tooManyLive(): A2AError {
  return new A2AError(
    'unavailable',
    'The tasks that run hold as much as they may together; this one is given up. Send it again later',
  )
}

function tooLarge(limit: string): A2AError {
  return new A2AError('processingError', `The task has grown beyond ${limit}; it is given up`)
}
/** A record with all its members, so that one which is added to a kind cannot be forgotten here. */
type Whole<Kind extends LogRecord['kind']> = Required<Extract<LogRecord, { kind: Kind }>>

/** A draft at its place in the log. The usual kinds are written out: a spread costs more than all else about a record. */
function toRecord(draft: RecordDraft, seq: number): LogRecord {
  switch (draft.kind) {
    case 'message':
      return {
        seq,
        kind: 'message',
        turn: draft.turn,
        message: draft.message,
        request: draft.request,
      } satisfies Whole<'message'>
    case 'step':
      return {
        seq,
        kind: 'step',
        turn: draft.turn,
        name: draft.name,
        result: draft.result,
      } satisfies Whole<'step'>
    case 'trace':
      if (!draft.failure)
        return { seq, kind: 'trace', at: draft.at, entry: draft.entry } satisfies Omit<
          Whole<'trace'>,
          'failure'
        >
      break
    case 'start':
      if (!draft.deaths)
        return {
          seq,
          kind: 'start',
          turn: draft.turn,
          attempt: draft.attempt,
        } satisfies Omit<Whole<'start'>, 'deaths'>
  }
  return { seq, ...draft } as LogRecord // a draft lacks nothing else; TypeScript loses the union in the spread
}
