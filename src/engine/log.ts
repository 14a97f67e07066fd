import type { DialectName } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { canTransition, isTerminal } from '../protocol/task.ts'
import type {
  Json,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type {
  LogRecord,
  RecordDraft,
  Scope,
  TaskWrite,
  Write,
  WriteResult,
} from '../store/store.ts'
import type { CommitSource, Committer } from './commit.ts'

/** What all logs of an engine share. */
export interface LogHost {
  readonly committer: Committer
  /** Called with each batch once it is stored; `webhook` tells that one was registered with it. */
  published(taskId: string, records: readonly LogRecord[], webhook: boolean): void
  /**
   * Called when the store refuses a batch: nothing more will come of this log. `never` tells that it is this task's own
   * fault, so that trying again is of no use.
   */
  refused(taskId: string, error: A2AError, never: boolean): void
}

/** Which task a log is of. */
export interface LogKey {
  readonly id: string
  readonly contextId: string
  readonly scope: Scope
  /** The stored task's, where there is one. */
  readonly generation?: number
  readonly build?: string
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
  #fold: Fold | undefined
  /** State and artifacts with everything that has come in, stored or not: what the next event is checked against. */
  #state: TaskState = 'TASK_STATE_UNSPECIFIED'
  /** The artifact that came last, which chunks mostly continue; those before it, where there are any. */
  #artifact: string | undefined
  #artifacts: Set<string> | undefined
  /** 1 at birth and one more with each status or artifact event, as far as they are folded. */
  #generation: number
  /** Whether there is work left: a turn runs, a message waits, or an agent is to hear of a cancel. */
  busy = true
  /** Whether the last write said so. */
  #saidBusy = true
  /** The definition that the last run began with. */
  build: string
  #seq = 0
  #version = 0
  #pending: LogRecord[] = []
  #inFlight: readonly LogRecord[] = []
  #webhookInFlight = false
  #waiters: Waiter[] = []
  #extraWrites: Write[] = []
  #idempotencyKey: string | undefined
  #rewrite = false
  #compact = false
  #broken: A2AError | undefined

  constructor(
    host: LogHost,
    key: LogKey,
    stored?: { readonly task: Task; readonly version: number },
  ) {
    this.#host = host
    this.id = key.id
    this.contextId = key.contextId
    this.scope = key.scope
    this.#generation = key.generation ?? 1
    this.build = key.build ?? ''
    if (stored) this.#load(stored)
  }

  #load({ task, version }: { readonly task: Task; readonly version: number }): void {
    this.#fold = createFold(task, { strict: true })
    this.#know(task)
    this.#seq = version
    this.#version = version
  }

  /** Whether there is a task; before its first event there is none. */
  get exists(): boolean {
    return this.#state !== 'TASK_STATE_UNSPECIFIED'
  }

  /** The state after everything that has come in, stored or not. */
  get state(): TaskState {
    return this.#state
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
    return this.#pending.length > 0 || this.#saidBusy === this.busy
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
    if ('statusUpdate' in event) this.#enter(event.statusUpdate.status.state)
    else if ('artifactUpdate' in event) this.#note(event.artifactUpdate)
    else if ('task' in event) this.#begin(event.task)
    this.#push({ seq: this.#seq + 1, kind: 'event', event })
  }

  /**
   * Appends an event that comes from outside a turn: also a whole task, in place of the one there is.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is.
   */
  amend(event: StreamResponse): void {
    if (!('task' in event)) {
      this.emit(event)
      return
    }
    this.#enter(event.task.status.state)
    this.#artifact = undefined
    this.#artifacts = undefined
    this.#know(event.task)
    this.#push({ seq: this.#seq + 1, kind: 'event', event })
  }

  /** The snapshot is compacted and rewritten with the next commit, which begins at once. */
  endTurn(): void {
    this.#compact = true
    this.#rewrite = true
    this.#host.committer.enqueue(this, 'now')
  }

  /** Ties the caller's key to the task with the next commit. */
  tie(idempotencyKey: string): void {
    this.#idempotencyKey = idempotencyKey
    this.#rewrite = true
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
    if (!this.#fold) throw new A2AError('taskNotFound', `Task not found: ${this.id}`)
    return this.#fold.snapshot()
  }

  /** The task as stored; waits for a commit that is under way. */
  async snapshot(): Promise<{ readonly task: Task; readonly version: number }> {
    if (this.#inFlight.length === 0 && this.#fold) return this.#stored()
    // Taken in the callback: an await would return when the next commit has already folded its records in.
    return new Promise((resolve, reject) =>
      this.whenCommitted((refusal) => (refusal ? reject(refusal) : resolve(this.#stored()))),
    )
  }

  #stored(): { readonly task: Task; readonly version: number } {
    return { task: this.current(), version: this.#version }
  }

  reduce(): readonly Write[] {
    const records = this.#pending
    if (this.#broken || (records.length === 0 && this.#extraWrites.length === 0)) return []
    const before = this.#fold?.state
    this.#pending = []
    this.#inFlight = records
    for (const record of records) this.#take(record)
    const write = this.#write(records, before)
    const extra = this.#extraWrites
    if (extra.length === 0) return write ? [write] : []
    this.#extraWrites = []
    this.#webhookInFlight = extra.some(({ type }) => type === 'pushConfig')
    return write ? [write, ...extra] : extra
  }

  stored(results: readonly WriteResult[]): void {
    const faulty = results.find((result) => 'refused' in result) ?? results[0]
    const fault = faulty && this.#faultOf(faulty)
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

  #faultOf(result: WriteResult): A2AError | undefined {
    if ('existing' in result) return new A2AError('internal', 'The idempotency key is taken')
    if ('conflict' in result)
      return new A2AError('internal', `Task ${this.id} was changed elsewhere`)
    if ('refused' in result)
      return new A2AError('invalidAgentResponse', `The task cannot be stored: ${result.refused}`)
    return undefined
  }

  #push(record: LogRecord): void {
    if (this.#broken) throw this.#broken
    this.#seq = record.seq
    this.#pending.push(record)
    if (this.exists) this.#host.committer.enqueue(this, 'burst')
  }

  #begin(task: Task): void {
    if (this.exists) throw new A2AError('invalidAgentResponse', `A second Task for task ${this.id}`)
    this.#know(task)
  }

  #know({ status, artifacts }: Task): void {
    this.#state = status.state
    if (artifacts) for (const { artifactId } of artifacts) this.#knowArtifact(artifactId)
  }

  #knowArtifact(id: string): void {
    if (this.#artifact !== undefined && this.#artifact !== id) {
      this.#artifacts ??= new Set()
      this.#artifacts.add(this.#artifact)
    }
    this.#artifact = id
  }

  #enter(next: TaskState): void {
    if (!canTransition(this.#state, next))
      throw new A2AError(
        'invalidAgentResponse',
        `Task ${this.id} cannot go from ${this.#state} to ${next}`,
      )
    this.#state = next
  }

  #note({ artifact, append }: { artifact: { artifactId: string }; append?: boolean }): void {
    if (isTerminal(this.#state))
      throw new A2AError('invalidAgentResponse', `Artifact after ${this.#state}: task ${this.id}`)
    const { artifactId } = artifact
    if (!append) this.#knowArtifact(artifactId)
    else if (artifactId !== this.#artifact && !this.#artifacts?.has(artifactId))
      throw new A2AError('invalidAgentResponse', `Chunk of unknown artifact ${artifactId}`)
  }

  #take(record: LogRecord): void {
    if (record.kind === 'event') {
      if (this.#fold) {
        this.#fold.apply(record.event)
        if (countsAsChange(record.event)) this.#generation++
      } else if ('task' in record.event)
        this.#fold = createFold(record.event.task, { strict: true })
    } else if (record.kind === 'message') this.#fold?.hear(record.message)
  }

  #write(records: readonly LogRecord[], before: TaskState | undefined): TaskWrite | undefined {
    const fold = this.#fold
    if (!fold || records.length === 0) return undefined
    if (this.#compact) fold.compact()
    const rewrite = this.#rewrite || fold.state !== before
    this.#compact = false
    this.#rewrite = false
    const head = this.#head(fold)
    const expectedVersion = this.#version
    if (!rewrite) return { type: 'task', head, expectedVersion, records }
    const task = fold.snapshot()
    const idempotencyKey = this.#idempotencyKey
    if (idempotencyKey === undefined) return { type: 'task', head, expectedVersion, records, task }
    this.#idempotencyKey = undefined
    return { type: 'task', head, expectedVersion, records, task, idempotencyKey }
  }

  #head(fold: Fold): TaskWrite['head'] {
    this.#saidBusy = this.busy
    return {
      id: this.id,
      scope: this.scope,
      contextId: this.contextId,
      state: fold.state,
      timestamp: fold.timestamp,
      busy: this.busy,
      generation: this.#generation,
      build: this.build,
    }
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

/** Whether an event moves the task's generation. */
function countsAsChange(event: StreamResponse): boolean {
  return 'statusUpdate' in event || 'artifactUpdate' in event
}
