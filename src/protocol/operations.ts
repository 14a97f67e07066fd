import { A2AError, type ErrorCode } from './errors.ts'
import type { Check } from './schema-checks.ts'
import * as requests from './schema-tables.ts'
import { agentCard } from './schema-tables.ts'
import type * as A2A from './types.ts'
import type { EventStream, Sequenced } from './types.ts'

/**
 * The protocol's operations. To add one: its types in `types.ts`, its checks in `schema/`, its entry and its row here,
 * its handler in `operations/handlers.ts`, its method in `client/client.ts`. All else reads the row.
 */

/** The types of request and result of every operation (§3.1). */
export interface Operations {
  SendMessage: { request: A2A.SendMessageRequest; result: A2A.SendMessageResponse }
  SendStreamingMessage: { request: A2A.SendMessageRequest; result: A2A.EventStream }
  GetTask: { request: A2A.GetTaskRequest; result: A2A.Task }
  ListTasks: { request: A2A.ListTasksRequest; result: A2A.ListTasksResponse }
  CancelTask: { request: A2A.CancelTaskRequest; result: A2A.Task }
  SubscribeToTask: { request: A2A.SubscribeToTaskRequest; result: A2A.EventStream }
  CreateTaskPushNotificationConfig: {
    request: A2A.TaskPushNotificationConfig
    result: A2A.TaskPushNotificationConfig
  }
  GetTaskPushNotificationConfig: {
    request: A2A.GetTaskPushNotificationConfigRequest
    result: A2A.TaskPushNotificationConfig
  }
  ListTaskPushNotificationConfigs: {
    request: A2A.ListTaskPushNotificationConfigsRequest
    result: A2A.ListTaskPushNotificationConfigsResponse
  }
  DeleteTaskPushNotificationConfig: {
    request: A2A.DeleteTaskPushNotificationConfigRequest
    result: null
  }
  GetExtendedAgentCard: { request: A2A.GetExtendedAgentCardRequest; result: A2A.AgentCard }
}

/** The name of an operation, as JSON-RPC 1.0 writes its method. */
export type OperationName = keyof Operations

/** The request type of an operation. */
export type RequestOf<N extends OperationName> = Operations[N]['request']

/** The result type of an operation; an EventStream for the streaming ones. */
export type ResultOf<N extends OperationName> = Operations[N]['result']

/** What a request says, by kind; a dialect that spells it differently has one codec per kind. */
export interface RequestKinds {
  message: A2A.SendMessageRequest
  task: A2A.GetTaskRequest & A2A.CancelTaskRequest
  filter: A2A.ListTasksRequest
  webhook: A2A.TaskPushNotificationConfig
  webhookId: { readonly taskId: string; readonly id?: string }
  nothing: A2A.GetExtendedAgentCardRequest
}

/** What an answer says, by kind; a dialect that spells it differently has one codec per kind. */
export interface ResultKinds {
  answer: A2A.SendMessageResponse
  events: A2A.EventStream
  task: A2A.Task
  tasks: A2A.ListTasksResponse
  webhook: A2A.TaskPushNotificationConfig
  webhooks: A2A.ListTaskPushNotificationConfigsResponse
  nothing: null
  card: A2A.AgentCard
}

/** The kinds of requests. */
export type RequestKind = keyof RequestKinds

/** The kinds of results. */
export type ResultKind = keyof ResultKinds

/** How a parameter of a query is read. */
export type QueryKind = 'string' | 'integer' | 'boolean' | 'state'

/** What there is to know of an operation: whether it streams, what it needs, how each wire spells it. */
export interface OperationRow {
  /** Whether it answers with a stream of events. */
  readonly stream: boolean
  /** Whether repeating it changes nothing, so that a client may retry it freely (§3.3.1). */
  readonly idempotent: boolean
  /** Whether clients ask it again and again: once a second per task costs nothing of a rate limit. */
  readonly polls?: boolean
  /** The scope that a caller's credential needs; absent where any will do. */
  readonly scope?: ScopeName
  /** The card capability without which it is refused (§3.3.4). */
  readonly needs?: 'streaming' | 'pushNotifications' | 'extendedAgentCard'
  /** The error of that refusal. */
  readonly refusal?: ErrorCode
  /**
   * The kind of its request.
   * @internal
   */
  readonly takes: RequestKind
  /**
   * The kind of its result.
   * @internal
   */
  readonly gives: ResultKind
  /**
   * The check of its request.
   * @internal
   */
  readonly request: Check
  /**
   * The check of its result, or of each event of its stream.
   * @internal
   */
  readonly response: Check
  /** Its HTTP verbs in order of preference, its path (§11.3), and what may stand in the query (§11.5). */
  readonly rest: {
    readonly verbs: readonly ('GET' | 'POST' | 'DELETE')[]
    readonly path: string
    readonly query?: Readonly<Record<string, QueryKind>>
  }
  /** Its method names in 0.3 and in 1.0's release candidate; clients write the first. */
  readonly slashNames: readonly [string, ...string[]]
}

