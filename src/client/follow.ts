import type { Call, EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type {
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
} from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { wait } from '../shared/retry.ts'
import { type BreakOptions, type Breaks, createBreaks } from './breaks.ts'
import type { CallOptions } from './config.ts'
import { pollIntervalMs } from './result.ts'
import { isPassing } from './retry.ts'
import { createView, type View } from './view.ts'

/** How a task is followed. */
export interface FollowOptions extends CallOptions, BreakOptions {
  /** Between polls in milliseconds, where the agent does not stream; 1,000 if absent. */
  readonly intervalMs?: number
}

/** What following asks of the agent. */
export interface FollowedAgent {
  send(request: SendMessageRequest, call: Call): Promise<SendMessageResponse>
  stream(request: SendMessageRequest, call: Call): Promise<EventStream>
  /** Without retries of its own, since following tries again itself. */
  subscribe(id: string, call: Call): Promise<EventStream>
  get(id: string, call: Call): Promise<Task>
}

/** What following needs from around it. */
export interface Following {
  readonly agent: FollowedAgent
  /** Whether the agent streams; true where nobody knows. */
  canStream(): Promise<boolean>
  /** Whether the peer knows a repeated send by its `Idempotency-Key`; false if absent. */
  sendsAreIdempotent?(): boolean
  readonly clock: Clock
  readonly random: () => number
  readonly options: FollowOptions
}

/** Where following begins: at a task, at its id, or at a message that is yet to be sent. */
type FollowStart =
  | { readonly id: string }
  | { readonly task: Task }
  | { readonly send: SendMessageRequest }

/**
 * Follows a task until it ends or asks for input, each event once and in order. The stream is resumed after a drop,
 * by sequence number where the server counts and by the difference of snapshots where it does not; without streams
 * the task is polled. A message whose stream is cut before its first word is sent again only with its key, to a peer
 * that knows it by that. AUTH_REQUIRED is waited through, since credentials come by another way (specification §7.6.2).
 */
export async function* follow(
  context: Following,
  start: FollowStart,
): AsyncGenerator<StreamResponse> {
  const view = createView()
  const progress = { view, breaks: createBreaks(context) }
  if ('task' in start) yield* view.catchUp(start.task)
  if ('send' in start) yield* open(context, progress, start.send)
  const id = 'id' in start ? start.id : view.id
  if (view.settled || id === undefined) return
  if (await context.canStream()) yield* subscribe(context, progress, id)
  if (!view.settled) yield* poll(context, view, id)
}

/** How far following has come. */
interface Progress {
  readonly view: View
  readonly breaks: Breaks
}

/** Sends the message: as a stream where the agent has streams, else to be polled. */
async function* open(
  context: Following,
  { view, breaks }: Progress,
  request: SendMessageRequest,
): AsyncGenerator<StreamResponse> {
  const idempotencyKey = context.options.idempotencyKey ?? newId()
  const call = { ...context.options, idempotencyKey, onRetry: breaks.asked }
  for (;;) {
    breaks.opening()
    const stream = await openStream(context, request, call)
    if (!stream) break
    let lost: unknown
    let hasBegun = false
    try {
      for await (const batch of stream)
        for (const item of batch) {
          hasBegun = true
          yield* view.take(item)
          // A snapshot may still show the question that this message answers: only the stream's end tells.
          if (view.settled && !('task' in item.event)) return
        }
    } catch (error) {
      if (!isPassing(error) || (hasBegun && view.id === undefined)) throw error
      lost = error
    }
    if (hasBegun) return
    // Cut before its first word. By its key the peer knows whether it has the message already.
    if (!context.sendsAreIdempotent?.()) throw lost ?? nothingCame()
    await breaks.pause(lost)
  }
  const configuration = { returnImmediately: true, ...request.configuration }
  const response = await context.agent.send({ ...request, configuration }, call)
  yield* view.take({ event: response })
}

async function openStream(
  { agent, canStream }: Following,
  request: SendMessageRequest,
  call: Call,
): Promise<EventStream | undefined> {
  if (!(await canStream())) return undefined
  try {
    return await agent.stream(request, call)
  } catch (error) {
    if (hasNoStreams(error)) return undefined
    throw error
  }
}

/** Streams until the task is settled or the agent turns out to have no streams. */
async function* subscribe(
  context: Following,
  { view, breaks }: Progress,
  id: string,
): AsyncGenerator<StreamResponse> {
  for (;;) {
    let lost: unknown
    breaks.opening()
    try {
      for await (const event of subscription(context, { view, breaks }, id)) {
        breaks.brought()
        yield event
        if (view.settled) return
      }
    } catch (error) {
      if (hasNoStreams(error)) return
      if (!isPassing(error)) throw error
      lost = error
    }
    await breaks.pause(lost)
  }
}

/** One subscription: what it brings that was not yet seen. */
async function* subscription(
  context: Following,
  { view, breaks }: Progress,
  id: string,
): AsyncGenerator<StreamResponse> {
  const { agent, options } = context
  const lastEventId = view.seq
  const onRetry = breaks.asked
  const call = { ...options, onRetry, ...(lastEventId !== undefined && { lastEventId }) }
  const stream = await agent.subscribe(id, call)
  let anchored = false
  for await (const batch of stream)
    for (const item of batch) {
      // Without a snapshot or numbers nobody knows what was missed: each event is a sign to look at the task.
      anchored ||= 'task' in item.event || (lastEventId !== undefined && item.seq !== undefined)
      if (anchored) yield* view.take(item)
      else yield* view.catchUp(await agent.get(id, options))
    }
}

async function* poll(context: Following, view: View, id: string): AsyncGenerator<StreamResponse> {
  const { agent, clock, options } = context
  for (;;) {
    yield* view.catchUp(await agent.get(id, options))
    if (view.settled) return
    await wait(clock, options.intervalMs ?? pollIntervalMs, options.signal)
  }
}

function nothingCame(): A2AError {
  return new A2AError('unavailable', 'The stream ended before it brought anything')
}

function hasNoStreams(error: unknown): boolean {
  return (
    error instanceof A2AError &&
    (error.code === 'unsupportedOperation' || error.code === 'methodNotFound')
  )
}
