import type { Agent } from '../agents/agent.ts'
import { type AuthContext, anonymous, type Call, type EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Message, SendMessageRequest, Task, TaskState } from '../protocol/types.ts'
import { type Clock, createTimestamps, systemClock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { type Logger, silent } from '../shared/log.ts'
import { currentTask } from '../store/current.ts'
import type {
  LogRecord,
  Scope,
  Store,
  TaskListFilter,
  TaskPage,
  TurnRequest,
} from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import type { Committer } from './commit.ts'
import { conversationOf } from './conversation.ts'
import { drain } from './drain.ts'
import { createSendOnce } from './keys.ts'
import type { TurnQueue } from './queue.ts'
import { type Recovery, recoverRuns } from './recover.ts'
import type { Run } from './run.ts'
import type { RunDeps } from './run-deps.ts'
import { createRuns } from './runs.ts'
import { alreadySent, type Sent, SentMessage } from './sent.ts'
import { watchTask } from './watch.ts'

export type { Sent } from './sent.ts'

/** Runs the turns of one agent: detached from requests, one at a time per task, everything through the log. */
export interface Engine {
  /** Takes in a message. The turn goes on whoever waits for it. */
  send(request: SendMessageRequest, call: Call): Sent | Promise<Sent>
  /** A task as it is stored now. */
  get(id: string, scope: Scope): Promise<Task>
  list(filter: TaskListFilter): Promise<TaskPage>
  /** Cancels a task; a cancelled one is returned as it is, another ended one is `taskNotCancelable`. */
  cancel(id: string, scope: Scope): Promise<Task>
  /** Watches a task: a snapshot and what follows, or what follows `lastEventId`. */
  subscribe(id: string, scope: Scope, options: SubscribeOptions): Promise<EventStream>
  /** The private trace of a task, oldest first. */
  trace(id: string): Promise<readonly LogRecord[]>
  /** The scope of a caller in a tenant. */
  scopeOf(tenant: string | undefined, auth: AuthContext | undefined): Scope
  /** Replaces the agent for turns that begin from now on; running ones keep theirs. */
  setAgent(agent: Agent): void
  /** Takes up what was SUBMITTED or WORKING when the process ended. */
  recover(): Promise<Recovery>
  /** How many tasks are live, for metrics. */
  live(): number
  /** Lets running turns end until the deadline, then interrupts them: a restart takes them up. Idempotent. */
  close(deadlineMs: number): Promise<void>
}

/** How a subscription begins, and what it shows. */
export interface SubscribeOptions {
  readonly lastEventId?: number
  readonly trace?: boolean
}

/** What an engine is made of. */
export interface EngineOptions {
  readonly agent: Agent
  /** The id that the agent's tasks are stored under. */
  readonly agentId: string
  readonly store: Store
  readonly committer: Committer
  readonly hub: Hub
  readonly queue: TurnQueue
  readonly clock?: Clock
  readonly logger?: Logger
  /** Messages that may wait for a running task; 16 by default. */
  readonly maxMailbox?: number
  /** Told of each stored batch, and whether a webhook was registered with it; the webhooks listen here. */
  stored?(taskId: string, records: readonly LogRecord[], webhook: boolean): void
}

/** Makes the engine of one agent. */
export function createEngine(options: EngineOptions): Engine {
  const { agentId, store, committer, hub, queue, maxMailbox = 16 } = options
  const { clock = systemClock, logger = silent } = options
  const sendOnce = createSendOnce(store)
  const everyone: Scope = { agent: agentId, tenant: '', owner: '' }
  let deps = createDeps(options.agent)
  let closed = false
  /** Until what an earlier process left is taken up, who continues or cancels a task waits: it may be among it. */
  let recovering: Promise<Recovery> | undefined

  const host = {
    committer,
    published(taskId: string, records: readonly LogRecord[], webhook: boolean): void {
      hub.publish(taskId, records)
      options.stored?.(taskId, records, webhook)
    },
    refused(taskId: string, error: A2AError): void {
      hub.fail(taskId, error)
      runs.all.get(taskId)?.interrupt(error)
    },
  }
  const runs = createRuns(store, host, () => deps)

  function createDeps(agent: Agent): RunDeps {
    return {
      agent,
      queue,
      logger,
      maxMailbox,
      timestamp: createTimestamps(clock),
      conversation: ({ scope, contextId }, limit) =>
        conversationOf(store, { scope, contextId, limit }),
      idle: (run) => runs.settle(run),
    }
  }

  function begin(request: SendMessageRequest, call: Call, scope: Scope): Sent {
    const contextId = request.message.contextId ?? newId()
    queue.mustHaveRoom()
    return take(runs.create(contextId, scope), request, call)
  }

  async function proceed(request: SendMessageRequest, call: Call, scope: Scope): Promise<Sent> {
    const id = request.message.taskId ?? ''
    await recovering
    const run = await runs.find(id, scope)
    if (!run) throw notFound(id)
    try {
      mustContinue(run, request.message)
      const before = await run.log.snapshot()
      mustContinue(run, request.message)
      run.mustHaveRoom()
      return take(run, request, call, before)
    } finally {
      runs.release(run)
    }
  }

  function take(
    run: Run,
    request: SendMessageRequest,
    call: Call,
    before?: { readonly task: Task; readonly version: number },
  ): Sent {
    if (closed) throw closing()
    if (call.idempotencyKey !== undefined && !before) run.log.tie(call.idempotencyKey)
    const letter = run.accept(request.message, turnRequest(request, call), call.auth)
    if (call.idempotencyKey !== undefined) run.birth()
    const webhook = request.configuration?.taskPushNotificationConfig
    if (webhook) run.log.register(webhook, call.dialect ?? '1.0', before?.version ?? 0)
    return new SentMessage(hub, { run, letter, before })
  }

  /** What became of a message that is sent again: what still runs is waited for, nothing runs twice. */
  async function repeat(taskId: string, scope: Scope): Promise<Sent> {
    const run = runs.live(taskId, scope)
    const before = await run?.log.snapshot()
    const letter = run?.latest
    if (run && letter) return new SentMessage(hub, { run, letter, before })
    return alreadySent(await get(taskId, scope))
  }

  function scopeOf(tenant: string | undefined, { userId }: AuthContext = anonymous): Scope {
    if (!tenant && userId === '') return everyone
    return { agent: agentId, tenant: tenant ?? '', owner: userId }
  }

  async function get(id: string, scope: Scope): Promise<Task> {
    const run = runs.live(id, scope)
    if (run) return (await run.log.snapshot()).task
    const stored = await store.get(id, scope)
    if (!stored) throw notFound(id)
    return currentTask(store, stored)
  }

  return {
    send(request, call) {
      if (closed) throw closing()
      const scope = scopeOf(request.tenant, call.auth)
      const send = request.message.taskId ? proceed : begin
      if (call.idempotencyKey === undefined) return send(request, call, scope)
      return sendOnce(scope, call.idempotencyKey, {
        taskId: request.message.taskId,
        first: async () => send(request, call, scope),
        repeat: (taskId) => repeat(taskId, scope),
      })
    },
    get,
    async list(filter) {
      const page = await store.list(filter)
      const tasks = page.tasks.map(async (stored) => {
        const run = runs.all.get(stored.head.id)
        const task = run ? (await run.log.snapshot()).task : await currentTask(store, stored)
        return { ...stored, task }
      })
      return { ...page, tasks: await Promise.all(tasks) }
    },
    async cancel(id, scope) {
      await recovering
      const run = await runs.find(id, scope)
      if (!run) throw notFound(id)
      const { state } = run.log
      try {
        if (!isTerminal(state)) return await run.cancel()
        if (state === 'TASK_STATE_CANCELED') {
          await run.log.committed()
          return (await run.log.snapshot()).task
        }
        throw notCancelable(id, state)
      } finally {
        runs.release(run)
      }
    },
    async subscribe(id, scope, subscription) {
      return watchTask({ store, hub, id, scope, run: runs.live(id, scope), ...subscription })
    },
    async trace(id) {
      const records = await store.records(id, 0)
      return records.filter((record) => record.kind === 'trace')
    },
    scopeOf,
    setAgent(agent) {
      deps = createDeps(agent)
    },
    async recover() {
      const resumable = deps.agent.resumable ?? false
      const isLive = (id: string): boolean => runs.all.has(id)
      const { reopen } = runs
      recovering = recoverRuns({ store, agentId, resumable, logger, isLive, reopen })
      try {
        return await recovering
      } finally {
        recovering = undefined
      }
    },
    live: () => runs.count(),
    async close(deadlineMs) {
      if (closed) return
      closed = true
      await drain(() => [...runs.all.values()], deadlineMs, clock)
      // Those who wait for a slot first: one that a running turn gives back must not begin another.
      const left = [...runs.all.values()].toSorted((a, b) => Number(b.queued) - Number(a.queued))
      for (const run of left) run.interrupt(closing())
      await committer.idle()
    },
  }
}

/** What of a request stays with its turn in the log. */
function turnRequest({ configuration, metadata }: SendMessageRequest, call: Call): TurnRequest {
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

function mustContinue(run: Run, message: Message): void {
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

function notFound(id: string): A2AError {
  return new A2AError('taskNotFound', `Task not found: ${id}`, { metadata: { taskId: id } })
}

function notCancelable(id: string, state: TaskState): A2AError {
  return new A2AError('taskNotCancelable', `Task ${id} is ${state}`, { metadata: { taskId: id } })
}

function closing(): A2AError {
  return new A2AError('unavailable', 'The server is shutting down', { retryAfterSeconds: 5 })
}
