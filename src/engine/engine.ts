import type { Agent } from '../agents/agent.ts'
import type { A2AError } from '../protocol/errors.ts'
import { type AuthContext, anonymous, type Call, type EventStream } from '../protocol/operations.ts'
import { isTerminal } from '../protocol/task.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { SendMessageRequest, Task } from '../protocol/types.ts'
import { type Clock, createTimestamps, systemClock } from '../shared/clock.ts'
import type { SharedBudget } from '../shared/fair-share.ts'
import { type Logger, silent } from '../shared/log.ts'
import { currentTask, toTaskPage } from '../store/documents.ts'
import type { Feed } from '../store/feed.ts'
import type {
  LogRecord,
  Scope,
  Store,
  StoredTask,
  TaskListFilter,
  TaskPage,
} from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import type { Committer } from './commit.ts'
import {
  KeyTaken,
  notRegistered,
  overloaded,
  shuttingDown,
  TaskMoved,
  taskNotCancelable,
  taskNotFound,
} from './errors.ts'
import { createTaskFace, LiveTasks } from './live-tasks.ts'
import { isTurnEnd, type QueuedMessage, type SendResult } from './queued-messages.ts'
import { type Recovery, recoverAll, Stranded } from './recover.ts'
import { Replicas } from './replicas.ts'
import { answerInterrupted, IdempotencyKeys, PrincipalCache, sendToTask } from './send.ts'
import { Suspects } from './suspects.ts'
import type { TaskLog, VersionedTask } from './task-log.ts'
import type { TaskRun } from './task-run.ts'
import type { TurnQueue } from './turn-queue.ts'
import { Callbacks, type SubscriptionStart, watchTask } from './watch.ts'

/** What an engine is made of. */
interface EngineOptions {
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
  /** How much tasks may hold; the defaults where absent. */
  readonly limits?: TaskLimits | undefined
  /** The bytes that all live tasks hold together, where several engines share them. */
  readonly live?: SharedBudget | undefined
  /** The URL to which remote systems report, without the id of the task; absent where they cannot reach this server. */
  readonly callbackUrl?: string | undefined
  /** Says why no new task may begin now; if absent, new tasks may always begin. */
  readonly overload?: { reason(): string | undefined } | undefined
  /** The webhooks: they get each stored batch, and whether one of them was registered with it. */
  readonly webhooks?: {
    published(taskId: string, records: readonly LogRecord[], registered: boolean): void
  }
}

/** How much one task may hold. */
interface TaskLimits {
  readonly maxTaskBytes: number
  readonly maxTaskEvents: number
  /** The values that one context may keep. */
  readonly maxContextBytes: number
}

const defaultLimits: TaskLimits = {
  maxTaskBytes: 32 * 1024 * 1024,
  maxTaskEvents: 100_000,
  maxContextBytes: 256 * 1024,
}

/** An agent, the digest of its definition, and those of its files of code, where it has some. */
export interface AgentDefinition {
  readonly agent: Agent
  readonly build: string
  readonly code: Agent['codeDigests']
}

/**
 * Runs the turns of one agent: detached from requests, one at a time per task, everything through the log. Its parts
 * have the engine itself: the live tasks, the way in (`send.ts`), recovery, and what goes to other replicas.
 */
export class Engine {
  readonly agentId: string
  readonly store: Store
  readonly commits: Committer
  readonly hub: Hub
  readonly queue: TurnQueue
  readonly clock: Clock
  readonly logger: Logger
  readonly limits: TaskLimits
  /** The bytes that all live tasks hold together, by principal; without bound if absent. */
  readonly liveBytes: SharedBudget | undefined
  /** Messages that may wait for a running task. */
  readonly maxMailbox: number
  /** Whether other processes can continue the same tasks. */
  readonly isShared: boolean
  readonly suspects: Suspects
  readonly stranded: Stranded
  readonly tasks: LiveTasks
  readonly replicas: Replicas
  readonly keys: IdempotencyKeys
  readonly principals: PrincipalCache = new PrincipalCache()
  /** Now, as the protocol writes it. */
  readonly timestamp: () => string
  /** The agent for runs that are made from now on. */
  definition: AgentDefinition
  /** Agents that were named in a warning about changed code. */
  readonly changedCode: Set<string> = new Set()
  /** Whether nothing more may begin. */
  closed = false
  readonly #webhooks: EngineOptions['webhooks']
  readonly #overload: EngineOptions['overload']
  /** The scope of callers without a name; made once, since every request needs it. */
  readonly #everyone: Scope
  readonly #callbackUrl: string | undefined
  #callbacks: Callbacks | undefined
  #moved = 0
  #recovering: Promise<Recovery> | undefined

