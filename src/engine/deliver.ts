import { A2AError } from '../protocol/errors.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type { Message, TaskState } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { Scope, StoredTask } from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import type { Delivered } from './arrived.ts'
import type { Committer } from './commit.ts'
import { taskEnded, taskNotFound } from './faults.ts'
import type { Forwarding } from './forward.ts'
import type { VersionedTask } from './log-host.ts'
import type { SendResult } from './messages.ts'
import type { TurnQueue } from './queue.ts'
import { toPushRecord } from './records.ts'
import { LiveResult, pastResult } from './results.ts'
import type { TaskRun } from './run.ts'
import type { Runs } from './runs.ts'
import { whereverItRuns } from './whereabouts.ts'

/** Lets messages into their tasks. */
interface Delivery {
  /** Begins a task with a message. */
  begin(arrived: Delivered, scope: Scope): SendResult
  /** Continues the task that a message names, wherever it runs. */
  deliver(arrived: Delivered, scope: Scope): Promise<SendResult>
}

/** What letting messages in needs of the engine. */
export interface DeliveryOptions {
  readonly hub: Hub
  readonly queue: TurnQueue
  readonly runs: Runs
  readonly committer: Committer
  readonly forwarding: Forwarding
  /** @throws A2AError `unavailable` where nothing more may begin. */
  mustServe(): void
}

/** Makes what lets messages in. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { hub, queue, runs, committer, forwarding, mustServe } = options

  function begin(arrived: Delivered, scope: Scope): SendResult {
    const contextId = arrived.message.contextId ?? newId()
    queue.mustHaveRoom(arrived.principal)
    queue.mustHold(arrived, false)
    return take(runs.create(contextId, scope, arrived.principal), arrived)
  }

  async function deliver(arrived: Delivered, scope: Scope): Promise<SendResult> {
    const id = arrived.message.taskId ?? ''
    const sent = await whereverItRuns<SendResult>(
      runs,
      { id, scope },
      {
        here: (run) => enter(run, arrived),
        elsewhere: (task) => handOver(task, arrived),
      },
    )
    if (!sent) throw taskNotFound(id)
    return sent
  }

  /** Lets a message into a task that nobody runs, or that runs here. */
  async function enter(run: TaskRun, arrived: Delivered): Promise<SendResult> {
    mustContinue(run.log, arrived.message)
    const before = await run.log.snapshot()
    mustContinue(run.log, arrived.message)
    if (!run.busy) queue.mustHaveRoom(arrived.principal)
    run.mailbox.mustHaveRoom()
    queue.mustHold(arrived, !run.busy && isInterrupted(run.log.state))
    const { message, turnRequest } = arrived
    const refusal = run.log.refusalOf({ kind: 'message', turn: 0, message, request: turnRequest })
    return refusal ? outgrown(run, refusal) : take(run, arrived, before)
  }

  /** Hands a message over to the replica that runs its task. */
  async function handOver(task: StoredTask, arrived: Delivered): Promise<SendResult | undefined> {
    const { head, version } = task
    mustContinue(head, arrived.message)
    const { webhook, dialect = '1.0' } = arrived
    if (webhook) {
      const record = toPushRecord(webhook, { taskId: head.id, agent: head.scope.agent, dialect })
      await committer.write([{ type: 'pushConfig', record: { ...record, cursor: version } }])
    }
    return forwarding.message(task, arrived)
  }

  function take(run: TaskRun, arrived: Delivered, before?: VersionedTask): SendResult {
    mustServe()
    const { webhook, dialect = '1.0', turnRequest } = arrived
    const { idempotencyKey } = turnRequest
    if (idempotencyKey !== undefined && !before) run.log.bindIdempotencyKey(idempotencyKey)
    // Before the message, which begins a turn at once: both must be in one commit.
    if (webhook) run.log.register(webhook, dialect, before?.version ?? 0)
    const queued = run.accept(arrived.message, turnRequest, arrived)
    if (idempotencyKey !== undefined) run.mailbox.ensureTask()
    return new LiveResult(hub, { run, queued, before })
  }

  return { begin, deliver }
}

/** What a message must fit to continue a task. */
interface Continued {
  readonly id: string
  readonly contextId: string
  readonly state: TaskState
}

function mustContinue({ id, contextId, state }: Continued, message: Message): void {
  if (message.contextId !== undefined && message.contextId !== contextId)
    throw new A2AError('invalidParams', `message.contextId is not the context of task ${id}`, {
      violations: [{ field: 'message.contextId', description: 'is not the context of the task' }],
      metadata: { taskId: id },
    })
  if (isTerminal(state)) throw taskEnded(id, state)
}

/** A task that cannot hold a message fails, and its failure is the answer. */
async function outgrown(run: TaskRun, reason: A2AError): Promise<SendResult> {
  run.outgrow(reason)
  await run.log.committed()
  return pastResult((await run.log.snapshot()).task)
}
