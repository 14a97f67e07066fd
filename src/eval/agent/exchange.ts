import type { A2AClient } from '../../client/client.ts'
import { createFold, type Fold } from '../../protocol/fold.ts'
import { isInterrupted, isTerminal, textOf } from '../../protocol/task.ts'
import type { AgentCard, Message, StreamResponse, Task } from '../../protocol/types.ts'
import { A2AMessageError } from '../base/errors.ts'
import { SimulationFault } from '../results/fault.ts'

/** A message on its way, and who is told of the task that works on it. */
interface Sending {
  readonly message: Message
  readonly card: AgentCard
  readonly signal: AbortSignal
  /** Told of the task's id as soon as it is known, so that it can be cancelled. */
  readonly onTask: (id: string) => void
}

/**
 * Sends a message and waits for what it comes to: a message, or a task that is over or asks for input. Streams where
 * the card says so, else polls; a task still at work is never taken for an answer.
 *
 * @throws SimulationFault `agent_error` for a task that failed, was rejected or canceled, or asks for credentials.
 */
export async function exchange(client: A2AClient, sending: Sending): Promise<Task | Message> {
  const streams = sending.card.capabilities.streaming === true
  const answer = await (streams ? stream(client, sending) : sendAndPoll(client, sending))
  return 'status' in answer ? checkState(answer) : answer
}

async function stream(client: A2AClient, sending: Sending): Promise<Task | Message> {
  const { message, signal } = sending
  return gather(client.sendAndFollow(message, { signal }), sending)
}

async function sendAndPoll(client: A2AClient, sending: Sending): Promise<Task | Message> {
  const { message, signal } = sending
  const response = await client.sendMessage(message, { signal })
  if ('message' in response) return response.message
  const { task } = response
  sending.onTask(task.id)
  if (isTerminal(task.status.state) || isInterrupted(task.status.state)) return task
  return gather(client.follow(task, { signal }), sending)
}

async function gather(
  events: AsyncIterable<StreamResponse>,
  { onTask }: Sending,
): Promise<Task | Message> {
  let fold: Fold | undefined
  for await (const event of events) {
    if ('message' in event) return event.message
    if (fold) fold.apply(event)
    else if ('task' in event) {
      fold = createFold(event.task)
      onTask(event.task.id)
    }
    // A task that asks for credentials waits for something that an evaluation will never bring.
    if (fold?.state === 'TASK_STATE_AUTH_REQUIRED') break
  }
  if (!fold) throw new A2AMessageError('The agent sent no task and no message')
  return fold.snapshot()
}

function checkState(task: Task): Task {
  const { state, message } = task.status
  if (state === 'TASK_STATE_COMPLETED' || state === 'TASK_STATE_INPUT_REQUIRED') return task
  const words = message ? `: ${textOf(message.parts)}` : ''
  throw new SimulationFault('agent_error', `The agent's task ended as ${state}${words}`)
}
