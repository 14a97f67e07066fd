import type { A2AError, ErrorCode } from '../protocol/errors.ts'

// What HTTP itself refuses, whatever the protocol on top of it.
const refused: ReadonlyMap<ErrorCode, number> = new Map([
  ['unauthenticated', 401],
  ['forbidden', 403],
  ['requestTimeout', 408],
  ['payloadTooLarge', 413],
  ['rateLimited', 429],
  ['unavailable', 503],
])

/** The HTTP status of a JSON-RPC error: 200, but for what HTTP itself refuses. */
export function refusalStatus(error: A2AError): number {
  return refused.get(error.code) ?? 200
}

/** The headers that an error asks for beside its body: the challenge of a 401, when to try again, what is left. */
export function refusalHeaders(error: A2AError): Record<string, string> {
  const { challenge, retryAfterSeconds, requestLimit } = error.details
  const headers: Record<string, string> = {}
  if (challenge !== undefined) headers['www-authenticate'] = challenge
  if (retryAfterSeconds === undefined) return headers
  const seconds = String(Math.max(0, Math.ceil(retryAfterSeconds)))
  headers['retry-after'] = seconds
  if (requestLimit === undefined) return headers
  headers['ratelimit-limit'] = String(requestLimit)
  headers['ratelimit-remaining'] = '0'
  headers['ratelimit-reset'] = seconds
  return headers
}
