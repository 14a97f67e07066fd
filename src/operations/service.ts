import type { Engine } from '../engine/engine.ts'
import type { AuthContext, Call } from '../protocol/call.ts'
import type { OperationName } from '../protocol/operations.ts'
import type { RequestLimits } from '../protocol/request-limits.ts'
import type { AgentCard, Part, TaskPushNotificationConfig } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import type { PushConfigRecord } from '../store/store.ts'

/** What the operations of one served agent need from around them, by role. */
export interface Service {
  /** Runs the agent and knows its tasks. */
  readonly engine: Engine
  /** Says who the agent is and what it takes. */
  readonly agent: ServedAgent
  /** Says who calls. */
  readonly auth: CallerAuth
  /** Keeps callers within their share; absent where they may ask as often as they like. */
  readonly limit?: CallerLimit | undefined
  /** How large a request's shape may be; the defaults if absent. */
  readonly limits?: RequestLimits | undefined
  /** Is told how each operation ended. */
  readonly metrics: OperationMetrics
  /** Is told who asked for what; absent where nobody wants to know. */
  readonly requests?: RequestLog | undefined
  /** Is told of an error that no caller can do anything about; absent where somebody else tells it. */
  readonly failures?: FailureLog | undefined
  /** Keeps the webhooks of tasks; absent where the server has none. */
  readonly webhooks?: PushConfigs | undefined
  readonly clock: Clock
  /** How long a blocking send waits before it answers with the task as it is. */
  readonly blockingTimeoutMs: number
}

/** The agent as callers may know it. */
export interface ServedAgent {
  /** The public card; its capabilities decide what is offered. */
  card(): AgentCard | Promise<AgentCard>
  /** The card for the authenticated, with the server at this URL if not at its own; absent where none is configured. */
  extendedCard?(auth: AuthContext, server?: string): AgentCard | Promise<AgentCard>
  /** Whether the extended card is for anyone; only the conformance kit's agent says so. */
  readonly openExtendedCard: boolean
  /** Media types that parts may have; undefined: any. */
  inputModes(): readonly string[] | undefined
  /** Refuses structured input that fits no skill, with A2AError `invalidParams`; undefined: nothing to check. */
  checkInput(parts: readonly Part[]): Promise<void> | undefined
}

/** Establishes who calls, and whether they may. */
interface CallerAuth {
  /** @throws A2AError `unauthenticated` or `forbidden`. */
  authenticate(call: Call, operation: OperationName): AuthContext | Promise<AuthContext>
}

/** Counts what callers ask for. */
interface CallerLimit {
  /** Counts the request. @throws A2AError `rateLimited`. */
  count(operation: OperationName, request: unknown, call: Call): Promise<void>
  /** The request was about a task that is not there. */
  missed(call: Call): void
  /** The caller's credentials do not hold. @throws A2AError `rateLimited`: guessing them has an end. */
  refused(call: Call): Promise<void>
}

/** Counts operations by their outcome. */
interface OperationMetrics {
  /** `outcome` is `ok` or an error's code. */
  observe(operation: OperationName, outcome: string, ms: number): void
}

/** Tells what went wrong here, which callers do not learn. */
type FailureLog = (operation: OperationName, thrown: unknown) => void

/** Tells who asked for what. */
export type RequestLog = (request: AnsweredRequest) => void

/** A request that was answered. */
interface AnsweredRequest {
  readonly operation: OperationName
  /** Absent where the caller is not known. */
  readonly auth: AuthContext | undefined
  /** `ok` or an error's code. */
  readonly outcome: string
  readonly ms: number
}

/** The webhooks of tasks. */
export interface PushConfigs {
  /** @throws A2AError `invalidParams` for a webhook that must not or cannot be called; `path` is where it stands. */
  check(config: TaskPushNotificationConfig, path: string): void
  /** The webhooks of a task, oldest first. */
  list(taskId: string): Promise<readonly PushConfigRecord[]>
  /**
   * Reserves a place for a webhook until the returned function is called, once it is stored or will not be.
   * @throws A2AError `invalidParams` where the task has as many as it may have.
   */
  reserve(taskId: string, id: string): Promise<() => void>
  /** Keeps a webhook, which hears of what happens from now on; one of the same id is replaced. */
  add(record: Omit<PushConfigRecord, 'cursor'>): Promise<void>
  /** Removes a webhook, which hears nothing more. */
  remove(taskId: string, id: string): Promise<void>
}