const streaming = { needs: 'streaming', refusal: 'unsupportedOperation' } as const

const push = {
  scope: 'push',
  needs: 'pushNotifications',
  refusal: 'pushNotificationNotSupported',
} as const

const tenant = { tenant: 'string' } as const

const oneWebhook = { path: '/tasks/{taskId}/pushNotificationConfigs/{id}', query: tenant }

/** Every operation of the protocol by its name, with what there is to know of it. */
export const operations: Readonly<Record<OperationName, OperationRow>> = {
  SendMessage: {
    stream: false,
    idempotent: false,
    scope: 'tasks:write',
    takes: 'message',
    gives: 'answer',
    request: requests.sendMessageRequest,
    response: requests.sendMessageResponse,
    rest: { verbs: ['POST'], path: '/message:send' },
    slashNames: ['message/send'],
  },
  SendStreamingMessage: {
    stream: true,
    idempotent: false,
    ...streaming,
    scope: 'tasks:write',
    takes: 'message',
    gives: 'events',
    request: requests.sendMessageRequest,
    response: requests.streamResponse,
    rest: { verbs: ['POST'], path: '/message:stream' },
    slashNames: ['message/stream', 'message/sendStreaming'],
  },
  GetTask: {
    stream: false,
    idempotent: true,
    polls: true,
    scope: 'tasks:read',
    takes: 'task',
    gives: 'task',
    request: requests.getTaskRequest,
    response: requests.task,
    rest: { verbs: ['GET'], path: '/tasks/{id}', query: { ...tenant, historyLength: 'integer' } },
    slashNames: ['tasks/get'],
  },
  ListTasks: {
    stream: false,
    idempotent: true,
    scope: 'tasks:read',
    takes: 'filter',
    gives: 'tasks',
    request: requests.listTasksRequest,
    response: requests.listTasksResponse,
    rest: {
      verbs: ['GET'],
      path: '/tasks',
      query: {
        ...tenant,
        contextId: 'string',
        status: 'state',
        pageSize: 'integer',
        pageToken: 'string',
        historyLength: 'integer',
        statusTimestampAfter: 'string',
        includeArtifacts: 'boolean',
      },
    },
    slashNames: ['tasks/list'],
  },
  CancelTask: {
    stream: false,
    idempotent: true,
    scope: 'tasks:write',
    takes: 'task',
    gives: 'task',
    request: requests.cancelTaskRequest,
    response: requests.task,
    rest: { verbs: ['POST'], path: '/tasks/{id}:cancel', query: tenant },
    slashNames: ['tasks/cancel'],
  },
  SubscribeToTask: {
    stream: true,
    idempotent: true,
    ...streaming,
    scope: 'tasks:read',
    takes: 'task',
    gives: 'events',
    request: requests.subscribeToTaskRequest,
    response: requests.streamResponse,
    rest: { verbs: ['POST', 'GET'], path: '/tasks/{id}:subscribe', query: tenant },
    slashNames: ['tasks/resubscribe', 'tasks/subscribe'],
  },
  CreateTaskPushNotificationConfig: {
    stream: false,
    idempotent: false,
    ...push,
    takes: 'webhook',
    gives: 'webhook',
    request: requests.pushConfigOfTask,
    response: requests.pushConfig,
    rest: { verbs: ['POST'], path: '/tasks/{taskId}/pushNotificationConfigs' },
    slashNames: ['tasks/pushNotificationConfig/set', 'tasks/pushNotificationConfig/create'],
  },
  GetTaskPushNotificationConfig: {
    stream: false,
    idempotent: true,
    ...push,
    takes: 'webhookId',
    gives: 'webhook',
    request: requests.pushConfigReference,
    response: requests.pushConfig,
    rest: { verbs: ['GET'], ...oneWebhook },
    slashNames: ['tasks/pushNotificationConfig/get'],
  },
  ListTaskPushNotificationConfigs: {
    stream: false,
    idempotent: true,
    ...push,
    takes: 'webhookId',
    gives: 'webhooks',
    request: requests.listPushConfigsRequest,
    response: requests.listPushConfigsResponse,
    rest: {
      verbs: ['GET'],
      path: '/tasks/{taskId}/pushNotificationConfigs',
      query: { ...tenant, pageSize: 'integer', pageToken: 'string' },
    },
    slashNames: ['tasks/pushNotificationConfig/list'],
  },
  DeleteTaskPushNotificationConfig: {
    stream: false,
    idempotent: true,
    ...push,
    takes: 'webhookId',
    gives: 'nothing',
    request: requests.pushConfigReference,
    // Peers answer null, {} or nothing at all.
    response: () => null,
    rest: { verbs: ['DELETE'], ...oneWebhook },
    slashNames: ['tasks/pushNotificationConfig/delete'],
  },
  GetExtendedAgentCard: {
    stream: false,
    idempotent: true,
    needs: 'extendedAgentCard',
    refusal: 'unsupportedOperation',
    takes: 'nothing',
    gives: 'card',
    request: requests.extendedCardRequest,
    response: agentCard,
    rest: { verbs: ['GET'], path: '/extendedAgentCard', query: tenant },
    slashNames: ['agent/getAuthenticatedExtendedCard', 'agentCard/getExtended'],
  },
}

