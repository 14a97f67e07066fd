import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import { retryAfterMs } from '../../shared/retry.ts'

/** What a refusal of the model service means to whoever asked our agent. Its own words stay in the log, its status in the cause. */
export function refusal(agent: string, status: number, request: RefusedRequest = {}): A2AError {
  const { retryAfterSeconds, format } = request
  const [code, what] = meaning(status)
  const later = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  const cause = new Error(`HTTP ${status}`)
  const isUnread = format !== undefined && (status === 400 || status === 422)
  const advice = isUnread ? `; ${withoutFormat(format)}` : ''
  return new A2AError(code, `The model of ${agent} ${what}${advice}`, { ...later, cause })
}

/** What is known of a request that was refused. */
interface RefusedRequest {
  readonly retryAfterSeconds?: number | undefined
  /** The type of its `response_format`. */
  readonly format?: string | undefined
}

function withoutFormat(format: string): string {
  const others = format === 'json_schema' ? '"json_object" or "none"' : '"none"'
  return `if its service does not know response_format ${format}, set response_format of the model to ${others}`
}

/** What a failure on the way to the model service means. The cause stays in the process. */
export function networkFault(agent: string, cause: unknown): A2AError {
  if (timeouts.has(codeOf(cause)))
    return new A2AError('timeout', `The model of ${agent} did not answer in time`, { cause })
  return new A2AError('agentUnavailable', `The model of ${agent} cannot be reached`, { cause })
}

/** An answer that is no chat completion. */
export function malformed(agent: string, what: string): A2AError {
  return new A2AError('invalidAgentResponse', `The model of ${agent} ${what}`)
}

/** When the service wants to be asked again: `retry-after-ms`, or `Retry-After` in seconds or as a date. */
export function retryAfterOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  now: number,
): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (ms >= 0) return ms / 1000
  const asked = retryAfterMs(headers['retry-after']?.toString(), now)
  return asked === undefined ? undefined : asked / 1_000
}

const timeouts: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

function meaning(status: number): [ErrorCode, string] {
  if (status === 401 || status === 403) return ['processingError', 'refused our credentials']
  if (status === 404) return ['processingError', 'does not exist at its endpoint']
  if (status === 429) return ['agentUnavailable', 'is asked too often']
  if (status === 408 || status >= 500) return ['agentUnavailable', `is out of order (${status})`]
  return ['processingError', `refused the request (${status})`]
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}
