import type { Engine } from '../engine/engine.ts'
import type { AuthContext, Call } from '../protocol/call.ts'
import type { OperationName } from '../protocol/operations.ts'
import type { AgentCard, Part, TaskPushNotificationConfig } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import type { Store, Write, WriteResult } from '../store/store.ts'

/** What the operations of one served agent work on. */
export interface Service {
  readonly engine: Engine
  readonly store: Store
  readonly clock: Clock
  /** The public card; its capabilities decide what is offered. */
  card(): AgentCard | Promise<AgentCard>
  /** The card for the authenticated; absent where none is configured. */
  extendedCard?(auth: AuthContext): AgentCard | Promise<AgentCard>
  /** Whether the extended card is for anyone; only the conformance kit's agent says so. */
  readonly openExtendedCard?: boolean
  /** Establishes who calls, and whether they may. @throws A2AError `unauthenticated` or `forbidden`. */
  authenticate(call: Call, operation: OperationName): AuthContext | Promise<AuthContext>
  readonly limit?: LimitService
  /** Told how each operation ended: `ok` or an error's code. */
  observe(operation: OperationName, outcome: string, startedAt: number): void
  /** How long a blocking send waits before it answers with the task as it is. */
  readonly blockingTimeoutMs: number
  /** Media types that parts may have; undefined: any. */
  inputModes(): readonly string[] | undefined
  /** Refuses structured input that fits no skill, with A2AError `invalidParams`; undefined: nothing to check. */
  checkInput?(parts: readonly Part[]): Promise<void> | undefined
  /** Commits writes that are not a task's. */
  write(writes: readonly Write[]): Promise<readonly WriteResult[]>
  readonly webhooks: WebhookService
}

/** What the operations need of the rate limits. */
export interface LimitService {
  /** Counts the request. @throws A2AError `rateLimited`. */
  count(operation: OperationName, request: unknown, call: Call): Promise<void>
  /** The request was about a task that is not there. */
  missed(call: Call): void
  /** The caller's credentials do not hold. @throws A2AError `rateLimited`: guessing them has an end. */
  refused(call: Call): Promise<void>
}

/** What the operations need of the webhooks. */
export interface WebhookService {
  /** @throws A2AError `invalidParams` for a webhook that must not or cannot be called; `path` is where it stands. */
  check(config: TaskPushNotificationConfig, path: string): void
  /** A task has a webhook from now on. */
  watch(taskId: string): void
  /** A webhook is no more. */
  forget(taskId: string, id: string): void
}
