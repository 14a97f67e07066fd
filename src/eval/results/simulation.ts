import type { A2AError } from '../../protocol/errors.ts'
import type { AgentCard } from '../../protocol/types.ts'
import { A2ATimeoutError, toEvalError } from '../base.ts'
import type { ConversationMessage } from '../domain/domain.ts'
import type { MetricsSummary, ProtocolMetrics } from '../metrics.ts'
import type { RewardInfo } from '../scorers/scorer.ts'

/** How a simulation ended, in tau2's words. Only the first two are scored by what was achieved. */
export type TerminationReason =
  | 'user_stop'
  | 'agent_stop'
  | 'max_steps'
  | 'timeout'
  | 'too_many_errors'
  | 'agent_error'
  | 'user_error'
  | 'infrastructure_error'
  | 'unexpected_error'

/** What is remembered of one simulation. Each trial of each task has its own. */
export interface A2AAgentState {
  /** The conversation; undefined until the agent's first answer names it. */
  readonly contextId: string | undefined
  /** The A2A task that the next message continues; undefined once it is terminal. */
  readonly taskId: string | undefined
  /** What earlier answers already brought of that task's artifacts. */
  readonly artifactsRead: ArtifactsRead
  /** What was said so far. */
  readonly conversationHistory: readonly ConversationMessage[]
  /** The card as discovered at the start of the evaluation. */
  readonly agentCard: AgentCard | undefined
  /** Messages sent in this task. */
  readonly requestCount: number
}

/** How much of each artifact earlier answers of a task already brought. */
export interface ArtifactsRead {
  readonly [artifactId: string]: { readonly text: string; readonly others: number }
}

/** One run of one task: tau2's SimulationRun, with what the protocol cost. */
export interface Simulation {
  readonly id: string
  readonly task_id: string
  readonly trial: number
  readonly seed: number
  readonly timestamp: string
  readonly start_time: string
  readonly end_time: string
  /** Seconds. */
  readonly duration: number
  readonly termination_reason: TerminationReason
  /** Why it ended so, where that is a fault. */
  readonly error?: string
  readonly agent_cost: number | null
  readonly user_cost: number | null
  readonly reward_info: RewardInfo
  readonly messages: readonly ConversationMessage[]
  readonly mode: 'half_duplex'
  readonly context_id?: string
  readonly request_count: number
  readonly protocol_metrics: readonly ProtocolMetrics[]
  readonly metrics_summary: MetricsSummary
  /** Things that a reader of the score should know: a changed context, a replay that left its record. */
  readonly warnings: readonly string[]
  /** Attempts before this one that died of infrastructure. */
  readonly retries: readonly string[]
  /** The requests of those attempts, in their order. */
  readonly retried_metrics?: readonly (readonly ProtocolMetrics[])[]
}

const unmeasured: ReadonlySet<TerminationReason> = new Set([
  'infrastructure_error',
  'unexpected_error',
])

/** Whether the simulation says something about the agent at all: a dead connection does not, nor does a fault of ours. */
export function isMeasured({
  termination_reason,
}: Pick<Simulation, 'termination_reason'>): boolean {
  return !unmeasured.has(termination_reason)
}

/** Whether a reward counts as success: within 1e-6 of one. */
export function isSuccess(reward: number): boolean {
  return Math.abs(reward - 1) <= 1e-6
}

/**
 * Whose fault a failed exchange is. No answer at all, refused credentials or too much load is infrastructure; an agent
 * that answers with an error, with something unreadable, or not in time, has failed the task.
 */
export function toSimulationFault(
  thrown: unknown,
  lastStatus: number | undefined,
): SimulationFault {
  if (thrown instanceof SimulationFault) return thrown
  const error = toEvalError(thrown)
  return new SimulationFault(terminationOf(error, lastStatus), `${error.name}: ${error.message}`, {
    cause: error,
  })
}

/** Ends a simulation for a reason that nobody chose: a broken answer, a dead connection, a time limit. */
export class SimulationFault extends Error {
  override readonly name = 'SimulationFault'
  /** How the simulation ended. */
  readonly termination: TerminationReason
  /** The agent's state after the send that failed, where one did. */
  readonly state: A2AAgentState | undefined

  constructor(
    termination: TerminationReason,
    message: string,
    options: ErrorOptions & { readonly state?: A2AAgentState } = {},
  ) {
    const { state, ...rest } = options
    super(message, rest)
    this.termination = termination
    this.state = state
  }
}

/** Statuses that speak of the way to the agent, its credentials or its load, not of its work. */
const infrastructure: ReadonlySet<number> = new Set([401, 403, 407, 429, 502, 503, 504])

function terminationOf(error: A2AError, lastStatus: number | undefined): TerminationReason {
  if (error instanceof A2ATimeoutError) return 'timeout'
  if (lastStatus === undefined || infrastructure.has(lastStatus)) return 'infrastructure_error'
  return error.code === 'unavailable' || error.code === 'rateLimited'
    ? 'infrastructure_error'
    : 'agent_error'
}

/** Makes the state of a simulation that has not begun. */
export function initialState(
  history: readonly ConversationMessage[] = [],
  agentCard?: AgentCard,
): A2AAgentState {
  return {
    contextId: undefined,
    taskId: undefined,
    artifactsRead: {},
    conversationHistory: history,
    agentCard,
    requestCount: 0,
  }
}
