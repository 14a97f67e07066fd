import { A2AError } from '../protocol/errors.ts'
import type { Call, Dispatch, EventStream, Sequenced } from '../protocol/operations.ts'
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
  return new Answer(stream, request.message.taskId, (id) => {
    // Nobody is left to hear of a failure; the task then ends by itself.
    void dispatch('CancelTask', { id }, later).catch(() => {})
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

type Batch = IteratorResult<readonly Sequenced[]>

/** The events of an answer. Written by hand: a generator that waits for its next event would not hear that its reader has left. */
class Answer implements AsyncIterableIterator<readonly Sequenced[]> {
  readonly #source: AsyncIterator<readonly Sequenced[]>
  readonly #cancel: (taskId: string) => void
  #taskId: string | undefined
  #opening: boolean
  /** The continued task as it was: old answers, and the question that the message answers. */
  #before: Sequenced | undefined
  #settled = false
  #left = false
  #pulling: Promise<Batch> | undefined

  /** @param taskId The task that the message continues. */
  constructor(stream: EventStream, taskId: string | undefined, cancel: (taskId: string) => void) {
    this.#source = stream[Symbol.asyncIterator]()
    this.#cancel = cancel
    this.#taskId = taskId
    this.#opening = taskId !== undefined
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<Batch> {
    while (!this.#settled && !this.#left) {
      const batch = await this.#pull()
      const news = batch.done ? this.#lastWord() : batch.value.filter((item) => this.#isNews(item))
      for (const item of news) this.#note(item)
      if (news.length > 0) return { done: false, value: news }
    }
    this.#leave()
    return end
  }

  async return(): Promise<Batch> {
    this.#leave()
    return end
  }

  #pull(): Promise<Batch> {
    this.#pulling ??= this.#source.next().finally(() => {
      this.#pulling = undefined
    })
    return this.#pulling
  }

  #isNews(item: Sequenced): boolean {
    const state = 'task' in item.event ? item.event.task.status.state : undefined
    const isOld = this.#opening && state !== undefined && !isTerminal(state)
    this.#opening = false
    if (isOld) this.#before = item
    return !isOld
  }

  #note({ event }: Sequenced): void {
    if ('task' in event) this.#taskId = event.task.id
    const state = stateOf(event)
    this.#settled ||= 'message' in event || (state !== undefined && isSettled(state))
  }

  /** A stream that brings nothing after the task as it was: then that is the answer. */
  #lastWord(): readonly Sequenced[] {
    if (this.#before) this.#note(this.#before)
    if (this.#before && this.#settled) return [this.#before]
    this.#leave()
    throw new A2AError('timeout', 'The agent has not answered in time')
  }

  #leave(): void {
    if (this.#left) return
    this.#left = true
    if (this.#taskId === undefined && !this.#settled) void this.#cancelLater()
    else this.#part()
  }

  /** A task that has not shown itself yet can be cancelled only when it does. */
  async #cancelLater(): Promise<void> {
    try {
      while (this.#taskId === undefined && !this.#settled) {
        const batch = await this.#pull()
        if (batch.done) break
        for (const item of batch.value) this.#note(item)
      }
    } catch {
      // What has failed needs no cancelling.
    }
    this.#part()
  }

  #part(): void {
    void Promise.resolve(this.#source.return?.()).catch(() => {})
    if (this.#taskId !== undefined && !this.#settled) this.#cancel(this.#taskId)
  }
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
