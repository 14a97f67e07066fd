import type { Engine } from '../engine/engine.ts'
import { A2AError, hasCode, toA2AError } from '../protocol/errors.ts'
import {
  type AuthContext,
  anonymous,
  type Call,
  type Dispatch,
  mustHaveScope,
  mustReachAgent,
  noExtensions,
  type OperationName,
  operations,
  type RequestOf,
  type ResultOf,
  reachesAgent,
  tenantFor,
  tenantHeader,
} from '../protocol/operations.ts'
import { parseRequest, type RequestLimits } from '../protocol/schema.ts'
import { idFault } from '../protocol/schema-checks.ts'
import type { AgentCard, Part, TaskPushNotificationConfig } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import type { PushConfigRecord } from '../store/store.ts'

/** What the operations of one served agent need from around them, by role. */
export interface Service {
  /** Runs the agent and knows its tasks. */
  readonly engine: Engine
  /** Says who the agent is and what it takes. */
  readonly agent: ServedAgent
  /** What each operation does; read at every call, since another agent may take the place of this one. */
  readonly handlers: OperationHandlers
  /** Whether the agent is no longer served, and only its tasks are. */
  readonly retired?: boolean
  /** The others that may have a task which is not here, because they were at this address when it was made. */
  readonly former?: (() => readonly Service[]) | undefined
  /** Says who calls; absent where anyone may call, and everyone is the anonymous caller. */
  readonly auth?: CallerAuth | undefined
  /** Keeps callers within their share; absent where they may ask as often as they like. */
  readonly limit?: CallerLimit | undefined
  /** How large a request's shape may be; the defaults if absent. */
  readonly limits?: RequestLimits | undefined
  /** Is told how each operation ended. */
  readonly metrics: OperationMetrics
  /** Is told who asked for what; absent where nobody wants to know. */
  readonly requests?: RequestLog | undefined
  /** Is told of an error that no caller can do anything about; absent where somebody else tells it. */
  readonly failures?: FailureLog | undefined
  /** Keeps the webhooks of tasks; absent where the server has none. */
  readonly webhooks?: PushConfigs | undefined
  readonly clock: Clock
  /** How long a blocking send waits before it answers with the task as it is. */
  readonly blockingTimeoutMs: number
}

/** The agent as callers may know it. */
export interface ServedAgent {
  /** The public card; its capabilities decide what is offered. `now` is the clock's time where it is known. */
  card(now?: number): AgentCard | Promise<AgentCard>
  /** The card for the authenticated, with the server at this URL if not at its own; absent where none is configured. */
  extendedCard?(auth: AuthContext, server?: string): AgentCard | Promise<AgentCard>
  /** Whether the extended card is for anyone; only the conformance kit's agent says so. */
  readonly openExtendedCard: boolean
  /** Media types that parts may have; undefined: any. */
  readonly inputModes: readonly string[] | undefined
  /** Whether structured input must fit a skill. */
  readonly checksInput: boolean
  /** Refuses structured input that fits no skill, with A2AError `invalidParams`; undefined: nothing to check. */
  checkInput(parts: readonly Part[]): Promise<void> | undefined
}

/** Establishes who calls, and whether they may. */
interface CallerAuth {
  /** @throws A2AError `unauthenticated` or `forbidden`. */
  authenticate(call: Call, operation: OperationName): AuthContext | Promise<AuthContext>
}

/** Counts what callers ask for. */
interface CallerLimit {
  /** Counts the request. @throws A2AError `rateLimited`. */
  count(operation: OperationName, request: unknown, call: Call): Promise<void>
  /** The request was about a task that is not there. */
  missed(call: Call): void
  /** The caller's credentials do not hold. @throws A2AError `rateLimited`: guessing them has an end. */
  refused(call: Call): Promise<void>
}

/** Counts operations by their outcome. */
interface OperationMetrics {
  /** `outcome` is `ok` or an error's code. */
  observe(operation: OperationName, outcome: string, ms: number): void
}

/** Tells what went wrong here, which callers do not learn. */
type FailureLog = (operation: OperationName, thrown: unknown) => void

