import type { A2AError } from '../protocol/errors.ts'
import type { Task } from '../protocol/types.ts'
import type { LogRecord } from '../store/store.ts'
import type { Committer } from './commit.ts'
import type { GrowthHost } from './growth.ts'

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

/** What all logs of an engine share. */
export interface LogHost extends GrowthHost {
  readonly committer: Committer
  /** Called with each batch once it is stored; `webhook` tells that one was registered with it. */
  published(taskId: string, records: readonly LogRecord[], webhook: boolean): void
  /**
   * Called when the store refuses a batch: nothing more will come of this log. `never` tells that it is this task's own
   * fault, so that trying again is of no use.
   */
  refused(log: { readonly id: string }, error: A2AError, never: boolean): void
  /** Called when a task would hold more than it may: it ends with this reason. */
  outgrown(taskId: string, reason: A2AError): void
  /** A task whose log is unloaded, as it is stored. */
  stored(taskId: string): Promise<VersionedTask>
}
