import type { TaskState } from '../protocol/types.ts'
import type { ClusterFacts } from './feed.ts'
import type { DeadLetter, Scope, Store } from './store.ts'

/** Looks after a store without serving what is in it: what it holds, migration, pruning, opening it to copy. */
export interface StoreKeeper {
  /** The file, or the database without who logs in. */
  readonly name: string
  /**
   * Tells what is in it.
   * @throws A2AError `unavailable` where there is no store.
   */
  facts(): Promise<StoreFacts>
  /** Lists the conversations that have values. */
  contexts(): Promise<readonly StoredContext[]>
  /** Lists the deliveries that were given up, newest first. */
  deadLetters(): Promise<readonly DeadLetter[]>
  /** Brings it to the schema of this version. @throws A2AError `unavailable` where there is no such file. */
  migrate(): Promise<{ readonly from: number; readonly to: number }>
  /** Drops tasks that are over the limits and tells how many. */
  prune(limits: PruneLimits): Promise<number>
  /** Tells how the replicas are doing that share it; undefined where one process has a store to itself. */
  cluster(): Promise<ClusterFacts | undefined>
  /** Opens it to read and write; makes it where there is none. */
  open(): Promise<Store>
}

/** What a store holds. */
export interface StoreFacts {
  readonly kind: 'sqlite' | 'postgres'
  /** The version of its schema. */
  readonly schema: number
  /** The newest version that this version of Corral knows. */
  readonly knownSchema: number
  readonly bytes: number
  /** How many tasks there are in each state that one is in. */
  readonly states: Readonly<Partial<Record<TaskState, number>>>
  readonly counts: StoreCounts
}

/** How much of everything a store holds; a copy of it holds the same. */
export interface StoreCounts {
  readonly tasks: number
  /** Records of all logs. */
  readonly records: number
  /** Tasks with an idempotency key. */
  readonly keys: number
  /** Values that stay with conversations. */
  readonly contextValues: number
  readonly webhooks: number
  /** Deliveries to webhooks that were given up. */
  readonly deadLetters: number
}

/** A conversation, and whose it is. */
export interface StoredContext {
  readonly scope: Scope
  readonly contextId: string
}

/** How many tasks are kept; all where nothing is said. */
export interface PruneLimits {
  /** Finished tasks to keep, the newest. */
  readonly maxTasks?: number
  /** How long a finished task is kept, in milliseconds. */
  readonly maxAgeMs?: number
  /** How long a task may wait for input, in milliseconds. */
  readonly maxWaitingMs?: number
}