/** Tells who asked for what. */
export type RequestLog = (request: AnsweredRequest) => void

/** A request that was answered. */
interface AnsweredRequest {
  readonly operation: OperationName
  /** Absent where the caller is not known. */
  readonly auth: AuthContext | undefined
  /** `ok` or an error's code. */
  readonly outcome: string
  readonly ms: number
}

/** The webhooks of tasks. */
export interface PushConfigs {
  /** @throws A2AError `invalidParams` for a webhook that must not or cannot be called; `path` is where it stands. */
  check(config: TaskPushNotificationConfig, path: string): void
  /** The webhooks of a task, oldest first. */
  list(taskId: string): Promise<readonly PushConfigRecord[]>
  /**
   * Reserves a place for a webhook until the returned function is called, once it is stored or will not be.
   * @throws A2AError `invalidParams` where the task has as many as it may have.
   */
  reserve(taskId: string, id: string): Promise<() => void>
  /** Keeps a webhook, which hears of what happens from now on; one of the same id is replaced. */
  add(record: Omit<PushConfigRecord, 'cursor'>): Promise<void>
  /** Removes a webhook, which hears nothing more. */
  remove(taskId: string, id: string): Promise<void>
}

/** A call that has passed the gate: the caller is known, the extensions are those that both sides have. */
export interface CheckedCall extends Call {
  readonly auth: AuthContext
  readonly extensions: readonly string[]
}

/** What each operation does, once its call has passed the gate. */
export type OperationHandlers = {
  readonly [N in OperationName]: (
    service: Service,
    request: RequestOf<N>,
    call: CheckedCall,
  ) => Promise<ResultOf<N>>
}

/**
 * The one way into the operations: who calls, which extensions, what the card offers, whether the request is well
 * formed; then the handler. The order keeps strangers from learning anything.
 */
export function createGate(service: Service): Dispatch {
  const { agent, auth: callers, limit, limits, metrics, requests, failures, clock } = service
  const agentId = agentIdOf(service)
  return async (name, request, call) => {
    const startedAt = clock.elapsed()
    let counted: Call | undefined
    let auth: AuthContext | undefined
    try {
      const caller = callers ? callers.authenticate(call, name) : anonymous
      auth = caller instanceof Promise ? await caller : caller
      if (limit) {
        counted = { ...call, auth }
        await limit.count(name, request, counted)
      }
      if (auth.scopes) mustBeAllowed(name, call, { auth, agentId })
      const shown = agent.card(startedAt)
      const card = shown instanceof Promise ? await shown : shown
      const extensions = negotiate(card, call)
      mustOffer(name, card)
      if (service.retired) mustNotSend(name, agentId)
      const passed = checked(call, auth, extensions)
      const parsed = parseRequest(name, request, limits)
      if (call.idempotencyKey !== undefined) mustBeId('Idempotency-Key', call.idempotencyKey)
      const meant = inTenant(parsed, call, auth)
      if (auth.scopes && registersWebhook(meant)) mustHaveScope(auth, 'push')
      let result: ResultOf<typeof name>
      try {
        result = await service.handlers[name](service, meant, passed)
      } catch (thrown) {
        result = await findFormer(service, { name, request: meant, call: passed }, thrown)
      }
      const ms = clock.elapsed() - startedAt
      metrics.observe(name, 'ok', ms)
      requests?.({ operation: name, auth, outcome: 'ok', ms })
      return result
    } catch (thrown) {
      const { code } = toA2AError(thrown)
      const ms = clock.elapsed() - startedAt
      metrics.observe(name, code, ms)
      requests?.({ operation: name, auth, outcome: code, ms })
      if (code === 'internal') failures?.(name, thrown)
      if (counted && code === 'taskNotFound') limit?.missed(counted)
      if (!counted && code === 'unauthenticated') await limit?.refused(call)
      throw thrown
    }
  }
}

/** A call that is checked. */
interface CheckedRequest<N extends OperationName> {
  readonly name: N
  readonly request: RequestOf<N>
  readonly call: CheckedCall
}

