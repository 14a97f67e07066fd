import type { OperationName, RequestOf, ResultOf } from './operations.ts'
import type { ScopeName } from './scopes.ts'
import type { EventStream, Sequenced } from './types.ts'

export type { EventStream, Sequenced }

/** Who is calling, as far as the server could establish it. */
export interface AuthContext {
  /** The principal; the empty string is the anonymous caller. */
  readonly userId: string
  /** The presented credential, for agents that act on the caller's behalf; never stored or logged. */
  readonly accessToken?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  /** What the credential is good for (`ScopeName`, `agent:ID`); where none of ours is named, all but `operator`. */
  readonly scopes?: readonly string[]
  /** The tenants that the credential is good for, the empty string for requests that name none; any if absent. */
  readonly tenants?: readonly string[]
}

/** The caller nobody knows. Frozen: agents see it, and it is everybody's. */
export const anonymous: AuthContext = Object.freeze({ userId: '' })

/**
 * Whose share a call is taken from: a user's, or that of an address where nobody is named. Empty where neither is known:
 * then there is no share.
 */
export function principalOf({ auth, client }: Pick<Call, 'auth' | 'client'>): string {
  // A user and an address of the same name are two.
  if (auth?.userId) return `user ${auth.userId}`
  return client ? `address ${client}` : ''
}

/** No extension is active. */
export const noExtensions: readonly string[] = Object.freeze([])

/** What surrounds a request on either side: who, how long, which extensions, where a stream goes on. */
export interface Call {
  readonly signal?: AbortSignal
  readonly auth?: AuthContext
  /** Request headers in lower case. On a client: headers to add. On a server: headers received. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** The scope that the caller needs in place of the operation's own: that of a door which asks more than one thing. */
  readonly scope?: ScopeName
  /** The raw query of the request, where an API key may stand; servers only. */
  readonly query?: string
  /** The network address of the client; servers only. */
  readonly client?: string
  /** The server's URL as the client knows it, where a trusted proxy names it; servers only. */
  readonly base?: string
  /** The `A2A-Extensions` that the client activates. */
  readonly extensions?: readonly string[]
  /** The wire that the request came in on; decides how webhooks of this request are written. */
  readonly dialect?: DialectName
  /** Where a subscription goes on: events after this sequence number (SSE's `Last-Event-ID`). */
  readonly lastEventId?: number
  /**
   * The same key from the same caller gives the same task (`Idempotency-Key`). On a client an empty one sends none: the
   * answer may then be a message, since no task has to be kept for the key.
   */
  readonly idempotencyKey?: string
  /** The W3C `traceparent` of the caller. */
  readonly traceparent?: string
  /** How long a blocking send waits before it answers with the task as it is; the server's default if absent. */
  readonly waitMs?: number
  /** Told how long the peer wants to be left alone before its stream is asked for again (SSE's `retry:`); clients only. */
  readonly onRetry?: (ms: number) => void
  /** The request's task id as the wire gave it, which a task may really have; looked for before the request's own. */
  readonly givenTaskId?: string
  /** Collects what the answer's headers must say. */
  readonly reply?: Reply
}

/** Filled while an operation runs; the binding writes it into the answer's headers. */
export interface Reply {
  extensions?: readonly string[]
}

/** The wires a request can come in on. */
export type DialectName = '1.0' | '0.3' | '0.3-rest' | '1.0-rc' | 'ranch'

/**
 * The waist of the system: an operation's name and request in, its result or stream out.
 * A server is a Dispatch over the engine; a client is a Dispatch over a wire.
 */
export type Dispatch = <N extends OperationName>(
  name: N,
  request: RequestOf<N>,
  call: Call,
) => Promise<ResultOf<N>>

/** Wraps a Dispatch: authorisation, limits, retries, tracing, logging. */
export type Middleware = (next: Dispatch) => Dispatch
