import type { Dispatch, EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import {
  type OperationName,
  operationNames,
  operations,
  type RequestKind,
  type RequestOf,
  type ResultOf,
} from '../protocol/operations.ts'
import { parseResult } from '../protocol/schema.ts'
import type { GetTaskRequest, SendMessageRequest, Task } from '../protocol/types.ts'
import { withSignal } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { getExtendedAgentCard } from './extended-card.ts'
import { type CheckedCall, createGate, type Handlers } from './gate.ts'
import { trimHistory, trimStream } from './history.ts'
import { type FindTask, knownTaskId, withKnownTask } from './known-task.ts'
import { openStream } from './open-stream.ts'
import {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  listPushConfigs,
} from './push-configs.ts'
import { mustBeSendable, sendMessage, sendStreamingMessage } from './send.ts'
import type { Service } from './service.ts'
import { cancelTask, getTask, listTasks, subscribeToTask } from './tasks.ts'

/** A server's operations: a Dispatch over the engine, behind the gate. */
export function createOperations(service: Service): Dispatch {
  return createGate(service, {
    SendMessage: (request, call) => sendMessage(service, request, call),
    SendStreamingMessage: (request, call) => sendStreamingMessage(service, request, call),
    GetTask: (request, call) => getTask(service, request, call),
    ListTasks: (request, call) => listTasks(service, request, call),
    CancelTask: (request, call) => cancelTask(service, request, call),
    SubscribeToTask: (request, call) => subscribeToTask(service, request, call),
    CreateTaskPushNotificationConfig: (request, call) => createPushConfig(service, request, call),
    GetTaskPushNotificationConfig: (request, call) => getPushConfig(service, request, call),
    ListTaskPushNotificationConfigs: (request, call) => listPushConfigs(service, request, call),
    DeleteTaskPushNotificationConfig: (request, call) => deletePushConfig(service, request, call),
    GetExtendedAgentCard: (_request, call) => getExtendedAgentCard(service, call),
  })
}

/** Passes a request on; `ask` brings it to the agent. */
type PassOn = (request: never, call: CheckedCall, ask: Ask) => Promise<unknown>
type Ask = (request: object) => Promise<unknown>

/**
 * The operations of an agent that keeps its tasks itself. They pass the same gate; then the agent answers, under ids of
 * its own, and says whose tasks they are. Webhooks need our log, so it has none. What happens on the way depends on
 * what a request says, not on the operation.
 */
export function createPassOn(service: Service, keeper: Keeper): Dispatch {
  const findFor =
    (call: CheckedCall, { tenant }: { readonly tenant?: string }): FindTask =>
    (id) =>
      keeper.ask('GetTask', { id, ...(tenant !== undefined && { tenant }) }, call)

  const byKind: Readonly<Record<RequestKind, PassOn>> = {
    async message(request: SendMessageRequest, call, ask) {
      await mustBeSendable(service, request)
      const meant =
        call.givenTaskId === undefined
          ? request
          : await withKnownTask(findFor(call, request), request, call)
      return trimmed(await ask(meant), request.configuration?.historyLength)
    },
    async task(request: GetTaskRequest, call, ask) {
      const id = await knownTaskId(findFor(call, request), request.id, call)
      const answer = await ask(id === request.id ? request : { ...request, id })
      return trimmed(answer, request.historyLength)
    },
    filter: (request, _, ask) => ask(request),
    webhook: noWebhooks,
    webhookId: noWebhooks,
    nothing: (_, call) => getExtendedAgentCard(service, call),
  }

  const handlers = operationNames.map((name) => {
    const passOn = byKind[operations[name].takes]
    return [
      name,
      (request: never, call: CheckedCall) =>
        // true: what is meant is the request itself, but for the id of its task
        passOn(request, call, (meant) => keeper.ask(name, meant as never, call)),
    ]
  })
  // true: there is one for each name, and the gate hands each the request of its operation
  return createGate(service, Object.fromEntries(handlers) as Handlers)
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
  throw new A2AError('pushNotificationNotSupported', 'This agent has no pushNotifications')
}

/** An agent that keeps its tasks itself, as its server asks it. What it answers is checked as a peer's answer is. */
interface Keeper {
  ask<N extends OperationName>(
    name: N,
    request: RequestOf<N>,
    call: CheckedCall,
  ): Promise<ResultOf<N>>
  /** Asks no more, ends streams, and lets what is under way be answered until the deadline. May be called twice. */
  close(deadlineMs: number): Promise<void>
}

/** What a keeper is made of. */
interface KeeperOptions {
  /** The agent's operations as they are now. */
  dispatch(): Dispatch
  readonly clock: Clock
  readonly logger: Logger
}

/** Makes the way to an agent that keeps its tasks itself. */
export function createKeeper({ dispatch, clock, logger }: KeeperOptions): Keeper {
  const closing = new AbortController()
  const late = new AbortController()
  const pending = new Set<Promise<unknown>>()

  /** What a user's code throws is told to nobody but the log. */
  async function logged<T>(work: () => Promise<T>): Promise<T> {
    closing.signal.throwIfAborted()
    try {
      return await work()
    } catch (thrown) {
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
    ask: (name, request, call) =>
      logged(async () => {
        const answer = dispatch()(name, request, call)
        // true: it was checked as this operation's result
        if (!operations[name].stream) return (await once(name, answer)) as ResultOf<typeof name>
        const events = (await answer) as EventStream // true: the row says that it streams
        const ends = { closing: closing.signal, caller: call.signal }
        return (await openStream(events, ends)) as ResultOf<typeof name> // true: see above
      }),
    async close(deadlineMs) {
      closing.abort(shuttingDown())
      const callOff = clock.after(deadlineMs, () => late.abort(shuttingDown()))
      await withSignal(Promise.allSettled(pending), late.signal).catch(() => {})
      callOff()
    },
  }
}

function shuttingDown(): A2AError {
  return new A2AError('unavailable', 'The server is shutting down', { retryAfterSeconds: 5 })
}
