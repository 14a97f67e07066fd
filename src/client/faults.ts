import type { HttpSend } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import { readUrl } from '../shared/url.ts'

/**
 * Network faults as A2AErrors. What a caller has to know is whether the request can have reached the peer: a send that
 * may have arrived is not repeated.
 */
const arrival = 'arrival'

/** An address that must not be reached; the message says why. Taken as a host that does not answer. */
export class AddressRefused extends Error {
  readonly code = 'EHOSTUNREACH'
}

/** No connection came about: the peer has not seen the request. */
export function connectFailure(url: string, cause: unknown): A2AError {
  const why = cause instanceof AddressRefused ? `: it ${cause.message}` : ''
  return new A2AError('unavailable', `Cannot connect to ${hostOf(url)}${why}`, {
    cause,
    metadata: { [arrival]: 'none' },
  })
}

/** The connection broke: the peer may have seen the request. */
export function connectionLost(url: string, cause: unknown): A2AError {
  return new A2AError('unavailable', `Connection to ${hostOf(url)} lost`, {
    cause,
    metadata: { [arrival]: 'unknown' },
  })
}

/** The peer took too long: it may be at work. */
export function tooSlow(url: string, ms: number): A2AError {
  return new A2AError('timeout', `No answer from ${hostOf(url)} within ${ms} ms`, {
    metadata: { [arrival]: 'unknown' },
  })
}

/**
 * Takes a gateway's word that it lost the agent (502 and the like) for what it is: a connection lost behind it, after
 * the request may have arrived. An answer of the agent itself with such a status is passed on.
 */
export function withGateways(send: HttpSend): HttpSend {
  return async (request) => {
    const reply = await send(request)
    if (reply.status < 502 || reply.status === 503 || reply.status === 504) return reply
    const text = await reply.text()
    if (!/"(jsonrpc|reason)"/.test(text)) throw connectionLost(request.url, undefined)
    return { ...reply, text: () => Promise.resolve(text) }
  }
}

/** Whether no connection came about. */
export function isConnectFailure(error: unknown): boolean {
  return error instanceof A2AError && error.details.metadata?.[arrival] === 'none'
}

/**
 * Whether a failed request certainly began nothing: there was no connection, or the peer was busy and says so (429), or
 * it asks us to come back (`Retry-After`). A bare 503 may come from a gateway that lost the agent at work, or from an
 * agent that found a part of itself missing halfway.
 */
export function hasBegunNothing(error: unknown): boolean {
  if (!(error instanceof A2AError)) return false
  const { metadata, retryAfterSeconds } = error.details
  if (metadata?.[arrival] !== undefined) return metadata[arrival] === 'none'
  return (
    error.code === 'rateLimited' ||
    (error.code === 'unavailable' && retryAfterSeconds !== undefined)
  )
}

/** Path and query of a URL can hold secrets; host and port suffice to find the fault. */
function hostOf(url: string): string {
  return readUrl(url)?.host ?? 'an invalid URL'
}
