import type { Agent } from '../agents/agent.ts'
import type { Message } from '../protocol/types.ts'
import type { Logger } from '../shared/log.ts'
import type { TaskLog } from './log.ts'
import type { TurnQueue } from './queue.ts'
import type { Run } from './run.ts'

/** What a run needs of its engine. */
export interface RunDeps {
  readonly agent: Agent
  readonly queue: TurnQueue
  readonly logger: Logger
  /** Now, as the protocol writes it. */
  timestamp(): string
  /** Messages that may wait for a running task. */
  readonly maxMailbox: number
  conversation(log: TaskLog, limit: number): Promise<readonly Message[]>
  /** Called when no turn runs or waits and everything is stored. */
  idle(run: Run): void
}
