import type { JsonObject } from '../protocol/types.ts'

/** What a turn must know of its request to run again after a restart. Credentials are never stored. */
export interface TurnRequest {
  readonly userId: string
  readonly extensions?: readonly string[]
  readonly acceptedOutputModes?: readonly string[]
  readonly metadata?: JsonObject
  readonly traceparent?: string
  /** The key that a message to an existing task came with; a repetition is known by it. */
  readonly idempotencyKey?: string
  /** The key of the inbox entry that a message came by, where another replica took it in. */
  readonly forwarded?: string
  readonly hops?: readonly string[]
}
