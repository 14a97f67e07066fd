import type { Call, EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type { Message, SendMessageRequest, Task, TaskState } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { Scope, Store } from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import { TurnAnswer } from './answer.ts'
import { Arrived, createPrincipalOf } from './arrived.ts'
import { shuttingDown, taskNotFound } from './faults.ts'
import type { VersionedTask } from './log-host.ts'
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
  const principalOf = createPrincipalOf()

  function begin(request: SendMessageRequest, call: Call, scope: Scope): SendResult {
    const contextId = request.message.contextId ?? newId()
    const arrived = new Arrived(request, call, principalOf(call))
    queue.mustHaveRoom(arrived.principal)
    queue.mustHold(arrived, false)
    return take(runs.create(contextId, scope, arrived.principal), arrived)
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
      const arrived = new Arrived(request, call, principalOf(call))
      if (!run.busy) queue.mustHaveRoom(arrived.principal)
      run.mailbox.mustHaveRoom()
      queue.mustHold(arrived, !run.busy && isInterrupted(run.log.state))
      const { message, turnRequest } = arrived
      const refusal = run.log.refusalOf({ kind: 'message', turn: 0, message, request: turnRequest })
      if (refusal) return await outgrown(run, refusal)
      return take(run, arrived, before)
    } finally {
      runs.release(run)
    }
  }

  function take(run: TaskRun, arrived: Arrived, before?: VersionedTask): SendResult {
    if (isClosed()) throw shuttingDown()
    const { request, call } = arrived
    const { idempotencyKey } = call
    if (idempotencyKey !== undefined && !before) run.log.bindIdempotencyKey(idempotencyKey)
    // Before the message, which begins a turn at once: both must be in one commit.
    const webhook = request.configuration?.taskPushNotificationConfig
    if (webhook) run.log.register(webhook, call.dialect ?? '1.0', before?.version ?? 0)
    const queued = run.accept(request.message, arrived.turnRequest, arrived)
    if (idempotencyKey !== undefined) run.mailbox.ensureTask()
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
  /** The events of this message's turn, from the first; with the task's trace if asked for. To be asked for once. */
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
  #before: VersionedTask | undefined

  constructor(hub: Hub, { run, queued, before }: Sending) {
    this.#hub = hub
    this.#run = run
    this.#queued = queued
    this.#before = before
  }

  /** Who waits for the answer may do so for long: the task as it was before is not kept for that. */
  get answer(): TurnAnswer {
    this.#before = undefined
    return this.#queued.answer
  }

  async task(): Promise<Task> {
    this.#run.mailbox.ensureTask()
    await this.#run.log.committed()
    return (await this.#run.log.snapshot()).task
  }

  events({ trace }: { readonly trace?: boolean } = {}): EventStream {
    const run = this.#run
    if (run.mailbox.queued) run.mailbox.ensureTask()
    const before = this.#before
    this.#before = undefined
    return watchSend(this.#hub, { run, queued: this.#queued, before, trace })
  }
}

/** A task that cannot hold a message fails, and its failure is the answer. */
async function outgrown(run: TaskRun, reason: A2AError): Promise<SendResult> {
  run.outgrow(reason)
  await run.log.committed()
  return pastResult((await run.log.snapshot()).task)
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