  constructor(options: EngineOptions) {
    const { store, agentId, clock = systemClock } = options
    this.agentId = agentId
    this.store = store
    this.commits = options.committer
    this.hub = options.hub
    this.queue = options.queue
    this.clock = clock
    this.logger = options.logger ?? silent
    this.limits = options.limits ?? defaultLimits
    this.liveBytes = options.live
    this.maxMailbox = options.maxMailbox ?? 16
    this.isShared = store.feed !== undefined
    this.timestamp = createTimestamps(store.feed ? shifted(clock, store.feed) : clock)
    this.definition = toDefinition(options.agent, options.build)
    this.suspects = options.suspects ?? new Suspects(clock)
    this.#webhooks = options.webhooks
    this.#overload = options.overload
    this.#everyone = { agent: agentId, tenant: '', owner: '' }
    this.stranded = new Stranded(this)
    this.tasks = new LiveTasks(this)
    this.replicas = new Replicas(this)
    this.keys = new IdempotencyKeys(this)
    this.#callbackUrl = options.callbackUrl
  }

  /** Reports of remote systems to its tasks; created on first use. */
  get callbacks(): Callbacks {
    this.#callbacks ??= new Callbacks(this, this.#callbackUrl)
    return this.#callbacks
  }

  /** Takes in a message. The turn continues even if the caller leaves. */
  send(request: SendMessageRequest, call: Call): SendResult | Promise<SendResult> {
    return sendToTask(this, request, call)
  }

  /** A task as it is stored now. */
  async get(id: string, scope: Scope): Promise<Task> {
    const run = this.tasks.live(id, scope)
    return run ? (await run.log.snapshot()).task : this.readTask(id, scope)
  }

  async list(filter: TaskListFilter): Promise<TaskPage> {
    const { store } = this
    const page = await store.list(filter)
    const current = async (stored: StoredTask, run: TaskRun | undefined): Promise<StoredTask> => {
      const isLoaded = run && !run.log.unloaded
      const task = isLoaded ? (await run.log.snapshot()).task : await currentTask(store, stored)
      return { ...stored, task }
    }
    // A running task may have grown beyond the page since it was stored.
    const grown = await toTaskPage(page.tasks, { ...filter, total: page.total }, (stored) => {
      const run = this.tasks.live(stored.head.id, filter.scope)
      return run || stored.taskVersion !== stored.version ? current(stored, run) : stored
    })
    return { ...page, ...grown }
  }

  /** Cancels a task; a cancelled one is returned as it is, another ended one is `taskNotCancelable`. */
  async cancel(id: string, scope: Scope): Promise<Task> {
    const task = await this.tasks.locate(
      { id, scope, purpose: 'end' },
      {
        here: cancelHere,
        remote: (found) => this.replicas.forwardCancel(found),
      },
    )
    if (!task) throw taskNotFound(id)
    const { state } = task.status
    if (state !== 'TASK_STATE_CANCELED') throw taskNotCancelable(id, state)
    return task
  }

  /** Watches a task: a snapshot and what follows, or what follows `lastEventId`. */
  subscribe(id: string, scope: Scope, start: SubscriptionStart): Promise<EventStream> {
    return watchTask(this, { id, scope }, start)
  }

  /** The scope of a caller in a tenant. */
  scopeOf(tenant: string | undefined, { userId }: AuthContext = anonymous): Scope {
    if (!tenant && userId === '') return this.#everyone
    return { agent: this.agentId, tenant: tenant ?? '', owner: userId }
  }

  /** The tasks of a scope as a store; updates become events. */
  tasksOf(scope: Scope): FullTaskStore {
    return createTaskFace(this, scope)
  }

  /** Replaces the agent for turns that begin from now on; running ones keep theirs. */
  setAgent(agent: Agent, build?: string): void {
    this.definition = toDefinition(agent, build)
  }

  /** How many tasks are live, for metrics. */
  live(): number {
    return this.tasks.count()
  }

  /** How many tasks have moved to another replica while they ran here, for metrics. */
  moved(): number {
    return this.#moved
  }

  /** @throws A2AError `unavailable` where nothing more may begin: while stopping, or while other replicas count this one as dead. */
  assertServing(): void {
    if (this.closed) throw shuttingDown()
    if (!this.mayBegin()) throw notRegistered()
  }

  /** For new tasks only: messages to existing ones pass. @throws A2AError `unavailable` where none may begin now. */
  assertAdmitting(): void {
    const reason = this.#overload?.reason()
    if (reason !== undefined) throw overloaded(reason)
  }

  /** Whether work may begin here: a process that may have lost its tasks begins nothing. */
  mayBegin(): boolean {
    return this.store.feed?.mayBegin() ?? true
  }

  /** Resolves when that is known again. */
  whenMayBegin(): Promise<void> | undefined {
    return this.store.feed?.settled()
  }

  /** A task as it is stored. @throws A2AError `taskNotFound`. */
  async readTask(id: string, scope: Scope): Promise<Task> {
    return currentTask(this.store, await this.mustGet(id, scope))
  }

  /** The same with its version. */
  async readVersion(id: string): Promise<VersionedTask> {
    const stored = await this.mustGet(id)
    return { task: await currentTask(this.store, stored), version: stored.version }
  }

