import type { Agent } from '../agents/agent.ts'
import type { AuthContext, Call, EventStream } from '../protocol/call.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { SendMessageRequest, Task } from '../protocol/types.ts'
import type { SharedBudget } from '../shared/budget.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { LogRecord, Scope, Store, TaskListFilter, TaskPage } from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import type { Committer } from './commit.ts'
import type { TaskLimits } from './growth.ts'
import type { SendResult } from './messages.ts'
import type { TurnQueue } from './queue.ts'
import type { Recovery } from './recover.ts'
import type { Suspects } from './suspects.ts'

/** Runs the turns of one agent: detached from requests, one at a time per task, everything through the log. */
export interface Engine {
  /** Takes in a message. The turn goes on whoever waits for it. */
  send(request: SendMessageRequest, call: Call): SendResult | Promise<SendResult>
  /** A task as it is stored now. */
  get(id: string, scope: Scope): Promise<Task>
  list(filter: TaskListFilter): Promise<TaskPage>
  /** Cancels a task; a cancelled one is returned as it is, another ended one is `taskNotCancelable`. */
  cancel(id: string, scope: Scope): Promise<Task>
  /** Watches a task: a snapshot and what follows, or what follows `lastEventId`. */
  subscribe(id: string, scope: Scope, options: SubscriptionStart): Promise<EventStream>
  /** The private trace of a task, oldest first. */
  trace(id: string): Promise<readonly LogRecord[]>
  /** The scope of a caller in a tenant. */
  scopeOf(tenant: string | undefined, auth: AuthContext | undefined): Scope
  /** The tasks of a scope as a store whose updates are events. */
  tasks(scope: Scope): FullTaskStore
  /** Replaces the agent for turns that begin from now on; running ones keep theirs. */
  setAgent(agent: Agent, build?: string): void
  /** Takes up what was left to do when the process ended. */
  recover(): Promise<Recovery>
  /** Looks into the inbox of a task that runs here. */
  receive(taskId: string): void
  /** Takes up what the store says runs here and does not, because an answer or a word of the store was lost. */
  reconcile(): Promise<void>
  /** Lets go of all tasks at once: this process has lost them, and they go on wherever they are taken on. */
  letGo(): void
  /** How many tasks are live, for metrics. */
  live(): number
  /** How many tasks have moved to another replica while they ran here, for metrics. */
  moved(): number
  /** Lets running turns end until the deadline, then interrupts them: a restart takes them up. May be called twice. */
  close(deadlineMs: number): Promise<void>
}

/** How a subscription begins, and what it shows. */
export interface SubscriptionStart {
  readonly lastEventId?: number
  readonly trace?: boolean
}

/** What an engine is made of. */
export interface EngineOptions {
  readonly agent: Agent
  /** The id that the agent's tasks are stored under. */
  readonly agentId: string
  readonly store: Store
  readonly committer: Committer
  readonly hub: Hub
  readonly queue: TurnQueue
  /** The watch over tasks that may kill the process, where several engines share it. */
  readonly suspects?: Suspects
  /** The digest of the agent's definition. */
  readonly build?: string
  readonly clock?: Clock
  readonly logger?: Logger
  /** Messages that may wait for a running task; 16 by default. */
  readonly maxMailbox?: number
  /** How much tasks may hold; the defaults where absent. */
  readonly limits?: TaskLimits | undefined
  /** What all live tasks hold together, where several engines share it. */
  readonly live?: SharedBudget | undefined
  /** The webhooks, told of each stored batch and whether one of them was registered with it. */
  readonly webhooks?: {
    published(taskId: string, records: readonly LogRecord[], registered: boolean): void
  }
}
