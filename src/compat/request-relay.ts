import type { Agent, AgentEvent, Turn, WaitingTask } from '../agents/agent.ts'
import { type AgentDescription, defineAgent } from '../agents/function.ts'
import { createRelay } from '../agents/remote/relay.ts'
import { followedAgent } from '../client/client.ts'
import { follow } from '../client/follow.ts'
import type { Dispatch } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Message, SendMessageRequest, StreamResponse } from '../protocol/types.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { toDispatch } from './request-dispatch.ts'
import type { RequestHandler, ServerCallContext } from './request-handler.ts'

/** Who a request handler is when it is served. */
export interface RequestHandlerOptions extends AgentDescription {
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

/**
 * Makes an agent of a request handler. Served, its requests are the handler's to answer. As a member of a team it
 * answers in the team's task, which follows the handler's until it ends or asks something; a cancel is passed on.
 */
export function fromRequestHandler(
  handler: RequestHandler,
  options: RequestHandlerOptions = { name: 'A2A Agent', description: 'A2A Protocol Agent' },
): Agent {
  const { clock = systemClock, ...description } = options
  return {
    ...defineAgent(description, (message, turn) => relay(handler, { message, turn, clock })),
    dispatch: toDispatch(handler, clock),
    async cancel(task: WaitingTask) {
      const inner = loadInner(task)
      if (!inner) return
      const { id, userId } = inner
      await handler.onCancelTask({ id }, { auth: { userId } })
    },
  }
}

/** Where a task remembers which of the handler's tasks it follows, and for whom. */
const innerTask = 'request-handler:task'

/** A task of the handler's. */
interface Inner {
  readonly id: string
  readonly contextId: string
  readonly userId: string
}

function loadInner(task: Pick<WaitingTask, 'load'>): Inner | undefined {
  const saved = task.load(innerTask)
  if (!Array.isArray(saved)) return undefined
  const [id = '', contextId = '', userId = ''] = saved.map(String)
  return { id, contextId, userId }
}

interface Relaying {
  readonly message: Message
  readonly turn: Turn
  readonly clock: Clock
}

async function* relay(handler: RequestHandler, relaying: Relaying): AsyncGenerator<AgentEvent> {
  const { turn } = relaying
  const translate = createRelay(turn)
  let inner: Inner | undefined
  const cancelled = (): void => void passOnCancel(handler, inner?.id, turn)
  turn.signal.addEventListener('abort', cancelled, { once: true })
  try {
    for await (const event of eventsOf(handler, relaying)) {
      const found = inner ? undefined : innerOf(event, turn)
      if (found) {
        inner = found
        if (turn.signal.aborted) return cancelled()
        await turn.save(innerTask, [found.id, found.contextId, found.userId])
      }
      yield* translate.take(event)
    }
    yield* translate.end()
  } finally {
    turn.signal.removeEventListener('abort', cancelled)
  }
}

function eventsOf(
  handler: RequestHandler,
  { message, turn, clock }: Relaying,
): AsyncIterable<StreamResponse> {
  const following = {
    agent: followedAgent(within(contextOf(turn), toDispatch(handler, clock))),
    canStream: async (): Promise<boolean> => handler.onMessageSendStream !== undefined,
    clock,
    random: Math.random,
    options: { signal: turn.signal },
  }
  return follow(following, { send: toRequest(message, turn) })
}

/** The message as the handler's own task knows it: the server's id of the task means nothing there. */
function toRequest(message: Message, turn: Turn): SendMessageRequest {
  const { acceptedOutputModes, metadata } = turn
  const { taskId: _, ...rest } = message
  const known = loadInner(turn)
  return {
    message: known ? { ...rest, taskId: known.id, contextId: known.contextId } : rest,
    ...(acceptedOutputModes.length > 0 && { configuration: { acceptedOutputModes } }),
    ...(metadata && { metadata }),
  }
}

/** What is asked in a turn is asked for its caller. */
function within(context: ServerCallContext, dispatch: Dispatch): Dispatch {
  return (name, request, call) => dispatch(name, request, { ...call, ...context })
}

function contextOf({ caller, signal, extensions, traceparent }: Turn): ServerCallContext {
  return { auth: caller, signal, extensions, ...(traceparent !== undefined && { traceparent }) }
}

/** A shutdown also fires the signal, but the task goes on after it. */
async function passOnCancel(
  handler: RequestHandler,
  id: string | undefined,
  turn: Turn,
): Promise<void> {
  const { reason } = turn.signal
  if (id === undefined || !(reason instanceof A2AError) || reason.code !== 'taskCanceled') return
  try {
    await handler.onCancelTask({ id }, { auth: turn.caller })
  } catch (err) {
    turn.log.warn({ taskId: turn.taskId, err }, 'The handler could not cancel its task')
  }
}

function innerOf(event: StreamResponse, { caller: { userId } }: Turn): Inner | undefined {
  if ('message' in event) return undefined
  if ('task' in event) return { id: event.task.id, contextId: event.task.contextId, userId }
  const { taskId: id, contextId } =
    'statusUpdate' in event ? event.statusUpdate : event.artifactUpdate
  return { id, contextId, userId }
}
