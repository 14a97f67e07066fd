import type { Dispatch } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { SendMessageRequest } from '../protocol/types.ts'
import { getExtendedAgentCard } from './extended-card.ts'
import { type CheckedCall, createGate } from './gate.ts'
import { trimHistory, trimStream } from './history.ts'
import type { Keeper } from './keeper.ts'
import { type FindTask, knownTaskId, withKnownTask } from './known-task.ts'
import { mustBeSendable } from './send.ts'
import type { Service } from './service.ts'

/**
 * The operations of an agent that keeps its tasks itself. They pass the same gate; then the agent answers, under ids of
 * its own, and says whose tasks they are. Webhooks need our log, so it has none.
 */
export function createPassOn(service: Service, { ask, stream }: Keeper): Dispatch {
  const findFor =
    (call: CheckedCall, { tenant }: { readonly tenant?: string }): FindTask =>
    (id) =>
      ask('GetTask', { id, ...(tenant !== undefined && { tenant }) }, call)

  /** A request for a task, by the id that the agent knows it by. */
  async function known<R extends { readonly id: string; readonly tenant?: string }>(
    request: R,
    call: CheckedCall,
  ): Promise<R> {
    const id = await knownTaskId(findFor(call, request), request.id, call)
    return id === request.id ? request : { ...request, id }
  }

  async function sendable(
    request: SendMessageRequest,
    call: CheckedCall,
  ): Promise<SendMessageRequest> {
    await mustBeSendable(service, request)
    if (call.givenTaskId === undefined) return request
    return withKnownTask(findFor(call, request), request, call)
  }

  return createGate(service, {
    async SendMessage(request, call) {
      const answer = await ask('SendMessage', await sendable(request, call), call)
      if ('message' in answer) return answer
      return { task: trimHistory(answer.task, request.configuration?.historyLength) }
    },
    async SendStreamingMessage(request, call) {
      const events = await stream('SendStreamingMessage', await sendable(request, call), call)
      const length = request.configuration?.historyLength
      return length === undefined ? events : trimStream(events, length)
    },
    GetTask: async (request, call) =>
      trimHistory(await ask('GetTask', await known(request, call), call), request.historyLength),
    ListTasks: (request, call) => ask('ListTasks', request, call),
    CancelTask: async (request, call) => ask('CancelTask', await known(request, call), call),
    SubscribeToTask: async (request, call) =>
      stream('SubscribeToTask', await known(request, call), call),
    CreateTaskPushNotificationConfig: noWebhooks,
    GetTaskPushNotificationConfig: noWebhooks,
    ListTaskPushNotificationConfigs: noWebhooks,
    DeleteTaskPushNotificationConfig: noWebhooks,
    GetExtendedAgentCard: (_request, call) => getExtendedAgentCard(service, call),
  })
}

async function noWebhooks(): Promise<never> {
  throw new A2AError('pushNotificationNotSupported', 'This agent has no pushNotifications')
}
