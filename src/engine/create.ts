import type { Agent } from '../agents/agent.ts'
import { type AuthContext, anonymous, type Call, type EventStream } from '../protocol/call.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { SendMessageRequest, Task } from '../protocol/types.ts'
import { within } from '../shared/async.ts'
import { type Clock, createTimestamps, systemClock } from '../shared/clock.ts'
import { type Logger, silent } from '../shared/log.ts'
import { currentTask } from '../store/current.ts'
import type { Feed } from '../store/feed.ts'
import { toTaskPage } from '../store/list.ts'
import type { LogRecord, Scope, StoredTask, TaskListFilter, TaskPage } from '../store/store.ts'
import { type CallOff, createCallOff } from './call-off.ts'
import { conversationOf } from './context.ts'
import type { Engine, EngineOptions, SubscriptionStart } from './engine.ts'
import { KeyTaken, notRegistered, shuttingDown, TaskMoved, taskNotFound } from './faults.ts'
import { createForwarding, type Forwarding } from './forward.ts'
import { defaultTaskLimits } from './growth.ts'
import { isTurnEnd } from './leftover.ts'
import { loadTask } from './load.ts'
import type { TaskLog } from './log.ts'
import type { LogHost } from './log-host.ts'
import type { QueuedMessage, SendResult } from './messages.ts'
import { createReceiver, type Receiver } from './receive.ts'
import {
  createStranded,
  goOn,
  type Recovery,
  recoverAll,
  type Stranded,
  type TakenUp,
} from './recover.ts'
import type { TaskRun } from './run.ts'
import type { RunHost } from './run-host.ts'
import { closeRuns, createRuns, type Runs } from './runs.ts'
import { createSend, type Send } from './send.ts'
import { createSuspects, type Suspects } from './suspects.ts'
import { createTasks } from './tasks.ts'
import { watchTask } from './watch.ts'

/** Makes the engine of one agent. */
export function createEngine(options: EngineOptions): Engine {
  return new AgentEngine(options)
}

class AgentEngine implements Engine {
  readonly #options: EngineOptions
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #suspects: Suspects
  readonly #stranded: Stranded
  readonly #runs: Runs
  readonly #receiver: Receiver
  readonly #forwarding: Forwarding
  readonly #send: Send
  readonly #callOff: CallOff
  readonly #timestamp: () => string
  /** The scope of callers without a name; made once, since it is asked for at every request. */
  readonly #everyone: Scope
  #host: RunHost
  #closed = false
  #moved = 0
  #recovering: Promise<Recovery> | undefined

