import type { A2AError } from '../../protocol/errors.ts'
import type { A2AAgentState } from '../agent/state.ts'
import { A2ATimeoutError, toEvalError } from '../base/errors.ts'

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

function terminationOf(error: A2AError, lastStatus: number | undefined): TerminationReason {
  if (error instanceof A2ATimeoutError) return 'timeout'
  if (lastStatus === undefined || infrastructure.has(lastStatus)) return 'infrastructure_error'
  return error.code === 'unavailable' || error.code === 'rateLimited'
    ? 'infrastructure_error'
    : 'agent_error'
}
