import type { AuthContext, Call, Dispatch } from '../protocol/call.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { type OperationName, operations, type RequestOf } from '../protocol/operations.ts'
import { parseRequest } from '../protocol/schema.ts'
import type { AgentCard } from '../protocol/types.ts'
import type { Handlers } from './handlers.ts'
import type { Service } from './service.ts'

/** A call that has passed the gate: the caller is known, the extensions are those that both sides have. */
export interface CheckedCall extends Call {
  readonly auth: AuthContext
  readonly extensions: readonly string[]
}

/**
 * The one way into the operations: who calls, which extensions, what the card offers, whether the request is well
 * formed; then the handler. The order keeps strangers from learning anything.
 */
export function createGate(service: Service, handlers: Handlers): Dispatch {
  return async (name, request, call) => {
    const auth = await service.authenticate(call, name)
    if (service.limit) await service.limit(name, request, { ...call, auth })
    const card = await service.card()
    const extensions = negotiate(card, call)
    mustOffer(name, card)
    const parsed: RequestOf<typeof name> = parseRequest(name, request)
    return handlers[name](parsed, { ...call, auth, extensions })
  }
}

const none: readonly string[] = []

/** The extensions active for this call. A required one that the client does not name ends it (specification §3.3.4). */
function negotiate(card: AgentCard, call: Call): readonly string[] {
  const declared = card.capabilities.extensions
  if (!declared?.length) return none
  const asked = call.extensions ?? none
  const missing = declared.find(({ uri, required }) => required && !asked.includes(uri))
  if (missing)
    throw new A2AError('extensionSupportRequired', `This agent requires ${missing.uri}`, {
      metadata: { extension: missing.uri },
    })
  if (asked.length === 0) return none
  const active = asked.filter((uri) => declared.some((extension) => extension.uri === uri))
  if (call.reply && active.length > 0) call.reply.extensions = active
  return active
}

const refusals: Readonly<Record<string, ErrorCode>> = {
  streaming: 'unsupportedOperation',
  pushNotifications: 'pushNotificationNotSupported',
  extendedAgentCard: 'unsupportedOperation',
}

function mustOffer(name: OperationName, card: AgentCard): void {
  const { needs } = operations[name]
  if (needs && card.capabilities[needs] !== true)
    throw new A2AError(refusals[needs] ?? 'unsupportedOperation', `This agent has no ${needs}`)
}
