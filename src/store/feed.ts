import type { JsonObject, Message, StreamResponse } from '../protocol/types.ts'

/** What a turn must know of its request to run again after a restart. Credentials are never stored. */
export interface TurnRequest {
  readonly userId: string
  readonly extensions?: readonly string[]
  readonly acceptedOutputModes?: readonly string[]
  readonly metadata?: JsonObject
  readonly traceparent?: string
  /** The key that a message to an existing task came with; a repetition is known by it. */
  readonly idempotencyKey?: string
  /** The key of the inbox entry that a message came by, where another replica took it in. */
  readonly forwarded?: string
  readonly hops?: readonly string[]
}

/**
 * How the processes that share one store work together: who runs which task, what is meant for the one that does, and
 * that a task has grown. A process is a replica from `join` on. Implement it for a shared store of your own.
 */
export interface Feed {
  /** Registers this process and begins to listen. @throws A2AError `unavailable` where the store cannot be reached. */
  join(serving: readonly AgentBuild[], listener: FeedListener): Promise<void>
  /** Says anew which agents this process serves, after a reload. */
  serve(serving: readonly AgentBuild[]): void
  /** The number of this process's registration: never used again, another one after it was lost; 0 while it has none. */
  readonly replica: number
  /** How many replicas live, this one among them; 1 while nothing is known. */
  readonly replicas: number
  /** What must be added to this machine's time for the store's. */
  readonly offsetMs: number
  /** Whether the last confirmed lease still holds, so that work may begin here. */
  mayBegin(): boolean
  /** Resolves when work may begin, under this registration or the next. */
  settled(): Promise<void>
  /** The tasks of an agent that are this replica's, as the store has it. */
  held(agent: string): Promise<readonly HeldTask[]>
  /**
   * Stores something for the replica that runs a task and tells it. `idle` where nobody runs the task any more, so that
   * whoever asks may go on with it; `full` where more waits than may.
   */
  forward(
    taskId: string,
    entry: InboxEntry,
    maxWaiting: number,
  ): Promise<'stored' | 'idle' | 'full'>
  /** What waits for the one that runs a task, oldest first. Writes take it by `TaskWrite.takes`. */
  inbox(taskId: string): Promise<readonly InboxItem[]>
  /** Takes entries away without a record: the task has ended, and takes nothing more. */
  dismiss(taskId: string, numbers: readonly number[]): Promise<void>
  /**
   * Asks to be told whenever a task grows through another replica, whichever that is and however often this one has to
   * register anew; tells at once how far the task is. May be called twice.
   */
  watch(taskId: string): void
  /** Ends that. */
  unwatch(taskId: string): void
  /** Tells the one that delivers a task's webhooks that there is something to deliver, where that is another replica. */
  wakeDeliveries(taskId: string): void
  /** Frees the tasks of an agent for others, who are told: nothing of them may be written here after it. */
  release(agent: string): Promise<void>
  /** Leaves: everything of this replica is free for others, who are told. Nothing may be written after it. May be called twice. */
  leave(): Promise<void>
  /** How the replicas stand, for people. */
  facts(): Promise<ClusterFacts>
}

/** Is told what concerns a replica. No call is awaited, and none may throw. */
export interface FeedListener {
  /** A watched task has grown to this version, or was deleted where that is 0. */
  grown(taskId: string, version: number): void
  /** Something waits in the inbox of a task that this replica runs. */
  mail(taskId: string, agent: string): void
  /** There may be tasks or deliveries that nobody has: a replica died or left. */
  orphans(): void
  /** A webhook of this task is to be looked at. */
  deliveries(taskId: string): void
  /** The registration is gone, and others may have the tasks by now: nothing of them may go on. */
  lost(reason: string): void
  /** Registered anew after that. */
  joined(): void
}

/** An agent that a replica serves, with the digest of its definition. */
export interface AgentBuild {
  /** The agent's id. */
  readonly agent: string
  /** The digest. */
  readonly build: string
}

/** Something for the replica that runs a task: a message, a cancel, a change, or that a remote system has called. */
export type InboxEntry =
  | {
      readonly kind: 'message'
      /** A name of its own, by which an entry whose answer was lost is stored once; it stands in the request too. */
      readonly key: string
      readonly message: Message
      readonly request: TurnRequest
    }
  | { readonly kind: 'cancel'; readonly key: string }
  | { readonly kind: 'call'; readonly key: string }
  | { readonly kind: 'amend'; readonly key: string; readonly events: readonly StreamResponse[] }

/** A task that is this replica's. */
export interface HeldTask {
  readonly id: string
  /** How many entries wait in its inbox. */
  readonly mail: number
}

/** An entry of an inbox with its number. */
export interface InboxItem {
  readonly number: number
  readonly entry: InboxEntry
}

/** How the replicas that share a store are doing. */
export interface ClusterFacts {
  /** This process's own number. */
  readonly replica: number
  /** All of them, the dead and leaving too. */
  readonly members: readonly ReplicaFacts[]
  /** Tasks with work left that no living replica has. */
  readonly orphans: number
  /** Messages, cancels and changes that wait to be taken by whoever runs their task. */
  readonly inbox: number
  /** Whether what is acknowledged is on a second database too. */
  readonly synchronousStandby: boolean
}

/** One replica, and how it is doing. */
export interface ReplicaFacts {
  readonly number: number
  /** What the process calls itself. */
  readonly name: string
  /** The agents that it serves. */
  readonly agents: readonly AgentBuild[]
  readonly alive: boolean
  /** How long its lease still holds; negative where it is over. */
  readonly leaseMs: number
  /** How many tasks it runs. */
  readonly tasks: number
}