/**
 * Asks the agents that were at this address before for a task that is not here, those which the caller may use.
 * @throws What was thrown here, where none of them has it.
 */
async function findFormer<N extends OperationName>(
  { former }: Service,
  { name, request, call }: CheckedRequest<N>,
  missed: unknown,
): Promise<ResultOf<N>> {
  // A message to a task of an agent that is gone would be rejected.
  const mayMove = operations[name].takes !== 'message' && hasCode(missed, 'taskNotFound')
  for (const service of (mayMove && former?.()) || []) {
    if (!reachesAgent(call.auth, agentIdOf(service))) continue
    try {
      return await service.handlers[name](service, request, call)
    } catch (thrown) {
      if (!hasCode(thrown, 'taskNotFound')) throw thrown
    }
  }
  throw missed
}

function agentIdOf({ engine }: Service): string {
  return engine.scopeOf(undefined, undefined).agent
}

function mustBeAllowed(
  name: OperationName,
  call: Call,
  { auth, agentId }: { readonly auth: AuthContext; readonly agentId: string },
): void {
  const { scope } = operations[name]
  if (!scope) return
  mustHaveScope(auth, call.scope ?? scope)
  mustReachAgent(auth, agentId)
}

/** The extensions active for this call. A required one that the client does not name ends it (specification §3.3.4). */
function negotiate(card: AgentCard, call: Call): readonly string[] {
  const declared = card.capabilities.extensions
  if (!declared?.length) return noExtensions
  const asked = call.extensions ?? noExtensions
  const missing = declared.find(({ uri, required }) => required && !asked.includes(uri))
  if (missing)
    throw new A2AError('extensionSupportRequired', `This agent requires ${missing.uri}`, {
      metadata: { extension: missing.uri },
    })
  if (asked.length === 0) return noExtensions
  const active = asked.filter((uri) => declared.some((extension) => extension.uri === uri))
  if (call.reply && active.length > 0) call.reply.extensions = active
  return active
}

function mustOffer(name: OperationName, card: AgentCard): void {
  const { needs, refusal = 'unsupportedOperation' } = operations[name]
  if (needs && card.capabilities[needs] !== true)
    throw new A2AError(refusal, `This agent has no ${needs}`)
}

function mustNotSend(name: OperationName, agentId: string): void {
  if (operations[name].takes !== 'message') return
  const said = `${agentId} is no longer served here; its tasks can still be read`
  throw new A2AError('agentUnavailable', said)
}

/** Most calls come with what the gate finds, so they pass as they are. */
function checked(call: Call, auth: AuthContext, extensions: readonly string[]): CheckedCall {
  if (isChecked(call) && call.auth === auth && call.extensions === extensions) return call
  return { ...call, auth, extensions }
}

function isChecked(call: Call): call is CheckedCall {
  return call.auth !== undefined && call.extensions !== undefined
}

function mustBeId(header: string, value: string): void {
  const description = idFault(value)
  if (description !== undefined)
    throw new A2AError('invalidParams', `The ${header} header ${description}`, {
      violations: [{ field: header, description }],
    })
}

/** The request in its tenant: the one that it names, else the header's, else the only one of the credential. */
function inTenant<R extends object>(request: R, call: Call, auth: AuthContext): R {
  const own = tenantOf(request)
  const header = own === '' ? call.headers?.[tenantHeader] : undefined
  if (!auth.tenants && !header) return request
  if (header) mustBeId('A2A-Tenant', header)
  const tenant = tenantFor(auth, own || header || '')
  return tenant === own ? request : { ...request, tenant }
}

function tenantOf(request: object): string {
  return 'tenant' in request && typeof request.tenant === 'string' ? request.tenant : ''
}

/** Whether a message brings a webhook with it. */
function registersWebhook(request: object): boolean {
  const configuration = 'configuration' in request ? request.configuration : undefined
  if (typeof configuration !== 'object' || configuration === null) return false
  return Reflect.get(configuration, 'taskPushNotificationConfig') !== undefined
}
