import type { DialectName } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type {
  Json,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { LogRecord, RecordDraft, Scope, Write, WriteResult } from '../store/store.ts'
import { type CommitSource, faultOf, type LogHost } from './commit.ts'
import { FoldedTask, Standing, type TaskKey } from './standing.ts'

/** A task and the sequence number of the last record in it. */
export interface VersionedTask {
  readonly task: Task
  readonly version: number
}

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
  /** Whether there is work left: a turn runs, a message waits, or an agent is to hear of a cancel. */
  busy = true
  /** The definition that the last run began with. */
  build: string
  #seq = 0
  #version = 0
  #pending: LogRecord[] = []
  #inFlight: readonly LogRecord[] = []
  #webhookInFlight = false
  #waiters: Waiter[] = []
  #extraWrites: Write[] = []
  #broken: A2AError | undefined

  constructor(host: LogHost, key: TaskKey, stored?: VersionedTask) {
    this.#host = host
    this.id = key.id
    this.contextId = key.contextId
    this.scope = key.scope
    this.build = key.build ?? ''
    this.#standing = new Standing(key.id)
    this.#folded = new FoldedTask(key)
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
  /** The sequence number of the last stored record. */
  get version(): number {
    return this.#version
  }
  /** Whether nothing more is to be stored: everything is, or the store has refused. */
  get quiet(): boolean {
    return this.#broken !== undefined || this.backlog === 0
  }
  /** Whether the store has refused: nothing more can be written. */
  get broken(): boolean {
    return this.#broken !== undefined
  }
  /** Whether the store will know how busy the task is without a record of its own for that. */
  get tellsBusy(): boolean {
    return this.#pending.length > 0 || this.#folded.saidBusy === this.busy
  }
  /** The sequence number of the last record that has come in. */
  get seq(): number {
    return this.#seq
  }
  /** How many records wait to be stored. */
  get backlog(): number {
    return this.#pending.length + this.#inFlight.length
  }

  /** Appends a private record. It is stored with the next commit. */
  append(record: RecordDraft): void {
    // A draft is a LogRecord but for its place; TypeScript loses the union in the spread.
    this.#push({ seq: this.#seq + 1, ...record } as LogRecord)
  }

  /**
   * Appends an event.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is.
   */
  emit(event: StreamResponse): void {
    this.#standing.take(event)
    this.#push({ seq: this.#seq + 1, kind: 'event', event })
  }

  /**
   * Appends an event that comes from outside a turn: also a whole task, in place of the one there is.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is.
   */
  amend(event: StreamResponse): void {
    if ('task' in event) this.#standing.replace(event.task)
    else this.#standing.take(event)
    this.#push({ seq: this.#seq + 1, kind: 'event', event })
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
    const { agent } = this.scope
    const id = config.id || newId()
    const registered = { ...config, id, taskId: this.id }
    const record = { taskId: this.id, id, config: registered, dialect, cursor, agent }
    const { events } = config
    this.#extraWrites.push({ type: 'pushConfig', record: events ? { ...record, events } : record })
    if (this.exists) this.#host.committer.enqueue(this, 'burst')
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

  /** The task as of the last commit; only where nothing is under way, as in `whenCommitted`. */
  current(): Task {
    const task = this.#folded.snapshot()
    if (!task) throw new A2AError('taskNotFound', `Task not found: ${this.id}`)
    return task
  }

  /** The task as stored; waits for a commit that is under way. */
  async snapshot(): Promise<VersionedTask> {
    if (this.#inFlight.length === 0 && this.#folded.exists) return this.#stored()
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
    if (this.#broken || (records.length === 0 && this.#extraWrites.length === 0)) return []
    this.#pending = []
    this.#inFlight = records
    const write = this.#folded.write(records, this)
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
  }

  refused(error: A2AError, never = false): void {
    this.#broken = error
    this.#inFlight = []
    this.#host.refused(this.id, error, never)
    this.#settle()
  }

  #push(record: LogRecord): void {
    if (this.#broken) throw this.#broken
    this.#seq = record.seq
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
