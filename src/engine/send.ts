import type { Call, EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Message, SendMessageRequest, Task, TaskState } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { Scope, Store, TurnRequest } from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import { TurnAnswer } from './answer.ts'
import { shuttingDown, taskNotFound } from './faults.ts'
import type { VersionedTask } from './log.ts'
import type { QueuedMessage } from './messages.ts'
import type { TurnQueue } from './queue.ts'
import type { TaskRun } from './run.ts'
import type { Runs } from './runs.ts'
import { createSendOnce } from './send-once.ts'
import { watchSend } from './watch.ts'

/** Takes in a message for a scope. */
export type Send = (
  request: SendMessageRequest,
  call: Call,
  scope: Scope,
) => SendResult | Promise<SendResult>

/** What taking in messages needs of the engine. */
interface SendOptions {
  readonly store: Store
  readonly hub: Hub
  readonly queue: TurnQueue
  readonly runs: Runs
  get(id: string, scope: Scope): Promise<Task>
  /** Whether nothing more may begin. */
  isClosed(): boolean
}

/** Makes what takes in messages: each begins a task or continues one, and one with a key is taken in once. */
export function createSend({ store, hub, queue, runs, get, isClosed }: SendOptions): Send {
  const sendOnce = createSendOnce<SendResult>(store)

  function begin(request: SendMessageRequest, call: Call, scope: Scope): SendResult {
    const contextId = request.message.contextId ?? newId()
    queue.mustHaveRoom(scope.owner)
    return take(runs.create(contextId, scope), request, call)
  }

  async function proceed(
    request: SendMessageRequest,
    call: Call,
    scope: Scope,
  ): Promise<SendResult> {
    const id = request.message.taskId ?? ''
    const run = await runs.find(id, scope)
    if (!run) throw taskNotFound(id)
    try {
      mustContinue(run, request.message)
      const before = await run.log.snapshot()
      mustContinue(run, request.message)
      if (!run.busy) queue.mustHaveRoom(scope.owner)
      run.mailbox.mustHaveRoom()
      return take(run, request, call, before)
    } finally {
      runs.release(run)
    }
  }

  function take(
    run: TaskRun,
    request: SendMessageRequest,
    call: Call,
    before?: VersionedTask,
  ): SendResult {
    if (isClosed()) throw shuttingDown()
    const { idempotencyKey } = call
    if (idempotencyKey !== undefined && !before) run.log.bindIdempotencyKey(idempotencyKey)
    // Before the message, which begins a turn at once: both must be in one commit.
    const webhook = request.configuration?.taskPushNotificationConfig
    if (webhook) run.log.register(webhook, call.dialect ?? '1.0', before?.version ?? 0)
    const queued = run.accept(request.message, toTurnRequest(request, call), call.auth)
    if (idempotencyKey !== undefined) run.writer.ensureTask()
    return new LiveResult(hub, { run, queued, before })
  }

  /** What became of a message that is sent again: what still runs is waited for, nothing runs twice. */
  async function repeat(taskId: string, scope: Scope): Promise<SendResult> {
    const run = runs.live(taskId, scope)
    const before = await run?.log.snapshot()
    const queued = run?.mailbox.latest
    if (run && queued) return new LiveResult(hub, { run, queued, before })
    return pastResult(await get(taskId, scope))
  }

  return (request, call, scope) => {
    if (isClosed()) throw shuttingDown()
    const send = request.message.taskId ? proceed : begin
    if (call.idempotencyKey === undefined) return send(request, call, scope)
    return sendOnce(scope, call.idempotencyKey, {
      message: request.message,
      first: async () => send(request, call, scope),
      repeat: (taskId) => repeat(taskId, scope),
    })
  }
}

/** What of a request stays with its turn in the log. */
function toTurnRequest({ configuration, metadata }: SendMessageRequest, call: Call): TurnRequest {
  const { extensions, traceparent, idempotencyKey } = call
  const userId = call.auth?.userId ?? ''
  const modes = configuration?.acceptedOutputModes
  if (!extensions?.length && !modes?.length && !metadata && !traceparent && !idempotencyKey)
    return { userId }
  return {
    userId,
    ...(extensions?.length && { extensions }),
    ...(modes?.length && { acceptedOutputModes: modes }),
    ...(metadata && { metadata }),
    ...(traceparent && { traceparent }),
    ...(idempotencyKey && { idempotencyKey }),
  }
}

function mustContinue(run: TaskRun, message: Message): void {
  const { state, id, contextId } = run.log
  if (message.contextId !== undefined && message.contextId !== contextId)
    throw new A2AError('invalidParams', `message.contextId is not the context of task ${id}`, {
      violations: [{ field: 'message.contextId', description: 'is not the context of the task' }],
      metadata: { taskId: id },
    })
  if (!isTerminal(state)) return
  throw new A2AError(endedCode(state), `Task ${id} is ${state}; it takes no more messages`, {
    metadata: { taskId: id },
  })
}

/** RANCH has numbers of its own for failed and cancelled tasks; elsewhere all three are the same. */
function endedCode(state: TaskState): 'taskFailed' | 'taskCanceled' | 'unsupportedOperation' {
  if (state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED') return 'taskFailed'
  return state === 'TASK_STATE_CANCELED' ? 'taskCanceled' : 'unsupportedOperation'
}

/** What comes of a message that was taken in. */
export interface SendResult {
  readonly answer: TurnAnswer
  /** Makes the task exist if it does not yet, and gives it as stored. */
  task(): Promise<Task>
  /** The events of this message's turn, from the first; with the task's trace if asked for. */
  events(options?: { readonly trace?: boolean }): EventStream
}

/** A message that has its turn or waits for one. */
interface Sending {
  readonly run: TaskRun
  readonly queued: QueuedMessage
  /** The task as it was before the message, where the message continues one. */
  readonly before?: VersionedTask | undefined
}

/** What comes of a message whose turn runs or is to come. A class, not closures: one is made per request. */
class LiveResult implements SendResult {
  readonly #hub: Hub
  readonly #run: TaskRun
  readonly #queued: QueuedMessage
  readonly #before: VersionedTask | undefined

  constructor(hub: Hub, { run, queued, before }: Sending) {
    this.#hub = hub
    this.#run = run
    this.#queued = queued
    this.#before = before
  }

  get answer(): TurnAnswer {
    return this.#queued.answer
  }

  async task(): Promise<Task> {
    this.#run.writer.ensureTask()
    await this.#run.log.committed()
    return (await this.#run.log.snapshot()).task
  }

  events({ trace }: { readonly trace?: boolean } = {}): EventStream {
    const run = this.#run
    if (run.mailbox.queued) run.writer.ensureTask()
    return watchSend(this.#hub, { run, queued: this.#queued, before: this.#before, trace })
  }
}

/** What came of a message that was taken in before: its task is all there is to tell. */
function pastResult(task: Task): SendResult {
  const answer = new TurnAnswer()
  answer.settle({ task })
  return {
    answer,
    task: async () => task,
    async *events() {
      yield [{ event: { task } }]
    },
  }
}
