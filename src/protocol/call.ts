import type { OperationName, RequestOf, ResultOf } from './operations.ts'
import type { ScopeName } from './scopes.ts'
import type { EventStream, Sequenced } from './types.ts'

export type { EventStream, Sequenced }

/** Who is calling, as far as the server could establish it. */
export interface AuthContext {
  /** Who it is; the empty string is the anonymous caller. */
  readonly userId: string
  /** The presented credential, for agents that act on the caller's behalf; never stored or logged. */
  readonly accessToken?: string
  /** What else the authenticator knows of the caller, such as the claims of a token. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /**
   * What the credential allows: names of scopes (`ScopeName`), and `agent:ID` for the agents it may reach. If it names
   * no scope, everything but `operator`.
   */
  readonly scopes?: readonly string[]
  /** The tenants that the credential is good for, the empty string for requests that name none; any if absent. */
  readonly tenants?: readonly string[]
}

/** The caller whom nobody knows: what a server passes on where it asks for no credential. */
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

/** What surrounds a request: who calls, which extensions are active, how long to wait, where a stream goes on. */
export interface Call {
  /** Abort it to give the request up. */
  readonly signal?: AbortSignal
  /** Who calls, where that is known. */
  readonly auth?: AuthContext
  /** Request headers in lower case. On a client: headers to add. On a server: headers received. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** The scope that the caller needs in place of the operation's own. */
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
  /**
   * The request's task id as the wire gave it; looked for before the request's own.
   * @internal
   */
  readonly givenTaskId?: string
  /**
   * Collects what the answer's headers must say.
   * @internal
   */
  readonly reply?: Reply
}

/** Filled while an operation runs; the binding writes it into the answer's headers. */
export interface Reply {
  extensions?: readonly string[]
}

/** The wires a request can come in on. */
export type DialectName = '1.0' | '0.3' | '0.3-rest' | '1.0-rc' | 'ranch'

/**
 * Calls an operation: its name and request in, its result or stream out. A server gives one for its agents, a client
 * one for a remote agent, so either can stand in the other's place.
 */
export type Dispatch = <N extends OperationName>(
  name: N,
  request: RequestOf<N>,
  call: Call,
) => Promise<ResultOf<N>>

/** Wraps a `Dispatch` in another: for authorisation, limits, retries, tracing or logging of your own. */
export type Middleware = (next: Dispatch) => Dispatch
