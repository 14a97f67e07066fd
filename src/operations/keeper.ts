import { shuttingDown } from '../engine/errors.ts'
import { A2AError } from '../protocol/errors.ts'
import {
  type Dispatch,
  type EventStream,
  type OperationName,
  operationNames,
  operations,
  type RequestKind,
  type RequestOf,
  type ResultOf,
  type Sequenced,
} from '../protocol/operations.ts'
import { parseResult, parseStreamResponse } from '../protocol/schema.ts'
import { isTerminal } from '../protocol/task.ts'
import type { GetTaskRequest, SendMessageRequest, StreamResponse, Task } from '../protocol/types.ts'
import { withSignal } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { CheckedCall, OperationHandlers, Service } from './gate.ts'
import {
  type FindTask,
  getExtendedAgentCard,
  knownTaskId,
  mustBeSendable,
  noPushNotifications,
  trimHistory,
  trimStream,
  withKnownTask,
} from './handlers.ts'

/** An agent that keeps its tasks itself, as its server asks it. */
export interface Keeper {
  /** The operations of the agent. */
  readonly handlers: OperationHandlers
  /** Asks no more, ends streams, and lets what is under way be answered until the deadline. May be called twice. */
  close(deadlineMs: number): Promise<void>
}

/**
 * Makes the way to an agent that keeps its tasks itself. Its operations pass the same gate as all others; then the agent
 * answers, under ids of its own, and says whose tasks they are. What it answers is checked as a peer's answer is.
 * Webhooks need our log, so it has none.
 *
 * @param dispatch Gives the agent's operations as they are now.
 */
export function createKeeper(dispatch: () => Dispatch, clock: Clock, logger: Logger): Keeper {
  const closing = new AbortController()
  const late = new AbortController()
  const pending = new Set<Promise<unknown>>()

  async function ask<N extends OperationName>(
    name: N,
    request: RequestOf<N>,
    call: CheckedCall,
  ): Promise<ResultOf<N>> {
    closing.signal.throwIfAborted()
    try {
      const answer = dispatch()(name, request, call)
      // true: it was checked as this operation's result
      if (!operations[name].stream) return (await once(name, answer)) as ResultOf<N>
      const events = (await answer) as EventStream // true: the row says that it streams
      const ends = { closing: closing.signal, caller: call.signal }
      return (await openStream(events, ends)) as ResultOf<N> // true: see above
    } catch (thrown) {
      // What a user's code throws is told to nobody but the log.
      if (!(thrown instanceof A2AError)) logger.error({ err: thrown }, 'The agent failed')
      throw thrown
    }
  }

  async function once(name: OperationName, answer: Promise<unknown>): Promise<unknown> {
    pending.add(answer)
    try {
      return parseResult(name, await withSignal(answer, late.signal))
    } finally {
      pending.delete(answer)
    }
  }

  return {
    handlers: passOn(ask),
    async close(deadlineMs) {
      closing.abort(shuttingDown())
      const callOff = clock.after(deadlineMs, () => late.abort(shuttingDown()))
      await withSignal(Promise.allSettled(pending), late.signal).catch(() => {})
      callOff()
    },
  }
}

/** Brings a request to the agent, and its answer back. */
type Ask = <N extends OperationName>(
  name: N,
  request: RequestOf<N>,
  call: CheckedCall,
) => Promise<ResultOf<N>>

/** One request on its way to the agent. */
interface Passing {
  readonly service: Service
  readonly name: OperationName
  readonly call: CheckedCall
  readonly ask: Ask
}

type PassOn = (request: never, passing: Passing) => Promise<unknown>

/** A handler for each operation, which asks the agent. */
function passOn(ask: Ask): OperationHandlers {
  const handlers = operationNames.map((name) => {
    const pass = byKind[operations[name].takes]
    return [
      name,
      (service: Service, request: never, call: CheckedCall) =>
        pass(request, { service, name, call, ask }),
    ]
  })
  // true: there is one for each name, and the gate hands each the request of its operation
  return Object.fromEntries(handlers) as OperationHandlers
}

