import type { Agent } from '../agents/agent.ts'
import { type AuthContext, anonymous, type Call, type EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Message, SendMessageRequest, SendMessageResponse, Task } from '../protocol/types.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { type Logger, silent } from '../shared/log.ts'
import { isSameScope, scopeKey } from '../store/scope.ts'
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
import { currentTask, loadMemory } from './load.ts'
import { TaskLog } from './log.ts'
import type { TurnQueue } from './queue.ts'
import { type Recovery, recoverRuns } from './recover.ts'
import { type Letter, Run, type RunDeps } from './run.ts'
import { watchSend, watchTask } from './watch.ts'

/** Runs the turns of one agent: detached from requests, one at a time per task, everything through the log. */
export interface Engine {
  /** Takes in a message. The turn goes on whoever waits for it. */
  send(request: SendMessageRequest, call: Call): Promise<Sent>
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

/** A message that was taken in. */
export interface Sent {
  /** Settled by a Message, or by the task once it is ended, interrupted or cancelled. */
  readonly outcome: Promise<SendMessageResponse>
  /** Makes the task exist if it does not yet, and gives it as stored. */
  task(): Promise<Task>
  /** The events of this message's turn, from the first. */
  events(): EventStream
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
  const { agentId, store, committer, hub } = options
  const clock = options.clock ?? systemClock
  const logger = options.logger ?? silent
  const runs = new Map<string, Run>()
  const loading = new Map<string, Promise<Run | undefined>>()
  /** Idempotency keys whose first request is still on its way to the store. */
  const keys = new Map<string, Promise<Sent>>()
  let agent = options.agent
  let closed = false

  function openLog(
    ids: { id: string; contextId: string },
    scope: Scope,
    stored?: { task: Task; version: number },
  ): TaskLog {
    return new TaskLog({
      ...ids,
      scope,
      committer,
      published(records, webhook) {
        hub.publish(ids.id, records)
        options.stored?.(ids.id, records, webhook)
      },
      ...(stored && { stored }),
    })
  }

  function depsFor(scope: Scope): RunDeps {
    return {
      agent,
      queue: options.queue,
      clock,
      logger,
      maxMailbox: options.maxMailbox ?? 16,
      conversation: (contextId, limit) => conversationOf(store, { scope, contextId, limit }),
      born: (run) => void runs.set(run.log.id, run),
      idle: (run) => void runs.delete(run.log.id),
    }
  }

  /** The live run of a task in scope, loaded from the store if need be; undefined if there is none. */
  async function findRun(id: string, scope: Scope): Promise<Run | undefined> {
    const live = runs.get(id)
    if (live) return isSameScope(live.log.scope, scope) ? live : undefined
    const underway = loading.get(id)
    if (underway) {
      await underway
      return findRun(id, scope)
    }
    const load = loadRun(id, scope).finally(() => loading.delete(id))
    loading.set(id, load)
    return load
  }

  async function loadRun(id: string, scope: Scope): Promise<Run | undefined> {
    const stored = await store.get(id, scope)
    if (!stored) return undefined
    const { task, memory } = await loadMemory(store, stored)
    const ids = { id, contextId: stored.head.contextId }
    const log = openLog(ids, scope, { task, version: stored.version })
    const run = new Run(log, depsFor(scope), memory)
    runs.set(id, run)
    return run
  }

  function newRun(message: Message, scope: Scope): Run {
    const ids = {
      id: crypto.randomUUID(),
      contextId: message.contextId ?? crypto.randomUUID(),
    }
    return new Run(openLog(ids, scope), depsFor(scope), {
      turns: 0,
      steps: new Map(),
      saved: new Map(),
    })
  }

  async function continued(message: Message, taskId: string, scope: Scope): Promise<Run> {
    const run = await findRun(taskId, scope)
    if (!run) throw notFound(taskId)
    try {
      mustContinue(run, message)
    } catch (refusal) {
      if (!run.busy) runs.delete(taskId)
      throw refusal
    }
    return run
  }

  async function accept(request: SendMessageRequest, call: Call): Promise<Sent> {
    const { message } = request
    const scope = scopeOf(request.tenant, call.auth)
    const run = message.taskId
      ? await continued(message, message.taskId, scope)
      : newRun(message, scope)
    if (closed) throw closing()
    const before = run.log.exists ? await run.log.snapshot() : undefined
    run.task = before?.task
    run.mustHaveRoom()
    if (call.idempotencyKey !== undefined) run.log.tie(call.idempotencyKey)
    const letter = run.accept(message, turnRequest(request, call), call.auth)
    if (call.idempotencyKey !== undefined) run.birth()
    const webhook = request.configuration?.taskPushNotificationConfig
    if (webhook) run.log.register(webhook, call.dialect ?? '1.0', before?.version ?? 0)
    return sent(run, letter, before)
  }

  function sent(run: Run, letter: Letter, before?: { task: Task; version: number }): Sent {
    return {
      outcome: letter.outcome.promise,
      async task() {
        run.birth()
        await run.log.committed()
        return (await run.log.snapshot()).task
      },
      events() {
        if (run.queued) run.birth()
        return watchSend(hub, run, letter, before)
      },
    }
  }

  /** A key that was used before leads to its task: what is still running is waited for, nothing runs twice. */
  async function repeated(scope: Scope, key: string): Promise<Sent | undefined> {
    const id = await store.findByKey(scope, key)
    if (id === undefined) return undefined
    const run = runs.get(id)
    const latest = run?.latest
    if (run && latest) return sent(run, latest, await run.log.snapshot())
    const task = await get(id, scope)
    return {
      outcome: Promise.resolve({ task }),
      task: async () => task,
      events: () => once({ event: { task } }),
    }
  }

