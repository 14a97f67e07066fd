import { ContentBlocked } from '../agents/guards/blocked.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { textOf } from '../protocol/task.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/** What the caller may learn of a member's failure: the kind of failure, in words that name nothing inside. */
const outward: Partial<Record<ErrorCode, ErrorCode>> = {
  agentUnavailable: 'agentUnavailable',
  unavailable: 'agentUnavailable',
  rateLimited: 'agentUnavailable',
  timeout: 'timeout',
  contentTypeNotSupported: 'contentTypeNotSupported',
}

const words: Partial<Record<ErrorCode, string>> = {
  agentUnavailable: 'An agent of the team is not available',
  timeout: 'An agent of the team did not answer in time',
  contentTypeNotSupported: 'An agent of the team does not take this kind of content',
}

/** Where a failure happened. */
interface FailurePlace {
  readonly team: string
  readonly member: string
  /** Whether the caller may learn which member it was. */
  readonly exposeMember: boolean
}

/**
 * A member's failure as the team's own: outside a code and a short sentence, inside the whole story in `cause`, so
 * that nested teams give a chain that names every level.
 */
export function toTeamError(thrown: unknown, place: FailurePlace): A2AError {
  const cause = new Error(`Team "${place.team}": agent "${place.member}" failed`, { cause: thrown })
  // A guard's reason is made to be told.
  if (thrown instanceof ContentBlocked)
    return new ContentBlocked(thrown.message, { at: thrown.at, cause })
  const code = (thrown instanceof A2AError ? outward[thrown.code] : undefined) ?? 'processingError'
  return new A2AError(code, words[code] ?? 'An agent of the team could not answer', {
    cause,
    ...(place.exposeMember && { metadata: { agent: place.member } }),
  })
}

/** The error that a reply in a failed state stands for. */
export function replyError(reply: MemberReply): A2AError {
  const text = reply.message ? textOf(reply.message.parts) : ''
  return new A2AError('processingError', text || `The agent ended in ${reply.state}`)
}