/** The names of all operations, in the specification's order. */
export const operationNames: readonly OperationName[] = Object.keys(operations) as OperationName[] // keys of a Record<OperationName>

/** Whether a string names an operation. */
export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(operations, name)
}

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
  /**
   * The tenants that the credential is good for, the empty string for requests that name none; any if absent. A request
   * that names none is in the only tenant of a credential that has one.
   */
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
  /**
   * Only this machine reaches the server, which asks for no credentials; servers only.
   * @internal
   */
  readonly isLocal?: true
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

/** What a credential allows: to read tasks, to send and cancel, to register webhooks, to run the server. */
export type ScopeName = 'tasks:read' | 'tasks:write' | 'push' | 'operator'

/** The scopes that a credential may have, beside `agent:ID`. */
export const scopeNames: readonly ScopeName[] = ['tasks:read', 'tasks:write', 'push', 'operator']

const agentPrefix = 'agent:'

/** What a credential is good for; an `AuthContext` is one. */
interface Grant {
  /** Names of scopes, and `agent:ID` for the agents it may reach; all but `operator` if it names none. */
  readonly scopes?: readonly string[]
  /** The tenants it may act for; any if absent. */
  readonly tenants?: readonly string[]
}

/** Whether a scope is one of ours: a name of the list, or `agent:ID`. */
export function isScope(scope: string): boolean {
  return isScopeName(scope) || (scope.startsWith(agentPrefix) && scope !== agentPrefix)
}

/** Tells whether a caller has a scope. A credential that names no scope has all of them but `operator`. */
export function hasScope({ scopes }: Grant, scope: ScopeName): boolean {
  if (!scopes?.some(isScopeName)) return scope !== 'operator'
  return scopes.includes(scope)
}

/** Who asks why something failed. */
export type Asker = Required<Pick<Call, 'auth'>> & Pick<Call, 'isLocal'>

/** Whether a caller may read the words of errors: an operator, or anyone who can call where only this machine can. */
export function mayExplain(asker: Asker): boolean {
  return asker.isLocal === true || isOperator(asker)
}

/** Whether a caller sees the tasks of all. */
export function isOperator({ auth }: Pick<Asker, 'auth'>): boolean {
  return hasScope(auth, 'operator') && auth.tenants === undefined
}

/** @throws A2AError `forbidden` with the challenge that names the scope which is missing (RFC 6750 §3.1). */
export function mustHaveScope(auth: Grant, scope: ScopeName): void {
  if (!hasScope(auth, scope)) throw insufficient(scope)
}

/** Whether a caller may use an agent. A credential that names agents is good for these alone. */
export function reachesAgent({ scopes }: Grant, id: string): boolean {
  return (
    !scopes?.some((scope) => scope.startsWith(agentPrefix)) || scopes.includes(agentPrefix + id)
  )
}

/** @throws A2AError `forbidden` with the challenge that names the scope which is missing. */
export function mustReachAgent(auth: Grant, id: string): void {
  if (!reachesAgent(auth, id)) throw insufficient(agentPrefix + id)
}

/** The header that names the tenant of a request which cannot name one itself. */
export const tenantHeader = 'a2a-tenant'

/**
 * The tenant that a call is in: the one that it names, else the only one that its credential is good for. The empty
 * string names none.
 * @throws A2AError `forbidden` for a tenant that the credential is not good for.
 */
export function tenantFor({ tenants }: Grant, named: string): string {
  if (!tenants || tenants.includes(named)) return named
  const [only] = tenants
  if (named !== '' || only === undefined)
    throw new A2AError('forbidden', 'These credentials are not good for this tenant')
  if (tenants.some((tenant) => tenant !== only))
    throw new A2AError(
      'forbidden',
      'These credentials are good for several tenants; name one in the request or by the header A2A-Tenant',
    )
  return only
}

function isScopeName(scope: string): scope is ScopeName {
  return scopeNames.some((name) => name === scope)
}

function insufficient(scope: string): A2AError {
  // An agent's id may have characters that a header cannot carry.
  const named = scope.replace(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?')
  return new A2AError('forbidden', `These credentials lack the scope ${scope}`, {
    reason: 'INSUFFICIENT_SCOPE',
    challenge: `Bearer error="insufficient_scope", scope="${named}"`,
  })
}
