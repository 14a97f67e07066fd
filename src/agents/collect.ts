import { createFold } from '../protocol/fold.ts'
import type { Message, Part, Task } from '../protocol/types.ts'
import { isAsyncIterable } from '../shared/async.ts'
import type { AgentEvent, AgentReply, Draft, Turn } from './agent.ts'

/** The task that an agent's reply amounts to. */
export async function collect(
  reply: AgentReply,
  turn: Pick<Turn, 'taskId' | 'contextId'>,
): Promise<Task> {
  const ids = { taskId: turn.taskId, contextId: turn.contextId }
  const fold = createFold({
    id: ids.taskId,
    contextId: ids.contextId,
    status: { state: 'TASK_STATE_WORKING' },
  })
  const chunk = (parts: readonly Part[]): void =>
    fold.apply({
      artifactUpdate: { ...ids, artifact: { artifactId: 'response', parts }, append: true },
    })
  const take = (event: AgentEvent): void => {
    if (typeof event === 'string') chunk([{ text: event }])
    else if ('parts' in event) chunk(event.parts)
    else if (!isDraft(event)) chunk([event])
    else if ('message' in event) chunk(event.message.parts)
    else if ('statusUpdate' in event)
      fold.apply({ statusUpdate: { ...event.statusUpdate, ...ids } })
    else if ('artifactUpdate' in event)
      fold.apply({ artifactUpdate: { ...event.artifactUpdate, ...ids } })
    else fold.apply(event)
  }
  if (isAsyncIterable(reply)) for await (const event of reply) take(event as AgentEvent)
  else {
    const answer = await reply
    if (answer !== undefined) take(answer)
  }
  return fold.snapshot()
}

function isDraft(event: Exclude<AgentEvent, string | Message>): event is Draft {
  return (
    'statusUpdate' in event || 'artifactUpdate' in event || 'task' in event || 'message' in event
  )
}