  constructor(options: EngineOptions) {
    const { store, hub, queue, agentId, clock = systemClock, logger = silent } = options
    const { maxMailbox = 16 } = options
    this.#options = options
    this.#clock = clock
    this.#logger = logger
    this.#timestamp = createTimestamps(store.feed ? shifted(clock, store.feed) : clock)
    this.#everyone = { agent: agentId, tenant: '', owner: '' }
    this.#suspects = options.suspects ?? createSuspects(clock)
    this.#stranded = createStranded({ store, clock, takeUp: (id) => this.#runs.takeUp(id) })
    this.#host = this.#createHost(options.agent, options.build ?? '')
    const isClosed = (): boolean => this.#closed
    const { feed } = store
    /** A process that no other knows to live takes nothing in. */
    const mustServe = (): void => {
      if (this.#closed) throw shuttingDown()
      if (feed && !feed.mayBegin()) throw notRegistered()
    }
    this.#runs = createRuns({
      store,
      isClosed,
      logs: this.#createLogHost(),
      host: () => this.#host,
      forgot: (id) => hub.follow(id),
      goOn: (run, records) => this.#goOn(run, records),
      received: (run, mail) => this.#receiver.take(run, mail),
    })
    const runs = this.#runs
    const get: Engine['get'] = (id, scope) => this.get(id, scope)
    this.#receiver = createReceiver({ store, runs, logger, isClosed })
    this.#forwarding = createForwarding({ store, hub, maxMailbox, clock, get })
    const { committer } = options
    const forwarding = this.#forwarding
    this.#send = createSend({ store, hub, queue, runs, committer, forwarding, get, mustServe })
    this.#callOff = createCallOff({ runs, forwarding })
  }

  send(request: SendMessageRequest, call: Call): SendResult | Promise<SendResult> {
    return this.#send.take(request, call, this.scopeOf(request.tenant, call.auth))
  }

  async get(id: string, scope: Scope): Promise<Task> {
    const run = this.#runs.live(id, scope)
    return run ? (await run.log.snapshot()).task : this.#storedTask(id, scope)
  }

  async list(filter: TaskListFilter): Promise<TaskPage> {
    const { store } = this.#options
    const page = await store.list(filter)
    const current = async (stored: StoredTask, run: TaskRun | undefined): Promise<StoredTask> => {
      const isAtHand = run && !run.log.unloaded
      const task = isAtHand ? (await run.log.snapshot()).task : await currentTask(store, stored)
      return { ...stored, task }
    }
    // What runs may have grown beyond the page since it was stored.
    const grown = await toTaskPage(page.tasks, { ...filter, total: page.total }, (stored) => {
      const run = this.#runs.live(stored.head.id, filter.scope)
      return run || stored.taskVersion !== stored.version ? current(stored, run) : stored
    })
    return { ...page, ...grown }
  }

  cancel(id: string, scope: Scope): Promise<Task> {
    return this.#callOff(id, scope)
  }

  async subscribe(id: string, scope: Scope, options: SubscriptionStart): Promise<EventStream> {
    const { store, hub } = this.#options
    const live = (): TaskRun | undefined => this.#runs.live(id, scope)
    return watchTask({ store, hub, id, scope, live, ...options })
  }

  async trace(id: string): Promise<readonly LogRecord[]> {
    const records = await this.#options.store.records(id, 0)
    return records.filter((record) => record.kind === 'trace')
  }

  scopeOf(tenant: string | undefined, { userId }: AuthContext = anonymous): Scope {
    if (!tenant && userId === '') return this.#everyone
    return { agent: this.#options.agentId, tenant: tenant ?? '', owner: userId }
  }

  tasks(scope: Scope): FullTaskStore {
    return createTasks({
      store: this.#options.store,
      clock: this.#clock,
      scope,
      runs: this.#runs,
      forwarding: this.#forwarding,
      timestamp: this.#timestamp,
      get: (id) => this.get(id, scope),
    })
  }

  setAgent(agent: Agent, build = ''): void {
    this.#host = this.#createHost(agent, build)
  }

  async recover(): Promise<Recovery> {
    // What it has just handed over is for others.
    if (this.#closed) return { resumed: 0, failed: 0 }
    const { store, agentId } = this.#options
    this.#suspects.gather()
    try {
      this.#recovering = recoverAll({
        store,
        agent: agentId,
        build: this.#host.build,
        logger: this.#logger,
        isClosed: () => this.#closed,
        takeUp: (id) => this.#runs.takeUp(id),
      })
      const { resumed, failed } = await this.#recovering
      return { resumed, failed }
    } finally {
      this.#suspects.ready()
    }
  }

  receive(taskId: string): void {
    this.#receiver
      .receive(taskId)
      .catch((err) => this.#logger.warn({ taskId, err }, 'An inbox cannot be read'))
  }

  async reconcile(): Promise<void> {
    const held = (await this.#options.store.feed?.held(this.#options.agentId)) ?? []
    for (const { id, mail } of held) {
      if (this.#closed) return
      if (!this.#runs.all.has(id)) await this.#runs.takeUp(id)
      else if (mail > 0) this.receive(id)
    }
  }

  letGo(): void {
    for (const run of [...this.#runs.all.values()]) {
      const reason = new TaskMoved(run.log.id)
      if (run.log.letGo(reason)) run.interrupt(reason)
    }
  }

  moved(): number {
    return this.#moved
  }

  live(): number {
    return this.#runs.count()
  }

  async close(deadlineMs: number): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#stranded.close()
    this.#suspects.close()
    await this.#recovering?.catch(() => {}) // who began it hears of that
    // What another replica can go on with does not wait here for its end.
    const { feed } = this.#options.store
    const isHandedOver = feed !== undefined && this.#host.agent.resumable === true
    const deadline = isHandedOver ? 0 : deadlineMs
    const hasWork = this.live() > 0
    await closeRuns(this.#runs, {
      deadlineMs: deadline,
      clock: this.#clock,
      reason: shuttingDown(),
    })
    // Agents whose turns must end here keep nobody waiting.
    if (isHandedOver && hasWork) await this.#handOver(feed)
    await this.#options.committer.idle()
  }

  /** Where that cannot be written, others find out when this process leaves. */
  async #handOver(feed: Feed): Promise<void> {
    const { agentId: agent } = this.#options
    await feed
      .release(agent)
      .catch((err) => this.#logger.warn({ agent, err }, 'Tasks cannot be handed over yet'))
  }

  #createLogHost(): LogHost {
    const { store, committer, hub, webhooks, limits = defaultTaskLimits, live } = this.#options
    return {
      committer,
      limits,
      live,
      stored: async (taskId) => {
        const stored = await this.#mustGet(taskId)
        return { task: await currentTask(store, stored), version: stored.version }
      },
      outgrown: (taskId, reason) => this.#runs.all.get(taskId)?.outgrow(reason),
      published: (taskId, records, webhook) => {
        if (this.#suspects.watching) tellProgress(this.#suspects, taskId, records)
        hub.publish(taskId, records)
        webhooks?.published(taskId, records, webhook)
      },
      refused: (log, error, never) => {
        const { id: taskId } = log
        const run = this.#runs.all.get(taskId)
        // The task may have come back meanwhile, and run anew: that is not what was refused.
        const isCurrent = run?.log === log
        if (error instanceof TaskMoved) {
          this.#moved++
          hub.follow(taskId)
        } else if (isCurrent || !run) hub.fail(taskId, error)
        if (isCurrent) run.interrupt(error)
        const isStranded = (isCurrent || !run) && !(error instanceof KeyTaken)
        if (isStranded) this.#stranded.add(taskId, never ? error : undefined)
      },
    }
  }

  #createHost(agent: Agent, build: string): RunHost {
    const { store, queue, maxMailbox = 16, limits = defaultTaskLimits } = this.#options
    const { feed } = store
    return {
      agent,
      isShared: feed !== undefined,
      mayBegin: () => feed?.mayBegin() ?? true,
      begins: () => feed?.settled(),
      maxContextBytes: limits.maxContextBytes,
      build,
      queue,
      maxMailbox,
      logger: this.#logger,
      timestamp: this.#timestamp,
      conversation: ({ scope, contextId }, limit) =>
        conversationOf(store, { scope, contextId, limit }),
      contextValues: ({ scope, contextId }) => store.contextValues(scope, contextId),
      tasks: ({ scope }) => this.tasks(scope),
      unanswered: (queued, log, reason) => this.#unanswered(queued, log, reason),
      within: (ms, work) => within(this.#clock, ms, [work]),
      load: async ({ id }) => loadTask(store, await this.#mustGet(id)),
      waits: (log) => this.#runs.settle(log),
      idle: (log) => this.#runs.settle(log),
    }
  }

  /** Goes on with a task that has work left and is not live. */
  #goOn(run: TaskRun, records: readonly LogRecord[]): TakenUp {
    const { resumable = false } = this.#host.agent
    const { died, refusal } = this.#stranded.leave(run.log.id)
    const around = { logger: this.#logger, suspects: this.#suspects }
    return goOn(run, records, { resumable, died, refusal, ...around })
  }

  /**
   * Whose message is stored hears how its task stands, which goes on; who hears an error would send it again. Where
   * another process has the task, the message follows it there.
   */
  #unanswered(queued: QueuedMessage, log: TaskLog, reason: A2AError): void {
    const { seq, answer } = queued
    if (reason instanceof TaskMoved && !this.#closed) {
      // What came from a log or an inbox is still there, for whoever goes on with the task.
      const isKept = queued.recovered || queued.request.forwarded !== undefined
      if (isKept && !answer.awaited) return
      queued.elsewhere ??= this.#again(queued, log)
      queued.elsewhere
        .then((sent) => sent.answer.wait())
        .then(
          (response) => answer.settle(response),
          (error) => answer.fail(error),
        )
    } else if (seq === 0 || seq > log.version) answer.fail(reason)
    else
      this.#storedTask(log.id, log.scope).then(
        (task) => answer.settle({ task }),
        () => answer.fail(reason),
      )
  }

  /** What is under way decides whether the message is stored: then it is followed, else sent once more. */
  async #again(queued: QueuedMessage, log: TaskLog): Promise<SendResult> {
    await log.committed().catch(() => {}) // a refusal is what we wait for
    return this.#send.again(queued, log)
  }

  async #storedTask(id: string, scope: Scope): Promise<Task> {
    return currentTask(this.#options.store, await this.#mustGet(id, scope))
  }

  async #mustGet(id: string, scope?: Scope): Promise<StoredTask> {
    const stored = await this.#options.store.get(id, scope)
    if (!stored) throw taskNotFound(id)
    return stored
  }
}

/** A turn that has finished a step, or is over, is less of a suspect. */
function tellProgress(suspects: Suspects, taskId: string, records: readonly LogRecord[]): void {
  if (records.some(isTurnEnd)) suspects.gotOn(taskId, true)
  else if (records.some(({ kind }) => kind === 'step')) suspects.gotOn(taskId, false)
}

/** The time of the store that replicas share, so that what one writes is not older than what it read of another. */
function shifted(clock: Clock, feed: Feed): Clock {
  return { ...clock, now: () => clock.now() + feed.offsetMs }
}
