import { type AuthContext, type Call, type Dispatch, noExtensions } from '../protocol/call.ts'
import { A2AError, toA2AError } from '../protocol/errors.ts'
import {
  type OperationName,
  operations,
  type RequestOf,
  type ResultOf,
} from '../protocol/operations.ts'
import { idFault } from '../protocol/schema/values.ts'
import { parseRequest } from '../protocol/schema.ts'
import { mustBeInTenant, mustHaveScope, mustReachAgent } from '../protocol/scopes.ts'
import type { AgentCard } from '../protocol/types.ts'
import type { Service } from './service.ts'

/** A call that has passed the gate: the caller is known, the extensions are those that both sides have. */
export interface CheckedCall extends Call {
  readonly auth: AuthContext
  readonly extensions: readonly string[]
}

/** What each operation means. */
export type Handlers = {
  readonly [N in OperationName]: (request: RequestOf<N>, call: CheckedCall) => Promise<ResultOf<N>>
}

/**
 * The one way into the operations: who calls, which extensions, what the card offers, whether the request is well
 * formed; then the handler. The order keeps strangers from learning anything.
 */
export function createGate(service: Service, handlers: Handlers): Dispatch {
  const {
    engine,
    agent,
    auth: callers,
    limit,
    limits,
    metrics,
    requests,
    failures,
    clock,
  } = service
  const agentId = engine.scopeOf(undefined, undefined).agent
  return async (name, request, call) => {
    const startedAt = clock.elapsed()
    let counted: Call | undefined
    let auth: AuthContext | undefined
    try {
      const caller = callers.authenticate(call, name)
      auth = caller instanceof Promise ? await caller : caller
      if (limit) {
        counted = { ...call, auth }
        await limit.count(name, request, counted)
      }
      if (auth.scopes) mustBeAllowed(name, call, { auth, agentId })
      const shown = agent.card()
      const card = shown instanceof Promise ? await shown : shown
      const extensions = negotiate(card, call)
      mustOffer(name, card)
      const passed = checked(call, auth, extensions)
      const meant = parseRequest(name, request, limits)
      if (call.idempotencyKey !== undefined) mustBeKey(call.idempotencyKey)
      if (auth.tenants) mustBeInTenant(auth, tenantOf(meant))
      if (auth.scopes && registersWebhook(meant)) mustHaveScope(auth, 'push')
      const result = await handlers[name](meant, passed)
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

/** Most calls come with what the gate finds, so they pass as they are. */
function checked(call: Call, auth: AuthContext, extensions: readonly string[]): CheckedCall {
  if (isChecked(call) && call.auth === auth && call.extensions === extensions) return call
  return { ...call, auth, extensions }
}

function isChecked(call: Call): call is CheckedCall {
  return call.auth !== undefined && call.extensions !== undefined
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

function mustBeKey(key: string): void {
  const description = idFault(key)
  if (description !== undefined)
    throw new A2AError('invalidParams', `The Idempotency-Key header ${description}`, {
      violations: [{ field: 'Idempotency-Key', description }],
    })
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
