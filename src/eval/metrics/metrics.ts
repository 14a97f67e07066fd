import { ValidationError } from '../errors.ts'
import { round } from '../json.ts'

/** Where a token count comes from: the agent's own report, a tokenizer, or length divided by four. */
export type TokenSource = 'reported' | 'tokenizer' | 'estimate'

/** The measurements of one request to the agent (seed 001's ProtocolMetrics), with the seed's field names. */
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
  /** ISO 8601, UTC, milliseconds. */
  readonly timestamp: string
  /** How the tokens of this record were counted. */
  readonly token_source?: TokenSource
}

/**
 * Checks a record against the seed's rules (S001-72…75).
 *
 * @throws ValidationError naming the rule broken.
 */
export function checkMetrics(metrics: ProtocolMetrics): ProtocolMetrics {
  const { latency_ms: latency, status_code: status, input_tokens, output_tokens, error } = metrics
  if (!(latency >= 0)) throw new ValidationError(`latency_ms must be non-negative, got ${latency}`)
  if (status !== undefined && !(Number.isInteger(status) && status >= 100 && status <= 599))
    throw new ValidationError(`status_code must be between 100 and 599, got ${status}`)
  for (const tokens of [input_tokens, output_tokens])
    if (tokens !== undefined && !(tokens >= 0))
      throw new ValidationError(`tokens must be non-negative, got ${tokens}`)
  if (error === '') throw new ValidationError('error must only be present if the request failed')
  return metrics
}

/** A record as it is exported: the seed's key order, latency with two decimals, nothing undefined (the seed's `to_dict`). */
export function toDict(metrics: ProtocolMetrics): ProtocolMetrics {
  const { request_id, endpoint, method, latency_ms, timestamp, token_source } = metrics
  const { status_code, input_tokens, output_tokens, context_id, error } = metrics
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
    timestamp,
    ...(token_source !== undefined && { token_source }),
  }
}
