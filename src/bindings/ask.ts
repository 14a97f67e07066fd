import type { Call, Dispatch, EventStream, Sequenced } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type { SendMessageRequest, StreamResponse, TaskState } from '../protocol/types.ts'
import { withSignal } from '../shared/async.ts'

const end: IteratorReturnResult<undefined> = { done: true, value: undefined }

/**
 * Asks an agent on behalf of a caller that knows nothing of tasks: by stream where the agent streams, else at once.
 * The events end when the answer is whole or the agent asks back; if they end before, that is a `timeout`. Such a
 * caller cannot come back for its task, so leaving early cancels it.
 */
export async function ask(
  dispatch: Dispatch,
  request: SendMessageRequest,
  call: Call,
): Promise<EventStream> {
  const stream = await open(dispatch, request, call)
  const { signal: _, ...later } = call
  return createAnswer(stream, {
    taskId: request.message.taskId,
    cancel(id) {
      // Nobody is left to hear of a failure; the task then ends by itself.
      void dispatch('CancelTask', { id }, later).catch(() => {})
    },
  })
}

/** Reads events until they end or the caller is gone; then the rejection is the signal's reason. */
export async function readAll(
  stream: EventStream,
  signal: AbortSignal | undefined,
  take: (event: StreamResponse) => void,
): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]()
  try {
    while (true) {
      const batch = await withSignal(iterator.next(), signal)
      if (batch.done) return
      for (const { event } of batch.value) take(event)
    }
  } finally {
    await iterator.return?.()
  }
}

async function open(
  dispatch: Dispatch,
  request: SendMessageRequest,
  call: Call,
): Promise<EventStream> {
  try {
    return await dispatch('SendStreamingMessage', request, call)
  } catch (error) {
    if (!(error instanceof A2AError) || error.code !== 'unsupportedOperation') throw error
    const event = await dispatch('SendMessage', request, call)
    return only([{ event }])
  }
}

async function* only<T>(item: T): AsyncGenerator<T> {
  yield item
}

interface AnswerOptions {
  /** The task that the message continues. */
  readonly taskId: string | undefined
  readonly cancel: (taskId: string) => void
}

// Written by hand: a generator that waits for its next event would not hear that its reader has left.
function createAnswer(stream: EventStream, options: AnswerOptions): EventStream {
  const source = stream[Symbol.asyncIterator]()
  let { taskId } = options
  let opening = taskId !== undefined
  /** The continued task as it was: old answers, and the question that the message answers. */
  let before: Sequenced | undefined
  let settled = false
  let left = false
  let pulling: Promise<IteratorResult<readonly Sequenced[]>> | undefined

  function pull(): Promise<IteratorResult<readonly Sequenced[]>> {
    pulling ??= source.next().finally(() => {
      pulling = undefined
    })
    return pulling
  }
  function leave(): void {
    if (left) return
    left = true
    if (taskId === undefined && !settled) void cancelLater()
    else part()
  }
  /** A task that has not shown itself yet can be cancelled only when it does. */
  async function cancelLater(): Promise<void> {
    try {
      while (taskId === undefined && !settled) {
        const batch = await pull()
        if (batch.done) break
        for (const item of batch.value) note(item)
      }
    } catch {
      // What has failed needs no cancelling.
    }
    part()
  }
  function part(): void {
    void Promise.resolve(source.return?.()).catch(() => {})
    if (taskId !== undefined && !settled) options.cancel(taskId)
  }
  function isNews(item: Sequenced): boolean {
    const state = 'task' in item.event ? item.event.task.status.state : undefined
    const isOld = opening && state !== undefined && !isTerminal(state)
    opening = false
    if (isOld) before = item
    return !isOld
  }
  function note({ event }: Sequenced): void {
    if ('task' in event) taskId = event.task.id
    const state = stateOf(event)
    settled ||= 'message' in event || (state !== undefined && isSettled(state))
  }
  /** A stream that brings nothing after the task as it was: then that is the answer. */
  function lastWord(): readonly Sequenced[] {
    if (before) note(before)
    if (before && settled) return [before]
    leave()
    throw new A2AError('timeout', 'The agent has not answered in time')
  }

  const iterator: AsyncIterator<readonly Sequenced[]> = {
    async next() {
      while (!settled && !left) {
        const batch = await pull()
        const news = batch.done ? lastWord() : batch.value.filter(isNews)
        for (const item of news) note(item)
        if (news.length > 0) return { done: false, value: news }
      }
      leave()
      return end
    },
    async return() {
      leave()
      return end
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

/** The state that an event brings, if it brings one. */
function stateOf(event: StreamResponse): TaskState | undefined {
  if ('task' in event) return event.task.status.state
  return 'statusUpdate' in event ? event.statusUpdate.status.state : undefined
}

/** Whether there is nothing more to wait for: the task ended, or asks its client. */
export function isSettled(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state)
}
