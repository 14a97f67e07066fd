import { type A2AError, errorRow } from '../../protocol/errors.ts'
import type { HttpReply } from '../http.ts'
import { refusalHeaders } from '../refusal.ts'

/** An error as OpenAI's clients expect it. */
interface OpenAIError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

/** The error that a fault of ours is to an OpenAI client; what is internal stays internal. */
export function toOpenAIError(error: A2AError): OpenAIError {
  const { violations, metadata, reason = errorRow(error.code).reason } = error.details
  const violation = violations?.[0]
  return {
    message: error.message,
    type: typeOf(statusOf(error)),
    param: violation?.field ?? null,
    code: metadata?.openai ?? reason.toLowerCase(),
  }
}

/** The reply that tells of an error. */
export function errorReply(error: A2AError): HttpReply {
  return {
    status: statusOf(error),
    headers: {
      'content-type': 'application/json',
      ...refusalHeaders(error),
      ...(isDecided(error) && { 'x-should-retry': 'false' }),
    },
    body: JSON.stringify({ error: toOpenAIError(error) }),
  }
}

/** An agent behind us that answers what was not asked for is a bad gateway. */
function statusOf({ code }: A2AError): number {
  return code === 'invalidAgentResponse' ? 502 : errorRow(code).http
}

/** OpenAI's own clients repeat whatever failed; a refusal would then be repeated to a task that is over. */
function isDecided({ details }: A2AError): boolean {
  const code = details.metadata?.openai
  return code === 'task_rejected' || code === 'task_canceled' || code === 'unfit_answer'
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}
