import type { Dispatch, EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { SendMessageRequest, StreamResponse, Task } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { backoffMs, wait } from '../shared/retry.ts'
import type { CallOptions } from './config.ts'
import { pollIntervalMs } from './poll.ts'
import { isPassing } from './retry.ts'
import { createView, type View } from './view.ts'

/** How a task is followed. */
export interface FollowOptions extends CallOptions {
  /** Between polls, where the agent does not stream; 1000 if absent. */
  readonly intervalMs?: number
  /** How often in a row a stream may break without bringing anything; 5 if absent. */
  readonly maxReconnects?: number
}

/** What following needs from around it. */
export interface Following {
  readonly dispatch: Dispatch
  /** For subscriptions, without retries of its own, since following tries again itself; `dispatch` if absent. */
  readonly once?: Dispatch
  /** Whether the agent streams; true where nobody knows. */
  canStream(): Promise<boolean>
  readonly clock: Clock
  readonly random: () => number
  readonly options: FollowOptions
}

/** Where following begins: at a task, at its id, or at a message that is yet to be sent. */
export type FollowStart =
  | { readonly id: string }
  | { readonly task: Task }
  | { readonly send: SendMessageRequest }

/**
 * Follows a task until it ends or asks for input, each event once and in order. The stream is resumed after a drop,
 * by sequence number where the server counts and by the difference of snapshots where it does not; without streams
 * the task is polled. AUTH_REQUIRED is waited through, since credentials come by another way (specification §7.6.2).
 */
export async function* follow(
  context: Following,
  start: FollowStart,
): AsyncGenerator<StreamResponse> {
  const view = createView()
  if ('task' in start) yield* view.catchUp(start.task)
  if ('send' in start) yield* open(context, view, start.send)
  const id = 'id' in start ? start.id : view.id
  if (view.settled || id === undefined) return
  if (await context.canStream()) yield* subscribe(context, view, id)
  if (!view.settled) yield* poll(context, view, id)
}

/** Sends the message: as a stream where the agent has streams, else to be polled. */
async function* open(
  context: Following,
  view: View,
  request: SendMessageRequest,
): AsyncGenerator<StreamResponse> {
  const stream = (await context.canStream()) ? await openStream(context, request) : undefined
  if (!stream) {
    const configuration = { returnImmediately: true, ...request.configuration }
    const response = await context.dispatch(
      'SendMessage',
      { ...request, configuration },
      context.options,
    )
    yield* view.take({ event: response })
    return
  }
  try {
    for await (const batch of stream)
      for (const item of batch) {
        yield* view.take(item)
        // A snapshot may still show the question that this message answers: only the stream's end tells.
        if (view.settled && !('task' in item.event)) return
      }
  } catch (error) {
    if (view.id === undefined || !isPassing(error)) throw error
  }
}

async function openStream(
  { dispatch, options }: Following,
  request: SendMessageRequest,
): Promise<EventStream | undefined> {
  try {
    return await dispatch('SendStreamingMessage', request, options)
  } catch (error) {
    if (hasNoStreams(error)) return undefined
    throw error
  }
}

/** Streams until the task is settled or the agent turns out to have no streams. */
async function* subscribe(
  context: Following,
  view: View,
  id: string,
): AsyncGenerator<StreamResponse> {
  const { clock, random, options } = context
  for (let failures = 0; ; ) {
    let lost: unknown
    try {
      for await (const event of subscription(context, view, id)) {
        failures = 0
        yield event
        if (view.settled) return
      }
    } catch (error) {
      if (hasNoStreams(error)) return
      if (!isPassing(error)) throw error
      lost = error
    }
    failures += 1
    if (failures > (options.maxReconnects ?? 5))
      throw lost ?? new A2AError('unavailable', `The stream of task ${id} ends before the task`)
    await wait(clock, backoffMs(failures, { random }), options.signal)
  }
}

/** One subscription: what it brings that was not yet seen. */
async function* subscription(
  context: Following,
  view: View,
  id: string,
): AsyncGenerator<StreamResponse> {
  const { dispatch, once = dispatch, options } = context
  const lastEventId = view.seq
  const call = lastEventId === undefined ? options : { ...options, lastEventId }
  const stream = await once('SubscribeToTask', { id }, call)
  let anchored = false
  for await (const batch of stream)
    for (const item of batch) {
      // Without a snapshot or numbers nobody knows what was missed: each event is a sign to look at the task.
      anchored ||= 'task' in item.event || (lastEventId !== undefined && item.seq !== undefined)
      if (anchored) yield* view.take(item)
      else yield* view.catchUp(await dispatch('GetTask', { id }, options))
    }
}

async function* poll(context: Following, view: View, id: string): AsyncGenerator<StreamResponse> {
  const { dispatch, clock, options } = context
  for (;;) {
    yield* view.catchUp(await dispatch('GetTask', { id }, options))
    if (view.settled) return
    await wait(clock, options.intervalMs ?? pollIntervalMs, options.signal)
  }
}

function hasNoStreams(error: unknown): boolean {
  return (
    error instanceof A2AError &&
    (error.code === 'unsupportedOperation' || error.code === 'methodNotFound')
  )
}
