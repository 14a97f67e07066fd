import { ContentBlocked } from '../agents/guards/blocked.ts'
import { readAgentAnswer, readAgentEvent } from '../agents/reply.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type { Message, StreamResponse } from '../protocol/types.ts'
import { isAsyncIterable, myTurn } from '../shared/async.ts'
import { failedState, isCallerFault, TaskMoved, toAgentFault } from './faults.ts'
import { addressed, type QueuedMessage } from './messages.ts'
import type { RunHost } from './run-host.ts'
import type { ActiveTurn } from './turn.ts'
import type { RunWriter } from './writer.ts'

/** What executing a turn needs of its run. */
export interface TurnOwner {
  readonly writer: RunWriter
  readonly host: RunHost
  /** Whether the turn still is the run's: it has not been cancelled, interrupted or stopped. */
  isCurrent(turn: ActiveTurn): boolean
  /** Called when an event has ended the turn: nothing more of it is heard. */
  concluded(): void
  /** Called when the agent has nothing more to say in a turn that still is the run's. */
  finish(queued: QueuedMessage, turn: ActiveTurn): void
}

/** Beyond this many records, or bytes of them, waiting for the store, the agent waits too. */
const maxBacklog = 256
const maxBacklogBytes = 256 * 1024
/** Beyond this many bytes it waits for its turn: one that says much at once lets others do something. */
const burstBytes = 128 * 1024

/** Lets the agent answer one message, and writes what it says. It never rejects: what the agent throws fails its task. */
export async function executeTurn(
  owner: TurnOwner,
  queued: QueuedMessage,
  turn: ActiveTurn,
): Promise<void> {
  const { writer, host } = owner
  const { log } = writer
  try {
    if (log.exists) writer.startTurn(queued)
    // An attempt that kills the process at once must be counted at the next start; what is sent with a key may be sent
    // again, and a task that others can go on with too may just have another answer: nothing is done before it is known
    // that this one was taken in.
    const isKeyed = queued.request.idempotencyKey !== undefined
    if (isKeyed) writer.ensureTask()
    if (queued.recovered || isKeyed || (host.isShared && log.exists)) await log.committed()
    if (!host.mayBegin()) await host.begins()
    if (!owner.isCurrent(turn)) return
    const reply = host.agent.process(turn.message, turn)
    if (isAsyncIterable(reply)) await takeEvents(owner, reply, turn)
    else takeAnswer(owner, await reply, turn)
  } catch (thrown) {
    // An agent that throws at once does so before the queue has handed over the slot that must be given back.
    await undefined
    takeFailure(owner, thrown, turn)
  }
  if (owner.isCurrent(turn)) owner.finish(queued, turn)
}

async function takeEvents(
  owner: TurnOwner,
  events: AsyncIterable<unknown>,
  turn: ActiveTurn,
): Promise<void> {
  const { log } = owner.writer
  for await (const event of events) {
    if (!owner.isCurrent(turn)) return
    takeEvent(owner, readAgentEvent(event, turn), turn)
    if (turn.over) return
    const { bytes } = log
    if (log.backlog >= maxBacklog || bytes >= maxBacklogBytes) await log.committed()
    else if (bytes >= burstBytes) await myTurn()
  }
}

function takeEvent(owner: TurnOwner, event: StreamResponse, turn: ActiveTurn): void {
  const { writer } = owner
  if ('message' in event) {
    takeMessage(writer, event.message, turn)
    return
  }
  if ('task' in event) writer.adopt(event.task)
  else writer.emit(event)
  const { state } = writer.log
  if (isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED') {
    turn.over = true
    owner.concluded()
  } else if (state === 'TASK_STATE_AUTH_REQUIRED' && writer.message)
    writer.tellAnswer(writer.message)
}

function takeAnswer(owner: TurnOwner, answer: unknown, turn: ActiveTurn): void {
  if (answer === undefined || !owner.isCurrent(turn)) return
  const { writer } = owner
  const event = readAgentAnswer(answer, turn)
  if ('message' in event) takeMessage(writer, event.message, turn)
  else if ('task' in event) {
    writer.adopt(event.task)
    const { state } = event.task.status
    turn.finishesLater = !isTerminal(state) && !isInterrupted(state)
  } else writer.emit(event)
}

/** A lone Message answers without a task, and completes one that exists. */
function takeMessage(writer: RunWriter, message: Message, turn: ActiveTurn): void {
  turn.over = true
  const { log } = writer
  const { id: taskId, contextId } = log
  if (log.exists) writer.status('TASK_STATE_COMPLETED', addressed(message, { taskId, contextId }))
  else writer.message?.answer.settle({ message: addressed(message, { contextId }) })
}

function takeFailure(owner: TurnOwner, thrown: unknown, turn: ActiveTurn): void {
  if (!owner.isCurrent(turn)) return
  const { writer, host } = owner
  const { log } = writer
  // Another process has the task, or is about to: this turn has nothing to say any more.
  if (thrown instanceof TaskMoved) return
  if (turn.over) {
    host.logger.warn({ taskId: log.id, err: thrown }, 'The agent failed after its answer')
    return
  }
  if (!log.exists && isCallerFault(thrown)) {
    turn.over = true
    writer.message?.answer.fail(thrown)
    return
  }
  const fault = toAgentFault(thrown)
  if (fault.code === 'unauthenticated' && !isTerminal(log.state)) {
    writer.failure(fault, 'TASK_STATE_AUTH_REQUIRED')
    return
  }
  if (fault instanceof ContentBlocked)
    host.logger.info({ taskId: log.id, at: fault.at, reason: fault.message }, 'A guard has blocked')
  else host.logger.error({ taskId: log.id, err: thrown }, 'The agent failed')
  if (!isTerminal(log.state)) writer.failure(fault, failedState(fault))
}
