import type { Agent } from '../agents/agent.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { Json, Message } from '../protocol/types.ts'
import type { Logger } from '../shared/log.ts'
import type { LoadedTask } from './load.ts'
import type { TaskLog } from './log.ts'
import type { QueuedMessage } from './messages.ts'
import type { TurnQueue } from './queue.ts'

/** What a run needs of its engine. */
export interface RunHost {
  readonly agent: Agent
  readonly queue: TurnQueue
  readonly logger: Logger
  /** Now, as the protocol writes it. */
  timestamp(): string
  /** Whether other processes can go on with the same tasks. */
  readonly isShared: boolean
  /** Whether work may begin here: a process that may have lost its tasks begins nothing. */
  mayBegin(): boolean
  /** Resolves when that is known again. */
  begins(): Promise<void> | undefined
  /** Messages that may wait for a running task. */
  readonly maxMailbox: number
  conversation(log: TaskLog, limit: number): Promise<readonly Message[]>
  /** The digest of the agent's definition. */
  readonly build: string
  /** Called with a message whose turn is interrupted: it is answered by its task where that is stored. */
  unanswered(message: QueuedMessage, log: TaskLog, reason: A2AError): void
  /** Resolves when the work is done, however it ends, or after so long. */
  within(ms: number, work: Promise<unknown> | undefined): Promise<void>
  /** How many bytes of values one context may keep. */
  readonly maxContextBytes: number
  /** The values that go with a context. */
  contextValues(log: TaskLog): Promise<ReadonlyMap<string, Json>>
  /** The tasks of the one whose task this is. */
  tasks(log: TaskLog): FullTaskStore
  /** Reads the task of a log that is unloaded. */
  load(log: TaskLog): Promise<LoadedTask>
  /** Called when the turn of this log's task waits and what has come in is stored. */
  waits(log: TaskLog): void
  /** Called when no turn of this log's task runs or waits and everything is stored. */
  idle(log: TaskLog): void
}
