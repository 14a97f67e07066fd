import type { A2AError } from '../../protocol/errors.ts'
import { A2ATimeoutError, toEvalError } from '../base/errors.ts'
import { SimulationFault, type TerminationReason } from '../results/simulation.ts'

/** Statuses that speak of the way to the agent, its door or its load, not of its work. */
const infrastructure: ReadonlySet<number> = new Set([401, 403, 407, 429, 502, 503, 504])

/**
 * Whose fault a failed exchange is. No answer at all, a closed door or a full house is infrastructure; an agent that
 * answers with an error, with something unreadable, or not in time, has failed the task.
 */
export function toFault(thrown: unknown, lastStatus: number | undefined): SimulationFault {
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
