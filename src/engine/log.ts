import { type DialectName, principalOf } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type {
  Json,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from '../protocol/types.ts'
import type {
  LogRecord,
  RecordDraft,
  Scope,
  TaskWrite,
  Write,
  WriteResult,
} from '../store/store.ts'
import { weighRecord } from '../store/weight.ts'
import { type CommitSource, faultOf } from './commit.ts'
import { Growth } from './growth.ts'
import type { LogHost, StoredLog, VersionedTask } from './log-host.ts'
import { toPushRecord, toRecord } from './records.ts'
import { FoldedTask, Standing, type TaskKey } from './standing.ts'

/** Told when everything that had come in is stored, or why it is not. */
type Settled = (refusal: A2AError | undefined) => void

interface Waiter {
  readonly seq: number
  readonly settled: Settled
}

/**
 * The log of one live task and the fold over it: the only place where the task changes.
 *
 * An event is checked when it comes in, folded when a commit begins and told when it is stored, so that after each
 * commit the fold is exactly what is stored. A class, not closures: one is made per request.
 */
export class TaskLog implements CommitSource {
  readonly id: string
  readonly contextId: string
  readonly scope: Scope
  readonly #host: LogHost
  readonly #standing: Standing
  readonly #folded: FoldedTask
  readonly #growth: Growth
  /** Whose share of a bounded store the task is kept in, while it is new. */
  readonly principal: string | undefined
  /** Whether there is work left: a turn runs, a message waits, or an agent is to hear of a cancel. */
  busy = true
  /** The definition that the last run began with. */
  build: string
  #seq = 0
  #version = 0
  #pending: LogRecord[] = []
  #pendingBytes = 0
  #inFlight: readonly LogRecord[] = []
  #webhookInFlight = false
  #waiters: Waiter[] = []
  #extraWrites: Write[] = []
  /** Entries of the inbox that this log has taken, and of them those that go into the next commit. */
  #taken: Set<number> | undefined
  #takes: number[] | undefined
  /** Why nothing more is written once the commit under way has ended. */
  #leaving: A2AError | undefined
  #broken: A2AError | undefined

  constructor(host: LogHost, key: TaskKey, stored?: StoredLog) {
    this.#host = host
    this.id = key.id
    this.contextId = key.contextId
    this.scope = key.scope
    this.build = key.build ?? ''
    this.#standing = new Standing(key.id)
    this.#folded = new FoldedTask(key)
    this.principal = key.principal
    const before = stored && { bytes: stored.bytes, events: key.generation ?? 1 }
    this.#growth = new Growth(host, key.principal ?? ownerOf(key.scope), before)
    if (!stored) return
    this.#folded.load(stored.task)
    this.#standing.load(stored.task)
    this.#seq = stored.version
    this.#version = stored.version
  }

  /** Whether there is a task; before its first event there is none. */
  get exists(): boolean {
    return this.#standing.exists
  }
  /** The state after everything that has come in, stored or not. */
  get state(): TaskState {
    return this.#standing.state
  }
  /** When that state was entered. */
  get timestamp(): string | undefined {
    return this.#standing.timestamp
  }
  /** The sequence number of the last stored record. */
  get version(): number {
    return this.#version
  }
  /** Whether nothing more is to be stored: everything is, or the store has refused. */
  get quiet(): boolean {
    return this.#broken !== undefined || this.backlog === 0
  }
  /** Whether nothing more can be written: the store has refused, or another process is to go on. */
  get broken(): boolean {
    return this.#broken !== undefined || this.#leaving !== undefined
  }
  /** Whether the store will know how busy the task is without a record of its own for that. */
  get tellsBusy(): boolean {
    return this.#pending.length > 0 || this.#folded.saidBusy === this.busy
  }
  /** The sequence number of the last record that has come in. */
  get seq(): number {
    return this.#seq
  }
  /** About how many bytes those are that go into the next commit. */
  get bytes(): number {
    return this.#pendingBytes
  }
  /** About how many bytes its next writes have: the records, and the task where it is written as a whole. */
  get weight(): number {
    return this.#folded.rewrites ? this.#pendingBytes + this.#growth.bytes : this.#pendingBytes
  }
  /** Whose share of a commit it takes. */
  get whose(): string {
    return this.#growth.principal
  }
  /** About how many bytes the log holds. */
  get size(): number {
    return this.#growth.bytes
  }
  /** Whether the task is in the store alone. */
  get unloaded(): boolean {
    return this.#folded.unloaded
  }
  /** How many records wait to be stored. */
  get backlog(): number {
    return this.#pending.length + this.#inFlight.length
  }

  /** Appends a private record. It is stored with the next commit. @throws A2AError where the task grows too large. */
  append(draft: RecordDraft): void {
    const record = toRecord(draft, this.#seq + 1)
    this.#push(record, this.#mustFit(record))
  }

  /** Notes that a message gets no answer any more: before an end that is not stored yet, for who reads no further. */
  drop(messageId: string, reason: string): void {
    const isOver = isTerminal(this.state) && this.#pending.at(-1)?.kind === 'event'
    const end = isOver ? this.#pending.pop() : undefined
    if (end) this.#seq--
    this.append({ kind: 'dropped', messageId, reason })
    if (end) this.#pending.push({ ...end, seq: ++this.#seq })
  }

  /**
   * Appends an event.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is, or where the task grows too large.
   */
  emit(event: StreamResponse): void {
    const record: LogRecord = { seq: this.#seq + 1, kind: 'event', event }
    const bytes = this.#mustFit(record)
    this.#standing.take(event)
    this.#push(record, bytes)
  }

  /**
   * Appends an event that comes from outside a turn: also a whole task, in place of the one there is.
   * @param forwarded The key of the inbox entry that it came by.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is, or where the task grows too large.
   */
  amend(event: StreamResponse, forwarded?: string): void {
    const seq = this.#seq + 1
    const record: LogRecord = { seq, kind: 'event', event, ...(forwarded && { forwarded }) }
    const bytes = this.#mustFit(record)
    if ('task' in event) this.#standing.replace(event.task)
    else this.#standing.take(event)
    this.#push(record, bytes)
  }

  /** Why the task cannot hold this as well; undefined where it can. */
  refusalOf(draft: RecordDraft): A2AError | undefined {
    const record = toRecord(draft, this.#seq + 1)
    return this.#growth.refusalOf(record, weighRecord(record), this.state)
  }

  /** The task is live no more, so what it holds does not count among the live ones. May be called twice. */
  release(): void {
    this.#growth.release()
  }

  /** The snapshot is compacted and rewritten with the next commit, which begins at once. */
  endTurn(): void {
    this.#folded.endTurn()
    this.#host.committer.enqueue(this, 'now')
  }

  /** Binds the caller's key to the task with the next commit. */
  bindIdempotencyKey(key: string): void {
    this.#folded.bindIdempotencyKey(key)
  }

  /** Keeps a value with the context; it is stored together with the records that follow. */
  keep(key: string, value: Json | null): void {
    const { scope, contextId } = this
    this.#extraWrites.push({ type: 'contextValue', scope, contextId, key, value })
  }

  /** Registers a webhook for what follows `cursor`; it is stored together with the records that wait. */
  register(config: TaskPushNotificationConfig, dialect: DialectName, cursor: number): void {
    const record = toPushRecord(config, { taskId: this.id, agent: this.scope.agent, dialect })
    this.#extraWrites.push({ type: 'pushConfig', record: { ...record, cursor } })
    if (this.exists) this.#host.committer.enqueue(this, 'burst')
  }

  /** Whether an entry of the inbox has been taken. */
  hasTaken(entry: number): boolean {
    return this.#taken?.has(entry) ?? false
  }

  /** Takes an entry of the inbox: it goes with the records that follow and answer it. */
  take(entry: number): void {
    this.#taken ??= new Set()
    this.#taken.add(entry)
    this.#takes ??= []
    this.#takes.push(entry)
  }

  /**
   * Writes nothing more, for another process goes on with the task; what is under way ends first. False for a task of
   * which nothing is stored: nobody else can have it.
   */
  letGo(reason: A2AError): boolean {
    const isUnderway = this.#inFlight.length > 0
    if (this.broken || (this.#version === 0 && !isUnderway)) return false
    if (isUnderway) this.#leaving = reason
    else this.refused(reason)
    return true
  }

  /** Resolves when everything that has come in is stored. Rejects with the store's refusal. */
  committed(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.whenCommitted((refusal) => (refusal ? reject(refusal) : resolve())),
    )
  }

  /** Calls back when everything that has come in is stored or refused: `committed` without a promise. */
  whenCommitted(settled: Settled): void {
    if (this.#broken || (this.#version === this.#seq && this.#extraWrites.length === 0)) {
      settled(this.#broken)
      return
    }
    this.#waiters.push({ seq: this.#seq, settled })
    this.#host.committer.enqueue(this, 'now')
  }

  /** Lets go of a task that is stored; false where something is yet to be. */
  unload(): boolean {
    const isStored = this.backlog === 0 && this.#extraWrites.length === 0
    if (this.#broken || !isStored || !this.#folded.exists) return false
    this.#folded.unload()
    this.#growth.release()
    return true
  }

  /** Has the task again, as it is stored. @throws A2AError where it is not the one that was let go of. */
  reload({ task, version }: VersionedTask): void {
    const fault = version === this.#version ? undefined : faultOf({ conflict: version }, this.id)
    if (fault) throw fault
    if (!this.unloaded) return
    this.#folded.load(task)
    this.#growth.hold()
  }

  /** The task as of the last commit; only where nothing is under way, as in `whenCommitted`. */
  current(): Task {
    const task = this.#folded.snapshot()
    if (!task) throw new A2AError('taskNotFound', `Task not found: ${this.id}`)
    return task
  }

  /** The task as stored; waits for a commit that is under way. */
  async snapshot(): Promise<VersionedTask> {
    if (this.#inFlight.length === 0 && this.#folded.exists) return this.#stored()
    if (this.unloaded) return this.#host.stored(this.id)
    // Taken in the callback: an await would return when the next commit has already folded its records in.
    return new Promise((resolve, reject) =>
      this.whenCommitted((refusal) => (refusal ? reject(refusal) : resolve(this.#stored()))),
    )
  }

  #stored(): VersionedTask {
    return { task: this.current(), version: this.#version }
  }

  reduce(): readonly Write[] {
    const records = this.#pending
    if (this.#broken || this.#leaving) return []
    if (records.length === 0 && this.#extraWrites.length === 0) return []
    this.#pending = []
    this.#inFlight = records
    const write = this.#write(records)
    this.#pendingBytes = 0
    const extra = this.#extraWrites
    if (extra.length === 0) return write ? [write] : []
    this.#extraWrites = []
    this.#webhookInFlight = extra.some(({ type }) => type === 'pushConfig')
    return write ? [write, ...extra] : extra
  }

  stored(results: readonly WriteResult[]): void {
    const faulty = results.find((result) => 'refused' in result) ?? results[0]
    const fault = faulty && faultOf(faulty, this.id)
    if (fault) {
      this.refused(fault, 'refused' in faulty)
      return
    }
    const records = this.#inFlight
    const webhook = this.#webhookInFlight
    this.#inFlight = []
    this.#webhookInFlight = false
    const last = records.at(-1)
    if (last) this.#version = last.seq
    if (records.length > 0 || results.length > 0) this.#host.published(this.id, records, webhook)
    this.#settle()
    if (this.#leaving) this.refused(this.#leaving)
  }

  refused(error: A2AError, never = false): void {
    this.#broken = error
    this.release()
    this.#inFlight = []
    this.#host.refused(this, error, never)
    this.#settle()
  }

  #write(records: readonly LogRecord[]): TaskWrite | undefined {
    const write = this.#folded.write(records, this)
    if (!write || !this.#takes) return write
    const takes = this.#takes
    this.#takes = undefined
    return { ...write, takes }
  }

  /** How many bytes a record takes. The opening of a task is taken as it is: the refusal of what follows needs a task. */
  #mustFit(record: LogRecord): number {
    const bytes = weighRecord(record)
    const refusal = this.exists ? this.#growth.refusalOf(record, bytes, this.state) : undefined
    if (!refusal) return bytes
    this.#host.outgrown(this.id, refusal)
    throw refusal
  }

  #push(record: LogRecord, bytes: number): void {
    const refusal = this.#broken ?? this.#leaving
    if (refusal) throw refusal
    this.#seq = record.seq
    this.#growth.add(record, bytes)
    this.#pendingBytes += bytes
    this.#pending.push(record)
    if (this.exists) this.#host.committer.enqueue(this, 'burst')
  }

  #settle(): void {
    if (this.#waiters.length === 0) return
    const due: Waiter[] = []
    const waiting: Waiter[] = []
    for (const waiter of this.#waiters) {
      if (this.#broken || waiter.seq <= this.#version) due.push(waiter)
      else waiting.push(waiter)
    }
    this.#waiters = waiting
    for (const { settled } of due) settled(this.#broken)
  }
}

/** Whose task is a stored one: an address is not stored. */
function ownerOf({ owner }: Scope): string {
  return owner === '' ? '' : principalOf({ auth: { userId: owner } })
}