  async mustGet(id: string, scope?: Scope): Promise<StoredTask> {
    const stored = await this.store.get(id, scope)
    if (!stored) throw taskNotFound(id)
    return stored
  }

  /** Called by a log with each batch once it is stored; `registered` means that a webhook was registered with it. */
  onStored(taskId: string, records: readonly LogRecord[], registered: boolean): void {
    if (this.suspects.watching) reportProgress(this.suspects, taskId, records)
    this.hub.publish(taskId, records)
    this.#webhooks?.published(taskId, records, registered)
  }

  /**
   * Called by a log when the store rejects a batch: nothing more will come of this log. `never` means that the task itself
   * is the cause, so that trying again is of no use.
   */
  onRefused(log: TaskLog, error: A2AError, never: boolean): void {
    const { id: taskId } = log
    const run = this.tasks.get(taskId)
    // The task may have been loaded again meanwhile: that run's log was not rejected.
    const isCurrent = run?.log === log
    if (error instanceof TaskMoved) {
      this.#moved++
      this.hub.follow(taskId)
    } else if (isCurrent || !run) this.hub.fail(taskId, error)
    if (isCurrent) run.interrupt(error)
    const isStranded = (isCurrent || !run) && !(error instanceof KeyTaken)
    if (isStranded) this.stranded.add(taskId, never ? error : undefined)
  }

  /** Answers a message whose turn was interrupted: by its task where that is stored. */
  answerInterrupted(queued: QueuedMessage, log: TaskLog, reason: A2AError): void {
    answerInterrupted(this, queued, log, reason)
  }

  /** Resumes what was left to do when a process ended. */
  async recover(): Promise<Recovery> {
    // Tasks that a closing process has just handed over are for others.
    if (this.closed) return { resumed: 0, failed: 0 }
    this.suspects.gather()
    try {
      this.#recovering = recoverAll(this)
      const { resumed, failed } = await this.#recovering
      return { resumed, failed }
    } finally {
      this.suspects.ready()
    }
  }

  /** Takes in what other replicas have forwarded to a task that runs here. */
  receive(taskId: string): void {
    this.replicas
      .receive(taskId)
      .catch((err) => this.logger.warn({ taskId, err }, 'An inbox cannot be read'))
  }

  /** Resumes what the store says runs here and does not, because an answer or a notification of the store was lost. */
  async reconcile(): Promise<void> {
    const held = (await this.store.feed?.held(this.agentId)) ?? []
    for (const { id, mail } of held) {
      if (this.closed) return
      if (!this.tasks.has(id)) await this.tasks.resume(id)
      else if (mail > 0) this.receive(id)
    }
  }

  /** Releases all tasks at once: this process has lost them, and the replica that claims them continues. */
  releaseAll(): void {
    for (const run of [...this.tasks.values()]) {
      const reason = new TaskMoved(run.log.id)
      if (run.log.leave(reason)) run.interrupt(reason)
    }
  }

  /** Lets running turns end until the deadline, then interrupts them: a restart resumes them. May be called twice. */
  async close(deadlineMs: number): Promise<void> {
    if (this.closed) return
    this.closed = true
    this.stranded.close()
    this.suspects.close()
    await this.#recovering?.catch(() => {}) // its caller gets the error
    // A task that another replica can continue does not wait here for its end.
    const { feed } = this.store
    const isHandedOver = feed !== undefined && this.definition.agent.resumable === true
    const hasWork = this.live() > 0
    await this.tasks.close(isHandedOver ? 0 : deadlineMs, shuttingDown())
    // Agents that cannot resume end their turns here, and have nothing to hand over.
    if (isHandedOver && hasWork) await this.#handOver(feed)
    await this.commits.idle()
  }

  /** Where this cannot be written, others find out when this process leaves. */
  async #handOver(feed: Feed): Promise<void> {
    const { agentId: agent } = this
    await feed
      .release(agent)
      .catch((err) => this.logger.warn({ agent, err }, 'Tasks cannot be handed over yet'))
  }
}

async function cancelHere(run: TaskRun): Promise<Task> {
  if (!isTerminal(run.log.state)) return run.cancel()
  await run.log.committed()
  return (await run.log.snapshot()).task
}

function toDefinition(agent: Agent, build = ''): AgentDefinition {
  return { agent, build, code: agent.codeDigests }
}

/** A turn that has finished a step, or is over, is less of a suspect. */
function reportProgress(suspects: Suspects, taskId: string, records: readonly LogRecord[]): void {
  if (records.some(isTurnEnd)) suspects.progressed(taskId, true)
  else if (records.some(({ kind }) => kind === 'step')) suspects.progressed(taskId, false)
}

/** The clock of the store that replicas share, so that what one writes is not older than what it read of another. */
function shifted(clock: Clock, feed: Feed): Clock {
  return { ...clock, now: () => clock.now() + feed.offsetMs }
}
