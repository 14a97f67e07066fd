import { ValidationError } from '../base/errors.ts'
import { round } from '../base/json.ts'

/** Where a token count comes from: the agent's own report, a tokenizer, or length divided by four. */
export type TokenSource = 'reported' | 'tokenizer' | 'estimate'

/** The measurements of one request to the agent, with the field names of the exports. */
export interface ProtocolMetrics {
  readonly request_id: string
  readonly endpoint: string
  /** HTTP method. */
  readonly method: string
  /** Absent if no answer came. */
  readonly status_code?: number
  readonly latency_ms: number
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly context_id?: string
  /** Only on failed requests. */
  readonly error?: string
  /**
   * Where a request failed: no connection, or one that broke off; an HTTP status; or in what the answer says, as with
   * JSON-RPC errors, which come with status 200.
   */
  readonly failed_at?: 'connection' | 'status' | 'answer'
  /** ISO 8601, UTC, milliseconds. */
  readonly timestamp: string
  /** How the tokens of this record were counted. */
  readonly token_source?: TokenSource
  /** In exports of a run, which trial of the task. */
  readonly trial?: number
  /** In exports of a run, which attempt at the trial; the last one is the one that counts. */
  readonly attempt?: number
}

/**
 * Checks a record: numbers in their ranges, an error only where the request failed.
 *
 * @throws ValidationError naming the rule broken.
 */
export function checkMetrics(metrics: ProtocolMetrics): ProtocolMetrics {
  const { latency_ms: latency, status_code: status, input_tokens, output_tokens } = metrics
  if (!(latency >= 0 && Number.isFinite(latency)))
    throw new ValidationError(`latency_ms must be non-negative, got ${latency}`)
  if (status !== undefined && !(Number.isInteger(status) && status >= 100 && status <= 599))
    throw new ValidationError(`status_code must be between 100 and 599, got ${status}`)
  for (const tokens of [input_tokens, output_tokens])
    if (tokens !== undefined && !(Number.isInteger(tokens) && tokens >= 0))
      throw new ValidationError(`tokens must be a whole number from 0 up, got ${tokens}`)
  checkFailure(metrics)
  return metrics
}

/** Beside a status of success an error needs the word that explains it. */
function checkFailure({ status_code: status, error, failed_at }: ProtocolMetrics): void {
  if (error === undefined && failed_at !== undefined)
    throw new ValidationError('failed_at needs an error')
  const succeeded = status !== undefined && status < 400
  const unexplained = failed_at === undefined || failed_at === 'status'
  if (error === '' || (error !== undefined && succeeded && unexplained))
    throw new ValidationError('error must only be present if the request failed')
}

/** Gives a record as it is exported: in a fixed order of keys, latency with two decimals, nothing undefined. */
export function toDict(metrics: ProtocolMetrics): ProtocolMetrics {
  const { request_id, endpoint, method, latency_ms, timestamp, token_source } = metrics
  const { status_code, input_tokens, output_tokens, context_id, error, failed_at } = metrics
  const { trial, attempt } = metrics
  return {
    request_id,
    endpoint,
    method,
    ...(status_code !== undefined && { status_code }),
    latency_ms: round(latency_ms),
    ...(input_tokens !== undefined && { input_tokens }),
    ...(output_tokens !== undefined && { output_tokens }),
    ...(context_id !== undefined && { context_id }),
    ...(error !== undefined && { error }),
    ...(failed_at !== undefined && { failed_at }),
    timestamp,
    ...(token_source !== undefined && { token_source }),
    ...(trial !== undefined && { trial }),
    ...(attempt !== undefined && { attempt }),
  }
}
