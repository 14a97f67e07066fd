import { createFold, type Fold } from '../protocol/fold.ts'
import type { StreamResponse, Task } from '../protocol/types.ts'
import type { LogRecord, Scope, TaskWrite } from '../store/store.ts'

/** Which task a log is of. */
export interface TaskKey {
  readonly id: string
  readonly contextId: string
  readonly scope: Scope
  /** The stored task's, where there is one. */
  readonly generation?: number
  readonly build?: string
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

  /** The task as folded; undefined where there is none. */
  snapshot(): Task | undefined {
    return this.#fold?.snapshot()
  }

  /** Begins with a task as it is stored. */
  load(task: Task): void {
    this.#fold = createFold(task, { strict: true })
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
  write(
    records: readonly LogRecord[],
    now: { readonly version: number; readonly busy: boolean; readonly build: string },
  ): TaskWrite | undefined {
    const before = this.#fold?.state
    for (const record of records) this.#take(record)
    const fold = this.#fold
    if (!fold || records.length === 0) return undefined
    if (this.#compact) fold.compact()
    const rewrite = this.#rewrite || fold.state !== before
    this.#compact = false
    this.#rewrite = false
    const head = this.#head(fold, now.busy, now.build)
    const expectedVersion = now.version
    if (!rewrite) return { type: 'task', head, expectedVersion, records }
    const task = fold.snapshot()
    const idempotencyKey = this.#idempotencyKey
    if (idempotencyKey === undefined) return { type: 'task', head, expectedVersion, records, task }
    this.#idempotencyKey = undefined
    return { type: 'task', head, expectedVersion, records, task, idempotencyKey }
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
