import { type Call, principalOf } from '../protocol/call.ts'
import type { Message, SendMessageRequest, TaskPushNotificationConfig } from '../protocol/types.ts'
import type { TurnRequest } from '../store/turn-request.ts'
import { weighMessage, weighRequest } from '../store/weight.ts'
import type { SentBy } from './messages.ts'
import type { HeldMessage } from './queue.ts'

/** A message on its way into its task, with all that goes with it. */
export interface Delivered extends SentBy, HeldMessage {
  readonly message: Message
  readonly turnRequest: TurnRequest
  /** The webhook that comes with it, and the dialect that it is to be told in. */
  readonly webhook?: TaskPushNotificationConfig | undefined
  readonly dialect?: Call['dialect']
}

/** A message at the door: whose share it is taken from, and how much it is. A class: one is made per request. */
export class Arrived implements Delivered {
  readonly request: SendMessageRequest
  readonly call: Call
  readonly turnRequest: TurnRequest
  readonly principal: string
  readonly bytes: number

  constructor(request: SendMessageRequest, call: Call, principal: string) {
    this.request = request
    this.call = call
    this.turnRequest = toTurnRequest(request, call)
    this.principal = principal
    this.bytes = weighMessage(request.message) + weighRequest(this.turnRequest)
  }

  get message(): Message {
    return this.request.message
  }
  get webhook(): TaskPushNotificationConfig | undefined {
    return this.request.configuration?.taskPushNotificationConfig
  }
  get dialect(): Call['dialect'] {
    return this.call.dialect
  }
  get auth(): Call['auth'] {
    return this.call.auth
  }
}

/**
 * Makes what tells whose share calls are taken from. Most calls come from where the last one came, and have the very text
 * that names it: whoever looks it up then need not read it, and what is kept does not hold one each.
 */
export function createShareNames(): typeof principalOf {
  let user = ''
  let address: string | undefined
  let last = ''
  return (call) => {
    const userId = call.auth?.userId ?? ''
    if (userId !== user || call.client !== address) {
      user = userId
      address = call.client
      last = principalOf(call)
    }
    return last
  }
}

/** What of a request stays with its turn in the log. */
function toTurnRequest({ configuration, metadata }: SendMessageRequest, call: Call): TurnRequest {
  const { extensions, traceparent, idempotencyKey } = call
  const userId = call.auth?.userId ?? ''
  const modes = configuration?.acceptedOutputModes
  if (!extensions?.length && !modes?.length && !metadata && !traceparent && !idempotencyKey)
    return { userId }
  return {
    userId,
    ...(extensions?.length && { extensions }),
    ...(modes?.length && { acceptedOutputModes: modes }),
    ...(metadata && { metadata }),
    ...(traceparent && { traceparent }),
    ...(idempotencyKey && { idempotencyKey }),
  }
}
