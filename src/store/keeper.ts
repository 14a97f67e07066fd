import type { TaskState } from '../protocol/types.ts'
import type { ClusterFacts } from './feed.ts'
import type { DeadLetter, Scope, Store } from './store.ts'

/** A store as those see it who look after it, without serving what is in it. */
export interface StoreKeeper {
  /** The file, or the database without who logs in. */
  readonly name: string
  /** What is in it. @throws A2AError `unavailable` where there is no store. */
  facts(): Promise<StoreFacts>
  /** The contexts that have values. */
  contexts(): Promise<readonly StoredContext[]>
  /** Deliveries given up, newest first. */
  deadLetters(): Promise<readonly DeadLetter[]>
  /** Brings it to the schema of this version. @throws A2AError `unavailable` where there is no such file. */
  migrate(): Promise<{ readonly from: number; readonly to: number }>
  /** Drops tasks that are over the limits; gives how many. */
  prune(limits: PruneLimits): Promise<number>
  /** How the replicas stand that share it; undefined where one process has a store to itself. */
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

/** How much a store holds of everything; the same in a copy of it. */
export interface StoreCounts {
  readonly tasks: number
  /** Records of all logs. */
  readonly records: number
  /** Tasks with an idempotency key. */
  readonly keys: number
  readonly contextValues: number
  readonly webhooks: number
  readonly deadLetters: number
}

/** A context of a scope. */
export interface StoredContext {
  readonly scope: Scope
  readonly contextId: string
}

/** How much is kept; everything where nothing is said. */
export interface PruneLimits {
  /** Finished tasks, the newest. */
  readonly maxTasks?: number
  /** How long a finished task is kept. */
  readonly maxAgeMs?: number
  /** How long a task may wait for input. */
  readonly maxWaitingMs?: number
}