  async function sendWithKey(request: SendMessageRequest, call: Call, key: string): Promise<Sent> {
    const scope = scopeOf(request.tenant, call.auth)
    const name = `${scopeKey(scope)}\n${key}`
    const underway = keys.get(name)
    if (underway) await underway.then((first) => first.task())
    const earlier = await repeated(scope, key)
    if (earlier) return earlier
    const again = keys.get(name)
    if (again) return sendWithKey(request, call, key)
    const first = accept(request, call)
    keys.set(name, first)
    try {
      const sent = await first
      await sent.task()
      return sent
    } finally {
      keys.delete(name)
    }
  }

  function scopeOf(tenant: string | undefined, auth: AuthContext = anonymous): Scope {
    return { agent: agentId, tenant: tenant ?? '', owner: auth.userId }
  }

  async function get(id: string, scope: Scope): Promise<Task> {
    const run = runs.get(id)
    if (run && isSameScope(run.log.scope, scope)) return (await run.log.snapshot()).task
    const stored = await store.get(id, scope)
    if (!stored) throw notFound(id)
    return currentTask(store, stored)
  }

  return {
    async send(request, call) {
      if (closed) throw closing()
      const key = call.idempotencyKey
      return key === undefined ? accept(request, call) : sendWithKey(request, call, key)
    },
    get,
    async list(filter) {
      const page = await store.list(filter)
      const tasks = page.tasks.map(async (stored) => {
        const run = runs.get(stored.head.id)
        const task = run ? (await run.log.snapshot()).task : await currentTask(store, stored)
        return { ...stored, task }
      })
      return { ...page, tasks: await Promise.all(tasks) }
    },
    async cancel(id, scope) {
      const run = await findRun(id, scope)
      if (!run) throw notFound(id)
      if (!isTerminal(run.log.state)) return run.cancel()
      if (!run.busy) runs.delete(id)
      if (run.log.state === 'TASK_STATE_CANCELED') return (await run.log.snapshot()).task
      throw new A2AError('taskNotCancelable', `Task ${id} is ${run.log.state}`, {
        metadata: { taskId: id },
      })
    },
    async subscribe(id, scope, subscription) {
      const run = runs.get(id)
      if (run && !isSameScope(run.log.scope, scope)) throw notFound(id)
      return watchTask({ store, hub, id, scope, run, ...subscription })
    },
    async trace(id) {
      const records = await store.records(id, 0)
      return records.filter((record) => record.kind === 'trace')
    },
    scopeOf,
    setAgent(next) {
      agent = next
    },
    recover: () =>
      recoverRuns({
        store,
        agentId,
        resumable: agent.resumable ?? false,
        logger,
        open(head, task, version) {
          const log = openLog(head, head.scope, { task, version })
          const deps = depsFor(head.scope)
          return (memory) => {
            const run = new Run(log, deps, memory)
            runs.set(head.id, run)
            return run
          }
        },
      }),
    live: () => runs.size,
    async close(deadlineMs) {
      if (closed) return
      closed = true
      await drain(runs, deadlineMs, clock)
      for (const run of runs.values()) run.interrupt(closing())
      await committer.idle()
    },
  }
}

/** What of a request stays with its turn in the log. */
function turnRequest(request: SendMessageRequest, call: Call): TurnRequest {
  const modes = request.configuration?.acceptedOutputModes
  return {
    userId: call.auth?.userId ?? '',
    ...(call.extensions?.length && { extensions: call.extensions }),
    ...(modes?.length && { acceptedOutputModes: modes }),
    ...(request.metadata && { metadata: request.metadata }),
    ...(call.traceparent && { traceparent: call.traceparent }),
  }
}

function mustContinue(run: Run, message: Message): void {
  const { state, id, contextId } = run.log
  if (message.contextId !== undefined && message.contextId !== contextId)
    throw new A2AError('invalidParams', `message.contextId is not the context of task ${id}`, {
      violations: [{ field: 'message.contextId', description: 'is not the context of the task' }],
    })
  if (!isTerminal(state)) return
  const code =
    state === 'TASK_STATE_FAILED'
      ? 'taskFailed'
      : state === 'TASK_STATE_CANCELED'
        ? 'taskCanceled'
        : 'unsupportedOperation'
  throw new A2AError(code, `Task ${id} is ${state}; it takes no more messages`, {
    metadata: { taskId: id },
  })
}

function notFound(id: string): A2AError {
  return new A2AError('taskNotFound', `Task not found: ${id}`, { metadata: { taskId: id } })
}

function closing(): A2AError {
  return new A2AError('unavailable', 'The server is shutting down', { retryAfterSeconds: 5 })
}

async function* once<T>(item: T): AsyncGenerator<readonly T[]> {
  yield [item]
}

/** Resolves when no run is left, or at the deadline. */
async function drain(
  runs: ReadonlyMap<string, Run>,
  deadlineMs: number,
  clock: Clock,
): Promise<void> {
  const until = clock.now() + deadlineMs
  while (runs.size > 0 && clock.now() < until) {
    const outcomes = [...runs.values()].map((run) => run.latest?.outcome.promise.catch(() => {}))
    await new Promise<void>((resolve) => {
      const callOff = clock.after(Math.min(100, until - clock.now()), resolve)
      void Promise.all(outcomes).then(() => {
        callOff()
        resolve()
      })
    })
  }
}