/** What happens on the way depends on what a request says, not on the operation. */
const byKind: Readonly<Record<RequestKind, PassOn>> = {
  async message(request: SendMessageRequest, passing) {
    const { service, call } = passing
    await mustBeSendable(service, request)
    const meant =
      call.givenTaskId === undefined
        ? request
        : await withKnownTask(findFor(passing, request), request, call)
    return trimmed(await askFor(passing, meant), request.configuration?.historyLength)
  },
  async task(request: GetTaskRequest, passing) {
    const id = await knownTaskId(findFor(passing, request), request.id, passing.call)
    const answer = await askFor(passing, id === request.id ? request : { ...request, id })
    return trimmed(answer, request.historyLength)
  },
  filter: (request, passing) => askFor(passing, request),
  webhook: noWebhooks,
  webhookId: noWebhooks,
  nothing: (request, { service, call }) => getExtendedAgentCard(service, request, call),
}

/** How a task of the caller's is found: the agent has it. */
function findFor({ ask, call }: Passing, { tenant }: { readonly tenant?: string }): FindTask {
  return (id) => ask('GetTask', { id, ...(tenant !== undefined && { tenant }) }, call)
}

function askFor({ ask, name, call }: Passing, meant: object): Promise<unknown> {
  // true: what is meant is the request itself, but for the id of its task
  return ask(name, meant as never, call)
}

/** An answer or stream whose tasks have at most `length` of their latest messages. */
function trimmed(answer: unknown, length: number | undefined): unknown {
  if (length === undefined) return answer
  // true: what has a history to trim answers with one of these
  const result = answer as
    | EventStream
    | Task
    | { readonly task: Task }
    | { readonly message: object }
  if (Symbol.asyncIterator in result) return trimStream(result, length)
  if ('id' in result) return trimHistory(result, length)
  return 'task' in result ? { task: trimHistory(result.task, length) } : result
}

async function noWebhooks(): Promise<never> {
  throw noPushNotifications()
}

/** Who can end a stream besides its source. */
interface StreamEnds {
  /** Fires when the server closes. */
  readonly closing: AbortSignal
  /** Fires when the caller is gone. */
  readonly caller: AbortSignal | undefined
}

type Source = AsyncIterator<readonly Sequenced[]>

/**
 * A stream of a user's making, once its first events are there: a failure before them is the operation's, not the
 * stream's. Events are checked; the stream ends with its source, with the task, and when somebody ends it, whatever the
 * source does then.
 */
async function openStream(stream: EventStream, ends: StreamEnds): Promise<EventStream> {
  const source = stream[Symbol.asyncIterator]()
  const signal = ends.caller ? AbortSignal.any([ends.closing, ends.caller]) : ends.closing
  let first: IteratorResult<readonly Sequenced[]> | undefined
  try {
    first = checked(await withSignal(source.next(), signal))
  } catch (thrown) {
    leave(source)
    throw thrown
  }
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const item = first ?? checked(await nextOf(source, signal))
        first = undefined
        if (!item.done && item.value.some(({ event }) => isLast(event))) {
          leave(source)
          first = over
        }
        return item
      },
      async return() {
        leave(source)
        first = over
        return over
      },
    }),
  }
}

const over: IteratorResult<readonly Sequenced[]> = { done: true, value: undefined }

async function nextOf(
  source: Source,
  signal: AbortSignal,
): Promise<IteratorResult<readonly Sequenced[]>> {
  try {
    return await withSignal(source.next(), signal)
  } catch (thrown) {
    leave(source)
    if (signal.aborted) return over
    throw thrown
  }
}

/** Not waited for: a source that is in the middle of something may take its time. */
function leave(source: Source): void {
  source.return?.().catch(() => {})
}

function checked(item: IteratorResult<readonly Sequenced[]>): IteratorResult<readonly Sequenced[]> {
  if (item.done) return over
  const value = item.value.map(({ seq, event }) => ({
    ...(seq !== undefined && { seq }),
    event: parseStreamResponse(event),
  }))
  return { done: false, value }
}

function isLast(event: StreamResponse): boolean {
  if ('message' in event) return true
  if ('task' in event) return isTerminal(event.task.status.state)
  return 'statusUpdate' in event && isTerminal(event.statusUpdate.status.state)
}
