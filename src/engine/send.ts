import type { Call } from '../protocol/call.ts'
import type { Message, SendMessageRequest, Task } from '../protocol/types.ts'
import type { Scope, Store } from '../store/store.ts'
import { Arrived, createShareNames } from './arrived.ts'
import { createDelivery, type DeliveryOptions } from './deliver.ts'
import type { TaskLog } from './log.ts'
import type { QueuedMessage, SendResult } from './messages.ts'
import { LiveResult, pastResult } from './results.ts'
import { isElsewhere } from './runs.ts'
import { createSendOnce } from './send-once.ts'

/** Takes in messages. */
export interface Send {
  take(request: SendMessageRequest, call: Call, scope: Scope): SendResult | Promise<SendResult>
  /** What comes of a message whose task another process has by now: followed where it is stored, else sent there. */
  again(queued: QueuedMessage, log: TaskLog): Promise<SendResult>
}

/** What taking in messages needs of the engine. */
interface SendOptions extends DeliveryOptions {
  readonly store: Store
  get(id: string, scope: Scope): Promise<Task>
}

/** Makes what takes in messages: each begins a task or continues one, and one with a key is taken in once. */
export function createSend(options: SendOptions): Send {
  const { store, hub, runs, forwarding, get, mustServe } = options
  const { begin, deliver } = createDelivery(options)
  const principalOf = createShareNames()
  const sendOnce = createSendOnce<SendResult>(store)

  /** What became of a message that is sent again: what still runs is waited for, nothing runs twice. */
  async function repeat(taskId: string, scope: Scope, first?: Message): Promise<SendResult> {
    const run = runs.live(taskId, scope)
    const before = await run?.log.snapshot()
    const queued = run?.mailbox.latest
    if (run && queued) return new LiveResult(hub, { run, queued, before })
    const stored = await store.get(taskId, scope)
    if (!stored || !first || !isElsewhere(store, stored))
      return pastResult(await get(taskId, scope))
    const { messageId } = first
    const { contextId } = stored.head
    return forwarding.follow({ taskId, contextId, scope, messageId, after: 0 })
  }

  const take: Send['take'] = (request, call, scope) => {
    mustServe()
    const arrived = new Arrived(request, call, principalOf(call))
    const first = request.message.taskId ? deliver : begin
    if (call.idempotencyKey === undefined) return first(arrived, scope)
    return sendOnce(scope, call.idempotencyKey, {
      message: request.message,
      first: async () => first(arrived, scope),
      repeat: (taskId, used) => repeat(taskId, scope, used),
    })
  }

  return {
    take,
    again: async ({ message, request, caller, principal, bytes, seq }, log) => {
      const { id: taskId, contextId, scope } = log
      const { messageId } = message
      if (seq !== 0 && seq <= log.version)
        return forwarding.follow({ taskId, contextId, scope, messageId, after: seq - 1 })
      // What was taken out of the inbox and not stored is in there still.
      if (request.forwarded !== undefined)
        return forwarding.follow({ taskId, contextId, scope, messageId, after: log.version })
      return deliver({ message, turnRequest: request, auth: caller, principal, bytes }, scope)
    },
  }
}
