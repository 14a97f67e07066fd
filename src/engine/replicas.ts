import type { EventStream } from '../protocol/operations.ts'
import { principalOf } from '../protocol/operations.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Message, StreamResponse, Task } from '../protocol/types.ts'
import { wait } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { Logger } from '../shared/log.ts'
import { currentTask } from '../store/documents.ts'
import type {
  AgentBuild,
  Feed,
  FeedListener,
  InboxEntry,
  InboxItem,
  TurnRequest,
} from '../store/feed.ts'
import { weighMessage, weighRequest } from '../store/size-limits.ts'
import type { LogRecord, Scope, StoredTask } from '../store/store.ts'
import type { Hub } from '../streams/hub.ts'
import type { Engine } from './engine.ts'
import { shuttingDown, tooManyWait } from './errors.ts'
import {
  isTaskEnd,
  keyedEntry,
  type SendResult,
  TurnAnswer,
  TurnProgress,
} from './queued-messages.ts'
import type { Recovery } from './recover.ts'
import type { Suspects } from './suspects.ts'
import type { VersionedTask } from './task-log.ts'
import { TaskRun } from './task-run.ts'
import { watchSend } from './watch.ts'

/** A message and what its turn needs to know of its request. */
interface ForwardedMessage {
  readonly message: Message
  readonly turnRequest: TurnRequest
}

/** The turn that is followed, by its message. */
interface FollowedTurn {
  readonly taskId: string
  readonly contextId: string
  readonly scope: Scope
  readonly messageId: string
  readonly after: number
  /** The task as it was before the message, where its stream begins with that. */
  readonly before?: VersionedTask
}

const lookAgainMs = 50

/**
 * What an engine sends to and receives from the replicas that share its store: messages, cancels and changes for a task
 * that another replica runs. They are stored before they are acknowledged, and what comes of them is read from the
 * task's log. Unused with a store of a single process.
 *
 * Each `forward…` resolves to undefined where no replica runs the task any more: then it is ours to continue.
 */
