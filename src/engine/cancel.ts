import type { WaitingTask } from '../agents/agent.ts'
import type { TaskLog } from './log.ts'
import type { RunHost } from './run-host.ts'

/** Whose agent is told. */
interface CancelledRun extends Pick<WaitingTask, 'load' | 'keys'> {
  readonly log: TaskLog
  readonly host: RunHost
}

/** How long a cancelled turn has to leave, and then its agent to call off what it left elsewhere. */
const leaveMs = 10_000
const tellMs = 30_000

/**
 * Tells the agent that its task is cancelled. The turn that ran has heard by its signal; what it left behind elsewhere,
 * and those of a team that only wait, hear afterwards. One that does not listen keeps nobody waiting, and one that fails
 * does not keep the task from ending.
 */
export async function tellAgent(run: CancelledRun, work: Promise<void> | undefined): Promise<void> {
  const { within } = run.host
  await within(leaveMs, work)
  await within(tellMs, tell(run))
}

async function tell(run: CancelledRun): Promise<void> {
  const { agent, logger } = run.host
  const { id: taskId, contextId } = run.log
  try {
    await agent.cancel?.({
      taskId,
      contextId,
      load: (key) => run.load(key),
      keys: () => run.keys(),
    })
  } catch (err) {
    logger.warn({ taskId, err }, 'The agent could not cancel its work')
  }
}
