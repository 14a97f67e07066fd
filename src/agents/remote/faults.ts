import { A2AError, type ErrorCode } from '../../protocol/errors.ts'

/**
 * What a remote agent's failure means to whoever asked ours. Hosts, and what the remote refused us for, stay in the
 * cause: our caller is not to blame for our credentials. The end of our own turn is passed on as it is.
 */
export function toMemberFault(name: string, thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (!(thrown instanceof A2AError) || own.has(thrown)) return thrown
  const [code, what] = meaning[thrown.code] ?? ['processingError', 'could not process the message']
  const { retryAfterSeconds } = thrown.details
  return new A2AError(code, `${name} ${what}`, {
    cause: thrown,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** A failure that we found ourselves; its words are meant for our caller. */
export function ownFault(code: ErrorCode, message: string): A2AError {
  const error = new A2AError(code, message)
  own.add(error)
  return error
}

/** Holds errors only as long as somebody else does. */
const own = new WeakSet<A2AError>()

const meaning: Partial<Record<ErrorCode, [ErrorCode, string]>> = {
  unavailable: ['agentUnavailable', 'cannot be reached'],
  agentUnavailable: ['agentUnavailable', 'is not available'],
  rateLimited: ['agentUnavailable', 'is asked too often'],
  timeout: ['timeout', 'did not answer in time'],
  unauthenticated: ['processingError', 'refused our credentials'],
  forbidden: ['processingError', 'refused our credentials'],
  invalidAgentResponse: ['invalidAgentResponse', 'sent an answer that cannot be understood'],
  contentTypeNotSupported: ['contentTypeNotSupported', 'does not take this kind of content'],
  taskNotFound: ['processingError', 'no longer knows the task'],
}
