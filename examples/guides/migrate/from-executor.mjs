import { Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk'
import { DefaultExecutionEventBus, ExecutionEventQueue, RequestContext } from '@a2a-js/sdk/server'
import { defineAgent } from 'corral/agents'

/** An agent of an executor that was written for @a2a-js/sdk, as it is. */
export function fromExecutor(description, executor) {
  return defineAgent(description, async function* (message, turn) {
    const bus = new DefaultExecutionEventBus()
    const request = SendMessageRequest.fromJSON({ message })
    const task = turn.task && Task.fromJSON(turn.task)
    const context = new RequestContext(request, turn.taskId, turn.contextId, {}, task)
    const queue = new ExecutionEventQueue(bus)
    turn.signal.addEventListener('abort', () => executor.cancelTask(turn.taskId, bus))
    const work = executor.execute(context, bus)
    work.catch(() => bus.finished())
    for await (const { kind, data } of queue.events()) {
      if (kind === 'message') yield Message.toJSON(data)
      else yield StreamResponse.toJSON({ payload: { $case: kind, value: data } })
    }
    await work
  })
}
