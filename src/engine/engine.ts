import type { Agent } from '../agents/agent.ts'
import { type AuthContext, anonymous, type Call, type EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { Message, SendMessageRequest, Task, TaskState } from '../protocol/types.ts'
import { within } from '../shared/async.ts'
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
import { isTurnEnd } from './leftover.ts'
import type { Letter } from './letter.ts'
import type { TaskLog } from './log.ts'
import type { TurnQueue } from './queue.ts'
import { goOn, type Recovery, recoverAll } from './recover.ts'
import type { Run } from './run.ts'
import type { RunDeps } from './run-deps.ts'
import { createRuns } from './runs.ts'
import { alreadySent, type Sent, SentMessage } from './sent.ts'
import { createStranded } from './stranded.ts'
import { createSuspects, type Suspects } from './suspects.ts'
import { createTasks } from './tasks.ts'
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
  /** The tasks of a scope as a store whose updates are events. */
  tasks(scope: Scope): FullTaskStore
  /** Replaces the agent for turns that begin from now on; running ones keep theirs. */
  setAgent(agent: Agent, build?: string): void
  /** Takes up what was left to do when the process ended. */
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
  /** The watch over tasks that may kill the process, where several engines share it. */
  readonly suspects?: Suspects
  /** The digest of the agent's definition. */
  readonly build?: string
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
  let deps = createDeps(options.agent, options.build ?? '')
  let closed = false
  const { suspects = createSuspects(clock) } = options
  let recovering: Promise<Recovery> | undefined

  const host = {
    committer,
    published(taskId: string, records: readonly LogRecord[], webhook: boolean): void {
      if (suspects.watching) tellOf(records, suspects, taskId)
      hub.publish(taskId, records)
      options.stored?.(taskId, records, webhook)
    },
    refused(taskId: string, error: A2AError, never: boolean): void {
      hub.fail(taskId, error)
      runs.all.get(taskId)?.interrupt(error)
      stranded.add(taskId, never ? error : undefined)
    },
  }
  const stranded = createStranded({ store, clock, takeUp: (id) => runs.takeUp(id) })
  const runs = createRuns({
    store,
    host,
    deps: () => deps,
    isClosed: () => closed,
    goOn(run, records) {
      const { resumable = false } = deps.agent
      const { died, refusal } = stranded.leave(run.log.id)
      return goOn(run, records, { resumable, logger, suspects, died, refusal })
    },
  })

  function createDeps(agent: Agent, build: string): RunDeps {
    return {
      agent,
      build,
      queue,
      logger,
      maxMailbox,
      timestamp: createTimestamps(clock),
      conversation: ({ scope, contextId }, limit) =>
        conversationOf(store, { scope, contextId, limit }),
      contextValues: ({ scope, contextId }) => store.contextValues(scope, contextId),
      tasks: ({ scope }) => tasks(scope),
      unanswered,
      within: (ms, work) => within(clock, ms, [work]),
      idle: (run) => runs.settle(run),
    }
  }

  /** Whose message is stored hears how its task stands, which goes on; who hears an error would send it again. */
  function unanswered(letter: Letter, log: TaskLog, reason: A2AError): void {
    if (letter.seq === 0 || letter.seq > log.version) letter.outcome.fail(reason)
    else
      storedTask(log.id, log.scope).then(
        (task) => letter.outcome.settle({ task }),
        () => letter.outcome.fail(reason),
      )
  }

  function begin(request: SendMessageRequest, call: Call, scope: Scope): Sent {
    const contextId = request.message.contextId ?? newId()
    queue.mustHaveRoom(scope.owner)
    return take(runs.create(contextId, scope), request, call)
  }

  async function proceed(request: SendMessageRequest, call: Call, scope: Scope): Promise<Sent> {
    const id = request.message.taskId ?? ''
    const run = await runs.find(id, scope)
    if (!run) throw notFound(id)
    try {
      mustContinue(run, request.message)
      const before = await run.log.snapshot()
      mustContinue(run, request.message)
      run.mustHaveRoom(scope.owner)
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
    // Before the message, which begins a turn at once: both must be in one commit.
    const webhook = request.configuration?.taskPushNotificationConfig
    if (webhook) run.log.register(webhook, call.dialect ?? '1.0', before?.version ?? 0)
    const letter = run.accept(request.message, turnRequest(request, call), call.auth)
    if (call.idempotencyKey !== undefined) run.birth()
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
    return run ? (await run.log.snapshot()).task : storedTask(id, scope)
  }

  function tasks(scope: Scope): FullTaskStore {
    return createTasks({ store, clock, scope, runs, get, timestamp: deps.timestamp })
  }

  async function storedTask(id: string, scope: Scope): Promise<Task> {
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
        const run = runs.live(stored.head.id, filter.scope)
        const task = run ? (await run.log.snapshot()).task : await currentTask(store, stored)
        return { ...stored, task }
      })
      return { ...page, tasks: await Promise.all(tasks) }
    },
    async cancel(id, scope) {
      const run = await runs.find(id, scope, 'end')
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
    tasks,
    setAgent(agent, build = '') {
      deps = createDeps(agent, build)
    },
    async recover() {
      suspects.gather()
      try {
        recovering = recoverAll({
          ...{ store, agentId, logger, isClosed: () => closed },
          takeUp: (id) => runs.takeUp(id),
        })
        const { resumed, failed } = await recovering
        return { resumed, failed }
      } finally {
        suspects.ready()
      }
    },
    live: () => runs.count(),
    async close(deadlineMs) {
      if (closed) return
      closed = true
      stranded.close()
      suspects.close()
      await recovering?.catch(() => {}) // who began it hears of that
      await drain(() => [...runs.all.values()], deadlineMs, clock)
      // Those who wait for a slot first: one that a running turn gives back must not begin another.
      const left = [...runs.all.values()].toSorted((a, b) => Number(b.queued) - Number(a.queued))
      for (const run of left) run.stop(closing())
      await committer.idle()
    },
  }
}

/** A turn that has finished a step, or is over, is less of a suspect. */
function tellOf(records: readonly LogRecord[], suspects: Suspects, taskId: string): void {
  if (records.some(isTurnEnd)) suspects.gotOn(taskId, true)
  else if (records.some(({ kind }) => kind === 'step')) suspects.gotOn(taskId, false)
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