export class Replicas {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Forwards a message to the replica that runs its task. */
  async forward(task: StoredTask, sent: ForwardedMessage): Promise<SendResult | undefined> {
    const { message, turnRequest } = sent
    const { id: taskId, contextId, scope } = task.head
    const before = { task: await currentTask(this.#engine.store, task), version: task.version }
    const key = keyedEntry(turnRequest) ?? newId()
    const request = { ...turnRequest, forwarded: key }
    if (!(await this.#store(taskId, { kind: 'message', key, message, request }))) return undefined
    const { messageId } = message
    return this.follow({ taskId, contextId, scope, messageId, after: task.version, before })
  }

  /** Forwards a cancel. Resolves when the task has ended, by this or otherwise. */
  async forwardCancel({ head, version }: StoredTask): Promise<Task | undefined> {
    const { id, scope, state } = head
    // Its agent may still be notified of the end.
    if (isTerminal(state)) return this.#engine.get(id, scope)
    if (!(await this.#store(id, { kind: 'cancel', key: newId() }))) return undefined
    await this.readUntil(id, version, isTaskEnd)
    const task = await this.#engine.get(id, scope)
    if (!isTerminal(task.status.state)) throw shuttingDown()
    return task
  }

  /** Forwards changes. Resolves when they have been taken in or rejected. */
  async forwardChanges(
    { head: { id, scope } }: StoredTask,
    events: readonly StreamResponse[],
  ): Promise<Task | undefined> {
    const { store, clock } = this.#engine
    const key = newId()
    if (!(await this.#store(id, { kind: 'amend', key, events }))) return undefined
    // A change that does not fit any more is rejected without a record in the log.
    for (;;) {
      const inbox = await store.feed?.inbox(id)
      if (!inbox?.some(({ entry }) => entry.key === key)) return this.#engine.get(id, scope)
      await wait(clock, lookAgainMs)
    }
  }

  /** What comes of a message that is in a task's log after this place, or will be. */
  follow(followed: FollowedTurn): SendResult {
    return new FollowedResult(this.#engine, followed)
  }

  /** Reads the log after a version until a record is enough, or says why none ever is. */
  async readUntil(
    taskId: string,
    after: number,
    isEnough: (record: LogRecord) => boolean | Error,
  ): Promise<void> {
    const { hub } = this.#engine
    const show = (): undefined => undefined
    const watcher = hub.watch(taskId, { after, replay: true, show, isLast: isEnough })
    hub.follow(taskId)
    for await (const _ of watcher);
  }

  /** Stores an entry for the replica that runs the task; false where none does any more. */
  async #store(taskId: string, entry: InboxEntry): Promise<boolean> {
    const { store, maxMailbox } = this.#engine
    const most = entry.kind === 'message' ? maxMailbox : Number.MAX_SAFE_INTEGER
    const result = await store.feed?.forward(taskId, entry, most)
    if (result === 'full') throw tooManyWait(taskId)
    return result === 'stored'
  }

  /** Takes in what other replicas have forwarded to a task that runs here. */
  async receive(taskId: string): Promise<void> {
    const { store, tasks } = this.#engine
    const inbox = (await store.feed?.inbox(taskId)) ?? []
    if (inbox.length === 0) return
    const run = await tasks.find(taskId)
    // A task that another replica runs by now is received there.
    if (!(run instanceof TaskRun)) return
    try {
      // What comes while the process stops is taken in by the replica that continues the task.
      if (!this.#engine.closed) this.take(run, inbox)
    } finally {
      tasks.release(run)
    }
  }

  /** Takes entries into a live task: each with the records that answer it. What the task cannot take is dismissed. */
  take(run: TaskRun, inbox: readonly InboxItem[]): void {
    const { id: taskId } = run.log
    const unwanted = inbox.filter(({ number, entry }) => !isTaken(run, number, entry))
    if (unwanted.length === 0) return
    const numbers = unwanted.map(({ number }) => number)
    const { store, logger, callbacks } = this.#engine
    const isCalled = unwanted.some(({ entry }) => entry.kind === 'call')
    // Only an end that is stored makes them unwanted.
    run.log.whenCommitted((refusal) => {
      if (refusal) return
      store.feed
        ?.dismiss(taskId, numbers)
        // A report that arrived before the entry was deleted is in no entry of its own.
        .then(() => isCalled && callbacks.called(taskId))
        .catch((err) => logger.warn({ taskId, err }, notDismissed))
    })
  }
}

const notDismissed = 'What a task no longer takes stays in its inbox for now'

/** Whether an entry is taken in, now or before; one that the task cannot take any more is not. */
function isTaken(run: TaskRun, number: number, entry: InboxEntry): boolean {
  if (run.log.hasTaken(number)) return true
  if (entry.kind === 'call') {
    run.engine.callbacks.called(run.log.id)
    return false // there is nothing to record
  }
  // The same may have come by another entry, where the answer to the first was lost.
  if (run.hasForwarded(entry.key)) return false
  if (isTerminal(run.log.state)) return false
  if (entry.kind === 'message') return isMessageTaken(run, number, entry)
  if (entry.kind === 'cancel') {
    run.log.take(number)
    void run.cancel().catch(() => {}) // a store that rejects it has reported that
    return true
  }
  try {
    run.log.take(number)
    run.amend(entry.events, entry.key)
    return true
  } catch {
    // It does not fit what the task has become: the sender finds the task as it is.
    return false
  }
}

function isMessageTaken(
  run: TaskRun,
  number: number,
  { message, request }: InboxEntry & { kind: 'message' },
): boolean {
  const refusal = run.log.refusalOf({ kind: 'message', turn: 0, message, request })
  if (refusal) {
    run.outgrow(refusal)
    return false
  }
  run.log.take(number)
  run.enqueue(message, request, {
    auth: undefined,
    principal: principalOf({ auth: request }),
    bytes: weighMessage(message) + weighRequest(request),
  })
  return true
}

/** What comes of a message whose turn another replica runs, read from the log. */
class FollowedResult implements SendResult {
  readonly #engine: Engine
  readonly #followed: FollowedTurn
  #answer: TurnAnswer | undefined

  constructor(engine: Engine, followed: FollowedTurn) {
    this.#engine = engine
    this.#followed = followed
  }

  get answer(): TurnAnswer {
    if (!this.#answer) {
      this.#answer = new TurnAnswer()
      void this.#read(this.#answer)
    }
    return this.#answer
  }

  task(): Promise<Task> {
    return this.#engine.get(this.#followed.taskId, this.#followed.scope)
  }

  events({ trace }: { readonly trace?: boolean } = {}): EventStream {
    const { taskId, contextId, messageId, before } = this.#followed
    const turn = new TurnProgress(messageId)
    const { hub } = this.#engine
    const { answer } = this
    const events = watchSend(hub, { taskId, contextId, turn, answer, before, replay: true, trace })
    hub.follow(taskId)
    return events
  }

  async #read(answer: TurnAnswer): Promise<void> {
    const { taskId, messageId, after } = this.#followed
    const turn = new TurnProgress(messageId)
    try {
      await this.#engine.replicas.readUntil(taskId, after, (record) => turn.isAnswer(record))
      answer.settle({ task: await this.task() })
    } catch (thrown) {
      answer.fail(thrown)
    }
  }
}

/** An engine among the replicas. */
export interface ReplicaEngine extends AgentBuild {
  readonly engine: Engine
  /** Whether new tasks of its agent are claimed here; one that is no longer served ends those it has. */
  readonly served: boolean
}

/** What a replica is made of. */
interface ClusterOptions {
  /** Absent where one process has the store to itself: then all unfinished tasks are its own. */
  readonly feed: Feed | undefined
  readonly hub: Hub
  readonly suspects: Suspects
  readonly clock: Clock
  readonly logger: Logger
  engines(): readonly ReplicaEngine[]
  /** The webhooks, where there are any. */
  readonly webhooks?: Deliveries | undefined
}

/** What webhooks learn from other replicas. */
interface Deliveries {
  /** Claims deliveries that no replica makes. */
  start(): Promise<void>
  /** Another replica has found something to deliver of a task. */
  heard(taskId: string): void
}

/** Interval of the check for missed notifications. */
const reconcileMs = 5_000

/** This process as one of the replicas that share a store: passes what the others announce to the part it concerns. */
export class Cluster {
  readonly #options: ClusterOptions
  #claiming: Promise<Recovery> | undefined
  #again = false
  #cancelReconcile: (() => void) | undefined
  #left: Promise<void> | undefined
  #claimed = 0

  constructor(options: ClusterOptions) {
    this.#options = options
  }

  /** Becomes a replica. @throws A2AError `unavailable` where the store cannot be reached. */
  async join(): Promise<void> {
    const { feed } = this.#options
    if (!feed) return
    await feed.join(this.#served(), this.#createListener())
    this.#reconcileLater()
  }

  /** Announces that other agents are served from now on. */
  serve(): void {
    this.#options.feed?.serve(this.#served())
  }

  /** Claims and resumes what no live replica has. */
  claim(): Promise<Recovery> {
    this.#again = true
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = undefined
    })
    return this.#claiming
  }

  /** How many tasks were claimed so far, for metrics. */
  claimed(): number {
    return this.#claimed
  }

  /** Hands everything over to the others. May be called twice. */
  leave(): Promise<void> {
    this.#left ??= this.#options.feed?.leave() ?? Promise.resolve()
    this.#cancelReconcile?.()
    return this.#left
  }

  #served(): readonly AgentBuild[] {
    const served = this.#options.engines().filter((one) => one.served)
    return served.map(({ agent, build }) => ({ agent, build }))
  }

  /** Announcements that come meanwhile cause one more round, not one each. */
  async #claimAll(): Promise<Recovery> {
    let sum = { resumed: 0, failed: 0 }
    do {
      this.#again = false
      sum = add(sum, await this.#claimOnce())
    } while (this.#again && !this.#left)
    return sum
  }

  async #claimOnce(): Promise<Recovery> {
    const { suspects, webhooks } = this.#options
    // The tasks that ran in the last death are known only when those of all agents are.
    suspects.gather()
    const served = this.#options.engines().filter((one) => one.served)
    const counts = await Promise.all(served.map(({ engine }) => engine.recover())).finally(() =>
      suspects.ready(),
    )
    const sum = counts.reduce(add, { resumed: 0, failed: 0 })
    this.#claimed += sum.resumed + sum.failed
    await webhooks?.start()
    return sum
  }

  #claimSoon(): void {
    if (this.#left) return
    this.claim().catch((err) =>
      this.#options.logger.warn({ err }, 'What another replica left cannot be taken on'),
    )
  }

  #reconcileLater(): void {
    this.#cancelReconcile = this.#options.clock.after(reconcileMs, () => void this.#reconcile())
  }

  async #reconcile(): Promise<void> {
    try {
      for (const { engine } of this.#options.engines()) await engine.reconcile()
      await this.#options.webhooks?.start()
    } catch (err) {
      this.#options.logger.warn({ err }, 'It cannot be told which tasks run here')
    }
    if (!this.#left) this.#reconcileLater()
  }

  #createListener(): FeedListener {
    const { hub, logger, webhooks, engines, feed } = this.#options
    return {
      grown: (taskId, version) => hub.grown(taskId, version),
      mail: (taskId, agent) =>
        engines()
          .find((one) => one.agent === agent)
          ?.engine.receive(taskId),
      orphans: () => this.#claimSoon(),
      deliveries: (taskId) => webhooks?.heard(taskId),
      lost(reason) {
        logger.warn({ reason }, 'This replica counts as dead: its tasks go on elsewhere')
        for (const { engine } of engines()) engine.releaseAll()
      },
      joined: () => {
        // What was begun or loaded in between was written under no number, and may belong to another replica.
        for (const { engine } of engines()) engine.releaseAll()
        logger.info({ replica: feed?.replica }, 'This replica has registered anew')
        this.#claimSoon()
      },
    }
  }
}

function add(a: Recovery, b: Recovery): Recovery {
  return { resumed: a.resumed + b.resumed, failed: a.failed + b.failed }
}
