import { A2AError } from '../protocol/errors.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { canTransition, isTerminal } from '../protocol/task.ts'
import type { StreamResponse, Task, TaskState, TaskStatus } from '../protocol/types.ts'
import type { LogRecord, Scope, TaskWrite } from '../store/store.ts'

/**
 * State and artifacts of a task with everything that has come in, stored or not: what the next event is checked against.
 * A class, not closures: one is made per request.
 */
export class Standing {
  readonly #taskId: string
  #state: TaskState = 'TASK_STATE_UNSPECIFIED'
  #timestamp: string | undefined
  /** The artifact that came last, which chunks mostly continue; those before it, where there are any. */
  #artifact: string | undefined
  #artifacts: Set<string> | undefined

  constructor(taskId: string) {
    this.#taskId = taskId
  }

  get state(): TaskState {
    return this.#state
  }

  /** When the state was last entered. */
  get timestamp(): string | undefined {
    return this.#timestamp
  }

  /** Whether there is a task; before its first event there is none. */
  get exists(): boolean {
    return this.#state !== 'TASK_STATE_UNSPECIFIED'
  }

  /**
   * Takes in an event.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is.
   */
  take(event: StreamResponse): void {
    if ('statusUpdate' in event) this.#enter(event.statusUpdate.status)
    else if ('artifactUpdate' in event) this.#note(event.artifactUpdate)
    else if ('task' in event) {
      if (this.exists) throw invalid(`A second Task for task ${this.#taskId}`)
      this.load(event.task)
    }
  }

  /**
   * Takes in a whole task in place of the one there is.
   * @throws A2AError `invalidAgentResponse` for a state that may not follow.
   */
  replace(task: Task): void {
    this.#enter(task.status)
    this.#artifact = undefined
    this.#artifacts = undefined
    this.load(task)
  }

  /** Begins with a task as it is. */
  load({ status, artifacts }: Task): void {
    this.#state = status.state
    this.#timestamp = status.timestamp
    if (artifacts) for (const { artifactId } of artifacts) this.#know(artifactId)
  }

  #know(id: string): void {
    if (this.#artifact !== undefined && this.#artifact !== id) {
      this.#artifacts ??= new Set()
      this.#artifacts.add(this.#artifact)
    }
    this.#artifact = id
  }

  #enter({ state, timestamp }: TaskStatus): void {
    if (!canTransition(this.#state, state))
      throw invalid(`Task ${this.#taskId} cannot go from ${this.#state} to ${state}`)
    this.#state = state
    this.#timestamp = timestamp
  }

  #note({ artifact, append }: { artifact: { artifactId: string }; append?: boolean }): void {
    if (isTerminal(this.#state))
      throw invalid(`Artifact after ${this.#state}: task ${this.#taskId}`)
    const { artifactId } = artifact
    if (!append) this.#know(artifactId)
    else if (artifactId !== this.#artifact && !this.#artifacts?.has(artifactId))
      throw invalid(`Chunk of unknown artifact ${artifactId}`)
  }
}

function invalid(message: string): A2AError {
  return new A2AError('invalidAgentResponse', message)
}

/** Which task a log is of. */
export interface TaskKey {
  readonly id: string
  readonly contextId: string
  readonly scope: Scope
  /** The stored task's, where there is one. */
  readonly generation?: number
  readonly build?: string
  /** Whose share of a bounded store a new task is kept in. */
  readonly principal?: string
}

/** What the log of a task knows when a commit begins. */
interface LogNow {
  readonly version: number
  readonly busy: boolean
  readonly build: string
  readonly bytes: number
  readonly principal: string | undefined
}

/**
 * A task as far as commits have folded it, and the writes that bring the store up to it.
 * A class, not closures: one is made per request.
 */
export class FoldedTask {
  readonly #key: TaskKey
  #fold: Fold | undefined
  /** 1 when the task comes into being, and one more with each status or artifact event. */
  #generation: number
  /** Whether the last write said that there is work left. */
  #saidBusy = true
  #idempotencyKey: string | undefined
  #rewrite = false
  #compact = false
  #unloaded = false

  constructor(key: TaskKey) {
    this.#key = key
    this.#generation = key.generation ?? 1
  }

  get saidBusy(): boolean {
    return this.#saidBusy
  }
  get exists(): boolean {
    return this.#fold !== undefined
  }
  get unloaded(): boolean {
    return this.#unloaded
  }
  /** Whether the next write has the whole task for certain. */
  get rewrites(): boolean {
    return this.#rewrite
  }

  /** The task as folded; undefined where there is none. */
  snapshot(): Task | undefined {
    return this.#fold?.snapshot()
  }

  /** Begins with a task as it is stored. */
  load(task: Task): void {
    this.#fold = createFold(task, { strict: true })
    this.#unloaded = false
  }

  /** Lets go of the task; until it is loaded again nothing may be written. */
  unload(): void {
    this.#fold = undefined
    this.#unloaded = true
  }

  /** The next write has the whole task, its texts merged. */
  endTurn(): void {
    this.#compact = true
    this.#rewrite = true
  }

  /** The next write binds the caller's key to the task. */
  bindIdempotencyKey(key: string): void {
    this.#idempotencyKey = key
    this.#rewrite = true
  }

  /** Folds records in and gives the write that stores them; undefined where there is no task yet. */
  write(records: readonly LogRecord[], now: LogNow): TaskWrite | undefined {
    if (this.#unloaded) throw new Error(`Task ${this.#key.id} is written while it is unloaded`)
    const before = this.#fold?.state
    for (const record of records) this.#take(record)
    const fold = this.#fold
    if (!fold || records.length === 0) return undefined
    if (this.#compact) fold.compact()
    const rewrite = this.#rewrite || fold.state !== before
    this.#compact = false
    this.#rewrite = false
    const head = this.#head(fold, now.busy, now.build)
    const { version: expectedVersion, bytes, principal } = now
    if (!rewrite) return { type: 'task', head, expectedVersion, records, bytes }
    const task = fold.snapshot()
    const idempotencyKey = this.#idempotencyKey
    if (idempotencyKey === undefined)
      return { type: 'task', head, expectedVersion, records, bytes, task, principal }
    this.#idempotencyKey = undefined
    return { type: 'task', head, expectedVersion, records, bytes, task, principal, idempotencyKey }
  }

  #take(record: LogRecord): void {
    if (record.kind === 'event') {
      if (this.#fold) {
        this.#fold.apply(record.event)
        if (countsAsChange(record.event)) this.#generation++
      } else if ('task' in record.event) this.load(record.event.task)
    } else if (record.kind === 'message') this.#fold?.hear(record.message)
  }

  #head(fold: Fold, busy: boolean, build: string): TaskWrite['head'] {
    const { id, scope, contextId } = this.#key
    const { state, timestamp } = fold
    this.#saidBusy = busy
    return { id, scope, contextId, state, timestamp, busy, generation: this.#generation, build }
  }
}

function countsAsChange(event: StreamResponse): boolean {
  return 'statusUpdate' in event || 'artifactUpdate' in event
}
