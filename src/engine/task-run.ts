import { A2AError } from '../protocol/errors.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type {
  Json,
  Message,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../protocol/types.ts'
import { soon, within } from '../shared/async.ts'
import { toReadError } from '../store/documents.ts'
import type { TurnRequest } from '../store/feed.ts'
import type { Deaths } from '../store/store.ts'
import type { AgentDefinition, Engine } from './engine.ts'
import { failureMessage, failureNote, TaskMoved, tooManyWait } from './errors.ts'
import {
  addressed,
  contentOf,
  entryOf,
  type QueuedMessage,
  type RunMemory,
  releaseContent,
  restoreContent,
  type SentBy,
  TurnAnswer,
  taskBefore,
  withStatusBefore,
} from './queued-messages.ts'
import type { TaskLog } from './task-log.ts'
import { ActiveTurn, executeTurn } from './turn.ts'
import type { Ticket } from './turn-queue.ts'

/**
 * A live task: its queued messages, the one turn that runs, and what is written of both. It outlives the request that
 * began it. Before the first event that is not a Message there is no task, and nothing is stored; what needs a log opens
 * the task first. A class, not closures: one is made per request.
 */
export class TaskRun {
  readonly log: TaskLog
  readonly engine: Engine
  /** The agent as it was when the run was made: reloading the configuration does not change a run under way. */
  readonly definition: AgentDefinition
  /** The message whose turn runs or waits for its slot. */
  current: QueuedMessage | undefined
  /** The task before that message; undefined where the message opens it. */
  before: Task | undefined
  /** The messages that wait behind it. */
  #waiting: QueuedMessage[] = []
  /** How many messages the task has taken in. */
  #turns: number
  /** The turn's place in the queue, later its slot. */
  slot: Ticket | undefined
  /** Whether the turn is held back, as one that may kill the process is. */
  held = false
  #turn: ActiveTurn | undefined
  /** Whether that turn has begun. */
  #isRunning = false
  /** Resolves when the agent has nothing more to say in the turn, even if the turn was cancelled. */
  #work: Promise<void> | undefined
  /** Resolves when the agent was notified that the task was ended; undefined where it need not be. */
  notifying: Promise<void> | undefined
  /** What the agent keeps with the task, or with the one that may still come to be. */
  #saved: Map<string, Json> | undefined
  /** The keys of the forwarded messages and changes that the task has taken. */
  #forwarded: Set<string> | undefined
  /** The record that says that the task waits for a slot instead of its client; 0 where there is none. */
  #submittedAt = 0
  /** Resolves when what was unloaded is in memory again. */
  #reading: Promise<void> | undefined

  constructor(engine: Engine, log: TaskLog, memory?: RunMemory) {
    this.engine = engine
    this.log = log
    this.definition = engine.definition
    this.#turns = memory?.turns ?? 0
    this.#saved = memory?.saved
    this.#forwarded = memory?.forwarded
  }

  /** Whether a turn runs or waits for a slot, or the agent is yet to be notified that the task was ended. */
  get busy(): boolean {
    return this.current !== undefined || this.notifying !== undefined
  }
  get principal(): string {
    return this.current?.principal ?? ''
  }
  get contextId(): string {
    return this.log.contextId
  }
  /** Whether the turn waits for a slot. */
  get queued(): boolean {
    return this.held || (this.slot?.waiting ?? false)
  }
  /** The last message taken in, while it has no answer. */
  get latest(): QueuedMessage | undefined {
    return this.#waiting.at(-1) ?? this.current
  }
  /** Whether the turn of this message has begun. */
  hasBegun({ number }: QueuedMessage): boolean {
    return this.#turn !== undefined && this.#turn.number >= number
  }
  /** Whether a message or a change was forwarded under this key before. */
  hasForwarded(key: string): boolean {
    return this.#forwarded?.has(key) ?? false
  }
  /** Whether the turn still is the run's: it has not been cancelled, interrupted or stopped. */
  isCurrent(turn: ActiveTurn): boolean {
    return this.#turn === turn
  }
  /** A value that the agent saved with the task. */
  load(key: string): Json | undefined {
    return this.#saved?.get(key)
  }
  keys(): Iterable<string> {
    return this.#saved?.keys() ?? []
  }
  save(key: string, value: Json): void {
    this.#saved ??= new Map()
    this.#saved.set(key, value)
  }

  /** @throws A2AError `rateLimited` when too many messages wait. */
  mustHaveRoom(): void {
    if (this.#waiting.length >= this.engine.maxMailbox) throw tooManyWait(this.log.id)
  }

  /** Takes in a message: it begins a turn, or waits for the running one. */
  enqueue(sent: Message, request: TurnRequest, sender: SentBy): QueuedMessage {
    const { id: taskId, contextId } = this.log
    const message = addressed(sent, { taskId, contextId })
    const number = ++this.#turns
    const entry = entryOf(request)
    if (entry !== undefined) this.#addForwarded(entry)
    const queued: QueuedMessage = {
      number,
      attempt: 1,
      message,
      request,
      caller: sender.auth,
      principal: sender.principal,
      bytes: sender.bytes,
      answer: new TurnAnswer(),
      seq: 0,
    }
    this.log.busy = true
    if (this.log.exists) {
      this.log.append({ kind: 'message', turn: number, message, request })
      queued.seq = this.log.seq
    }
    this.engine.queue.hold(queued)
    this.#waiting.push(queued)
    if (!this.current) this.#next(true)
    else if (this.queued) this.#unloadWhenStored()
    return queued
  }

  /** Takes in a message that an earlier process took in; one that is `held` gets its turn when it is released. */
  requeue(queued: QueuedMessage, held: boolean): void {
    this.engine.queue.hold(queued)
    this.#waiting.push(queued)
    if (this.current) return
    this.held = held
    this.#next()
    if (held) this.#unloadWhenStored()
  }

  /** Gives the next message its turn; where there is none, the task is idle. */
  #next(isNew = false): void {
    const queued = this.#waiting.shift()
    this.current = queued
    if (!queued) {
      this.engine.tasks.settle(this.log)
      return
    }
    this.#submittedAt = 0
    this.before = taskBefore(this.log, queued, this.#waiting)
    if (!this.held) this.#enterQueue(isNew)
  }

  #enterQueue(isNew: boolean): void {
    const { log, engine } = this
    this.slot = isNew ? engine.queue.enter(this) : engine.queue.readmit(this)
    if (!this.slot.waiting) return
    // A task that is unloaded is not read only to record that it waits.
    if (isInterrupted(log.state) && !log.unloaded) {
      this.status('TASK_STATE_SUBMITTED')
      this.#submittedAt = log.seq
    }
    if (log.exists) this.#unloadWhenStored()
  }

  /** Called by the queue when there is a slot for the turn. */
  start(ticket: Ticket): void {
    this.slot = ticket
    const queued = this.current
    if (queued && this.log.unloaded) void this.#startWhenLoaded(queued, ticket)
    else if (queued) this.#begin(queued)
  }

  /** The turn of a message that is yet to be read; it may be given up meanwhile. */
  async #startWhenLoaded(queued: QueuedMessage, ticket: Ticket): Promise<void> {
    const isLoaded = await this.#isLoaded()
    if (isLoaded && this.slot === ticket && this.current === queued) this.#begin(queued)
  }

  #begin(queued: QueuedMessage): void {
    const turn = new ActiveTurn(this, queued)
    this.#turn = turn
    this.#isRunning = true
    this.#work = executeTurn(this, queued, turn)
  }

  /** Called when an event has ended the turn. The agent may take its time to return. */
  onTurnEnd(): void {
    const { state } = this.log
    if (isTerminal(state)) this.#drop(`The task is ${state}`)
    this.log.busy = this.#waiting.length > 0
  }

  /** Called when the agent has nothing more to say in a turn that still is the run's. */
  finish(queued: QueuedMessage, turn: ActiveTurn): void {
    const isAnswered = turn.over && !this.log.exists
    turn.over = true
    try {
      if (!isAnswered) this.#endTurn(queued, turn.finishesLater)
      this.#leaveTurn()
      if (isAnswered) this.#next()
      else
        this.answer(queued, () => {
          if (!this.current) this.#next()
        })
    } catch (refusal) {
      // A store that rejects the end leaves nothing to finish with: the caller gets the error, the task is as stored.
      queued.answer.fail(refusal)
      this.#leaveTurn()
      this.engine.tasks.settle(this.log)
    }
  }

  #endTurn({ number }: QueuedMessage, finishesLater: boolean): void {
    const { log } = this
    // A task that its agent has neither ended nor interrupted is completed.
    if (!finishesLater && !(log.exists && (isTerminal(log.state) || isInterrupted(log.state)))) {
      this.openTask()
      this.status('TASK_STATE_COMPLETED')
    }
    this.onTurnEnd()
    // Where no event says that the turn is over, a record does.
    const isSilent = finishesLater || log.state === 'TASK_STATE_AUTH_REQUIRED'
    if (isSilent || !log.willPersistBusy) log.append({ kind: 'rest', turn: number })
    log.endTurn()
  }

  /** The turn is over, or given up: its slot goes to others. */
  #leaveTurn(): void {
    this.#endWork()
    this.#leaveSlot()
  }

  #endWork(): void {
    this.#turn = undefined
    this.#work = undefined
    this.#isRunning = false
  }

  #leaveSlot(): void {
    if (this.current) this.#release(this.current)
    this.current = undefined
    this.held = false
    this.slot?.leave()
    this.slot = undefined
  }

  #release(queued: QueuedMessage): void {
    this.engine.queue.release(queued)
    queued.bytes = 0
  }

  /** Answers this message with the task once that is stored, then calls back. */
  answer(queued: QueuedMessage, then?: () => void): void {
    const { answer } = queued
    this.log.whenCommitted((refusal) => {
      if (refusal instanceof TaskMoved) this.engine.answerInterrupted(queued, this.log, refusal)
      else if (refusal) answer.fail(refusal)
      else answer.settle({ task: this.log.current() })
      then?.()
    })
  }

  /** Drops what waits: no further message of the task is answered. */
  #drop(reason: string): void {
    if (this.#waiting.length === 0) return
    for (const { message, answer } of this.#waiting) {
      this.log.drop(message.messageId, reason)
      answer.fail(new A2AError('unsupportedOperation', reason))
    }
    for (const queued of this.#waiting) this.#release(queued)
    this.#waiting = []
  }

  /** Makes the task exist. One that waits for its slot is unloaded once it is stored. */
  ensureTask(): void {
    if (this.log.exists) return
    this.openTask()
    if (this.queued) this.#unloadWhenStored()
  }

  /** Creates the task, as of now or a moment before: SUBMITTED while it waits for a slot, WORKING while it runs. */
  openTask(moment?: string): void {
    const { log, current } = this
    if (log.exists || !current) return
    const timestamp = moment ?? this.timestamp()
    this.openWith(current, {
      id: log.id,
      contextId: log.contextId,
      status: { state: this.#isRunning ? 'TASK_STATE_WORKING' : 'TASK_STATE_SUBMITTED', timestamp },
      history: [current.message],
    })
  }

  /** The first records of a task: the message that opens it, the start of its turn if it runs, the task itself. */
  openWith(queued: QueuedMessage, task: Task): void {
    const { log } = this
    const { message, request, number: turn, attempt } = queued
    log.build = this.definition.build
    log.append({ kind: 'message', turn, message, request })
    queued.seq = log.seq
    if (this.#isRunning) log.append({ kind: 'start', turn, attempt })
    log.emit({ task })
    for (const [key, value] of this.#saved ?? []) log.append({ kind: 'state', key, value })
  }

  /** Now, but never before the task's last change: another machine's clock may be ahead, and ours may be set back. */
  timestamp(): string {
    const now = this.engine.timestamp()
    const { timestamp: last } = this.log
    return last !== undefined && last > now ? last : now
  }

  /** Writes an event of the turn. */
  emit(event: StreamResponse): void {
    // The event that opens the task is not later than what the turn says in it.
    if (!this.log.exists)
      this.openTask('statusUpdate' in event ? event.statusUpdate.status.timestamp : undefined)
    this.log.emit(event)
  }

  /** Writes a change of state, in a task that exists. */
  status(state: TaskState, message?: Message, error?: A2AError): void {
    const { id: taskId, contextId } = this.log
    const timestamp = this.timestamp()
    const status: TaskStatus = message ? { state, message, timestamp } : { state, timestamp }
    const note = error && failureNote(error, this.current?.attempt)
    this.log.emit({ statusUpdate: { taskId, contextId, status } }, note)
  }

  /** Writes why the task has failed, or what it lacks. */
  failure(error: A2AError, state: TaskState = 'TASK_STATE_FAILED'): void {
    this.openTask()
    const { id: taskId, contextId } = this.log
    this.status(state, failureMessage(error, { taskId, contextId }), error)
  }

  /**
   * Takes in changes of the task from outside a turn.
   * @param forwarded The key of the forwarded change, where it was one.
   * @throws A2AError `invalidAgentResponse` where they may not follow what there is.
   */
  amend(events: readonly StreamResponse[], forwarded?: string): void {
    for (const event of events) this.log.amend(event, forwarded)
    if (forwarded !== undefined) this.#addForwarded(forwarded)
    // A turn that runs, or that is still to be resumed, continues.
    if (this.busy || this.log.busy) return
    // WORKING, set from outside, is not a turn that continues.
    this.#recordRest()
    this.log.endTurn()
    // The caller may be gone before it is stored: the task must not stay live for that.
    this.log.whenCommitted(() => this.engine.tasks.settle(this.log))
  }

  #addForwarded(entry: string): void {
    this.#forwarded ??= new Set()
    this.#forwarded.add(entry)
  }

  /** Records that nothing is left to do. */
  rest(): void {
    this.#recordRest()
    this.log.whenCommitted(() => this.engine.tasks.settle(this.log))
  }

  #recordRest(): void {
    this.log.busy = false
    if (!this.log.broken) this.log.append({ kind: 'rest', turn: this.#turns })
  }

  /** Cancels the task: the turn's signal fires, waiting messages are dropped, the state is CANCELED once this resolves. */
  async cancel(): Promise<Task> {
    const { log } = this
    this.openTask()
    log.append({ kind: 'cancel', at: this.engine.timestamp() })
    this.status('TASK_STATE_CANCELED')
    this.#cutOff(new A2AError('taskCanceled', `Task ${log.id} was cancelled`))
    await log.committed()
    this.engine.tasks.settle(log)
    return (await log.snapshot()).task
  }

  /** Fails a task that has grown too large, in the middle of its turn. */
  outgrow(reason: A2AError): void {
    if (isTerminal(this.log.state)) return
    this.engine.logger.warn({ taskId: this.log.id }, reason.message)
    this.failure(reason)
    this.#cutOff(reason)
    this.log.whenCommitted(() => this.engine.tasks.settle(this.log))
  }

  /** Leaves the turn of a task that was ended from outside: its signal fires, what waits is dropped, the agent is notified. */
  #cutOff(reason: A2AError): void {
    const { log } = this
    const queued = this.current
    const turn = this.#turn
    const work = this.#work
    // First of all: a slot that is free, or an agent that is notified, may begin the commit that has the end.
    this.#drop(
      log.state === 'TASK_STATE_CANCELED' ? 'The task was cancelled' : `The task is ${log.state}`,
    )
    this.#leaveTurn()
    turn?.abort(reason)
    // Remote work is still to be cancelled: a crash in between must not leave it running.
    const mustNotify = this.definition.agent.cancel !== undefined
    log.busy = mustNotify
    log.endTurn()
    if (queued) this.answer(queued)
    if (mustNotify) this.notifyCancelled(work)
  }

  /** Ends the task as FAILED, for a reason of ours. Remote work is cancelled as by a cancel. */
  async fail(reason: A2AError): Promise<void> {
    const mustNotify = this.definition.agent.cancel !== undefined
    this.log.busy = mustNotify
    this.failure(reason)
    this.#drop(`The task is ${this.log.state}`)
    this.log.endTurn()
    if (mustNotify) this.notifyCancelled()
    await this.log.committed()
    this.engine.tasks.settle(this.log)
  }

  /**
   * Notifies the agent of an end that is not its own, once the turn that ran is over; until then there is work left.
   * The turn that ran has its signal; remote work that it left, and members of a team that only wait, are cancelled
   * here. An agent that does not react, or that throws, does not keep the task from ending.
   */
  notifyCancelled(work?: Promise<void>): void {
    const notify = async (): Promise<void> => {
      await within(this.engine.clock, leaveMs, [work])
      await within(this.engine.clock, notifyMs, [this.#callCancel()])
      this.notifying = undefined
      this.rest()
    }
    this.notifying = notify()
  }

  async #callCancel(): Promise<void> {
    const { id: taskId, contextId } = this.log
    const load = (key: string): Json | undefined => this.load(key)
    try {
      await this.definition.agent.cancel?.({ taskId, contextId, load, keys: () => this.keys() })
    } catch (err) {
      this.engine.logger.warn({ taskId, err }, 'The agent could not cancel its work')
    }
  }

  /** Ends the running turn without an end state: the task is as stored, and is resumed from there. */
  interrupt(reason: A2AError): void {
    this.#answerAbandoned(this.#abandon(reason), reason)
  }

  /** Ends the running turn because the process is about to stop, which is not an error of the turn. */
  stop(reason: A2AError): void {
    const { log } = this
    const turn = this.#turn?.number
    const abandoned = this.#abandon(reason)
    if (!log.exists || log.broken) {
      this.#answerAbandoned(abandoned, reason)
      return
    }
    if (turn !== undefined && !isTerminal(log.state)) log.append({ kind: 'stop', turn })
    log.whenCommitted(() => this.#answerAbandoned(abandoned, reason))
  }

  /** Ends the turn and releases what waits behind it; returns the messages that have no answer. */
  #abandon(reason: A2AError): readonly QueuedMessage[] {
    const turn = this.#turn
    this.#endWork()
    const unanswered = this.#unanswered()
    for (const queued of this.#waiting) this.#release(queued)
    this.#waiting = []
    this.#leaveSlot()
    turn?.abort(reason)
    return unanswered
  }

  #answerAbandoned(abandoned: readonly QueuedMessage[], reason: A2AError): void {
    for (const queued of abandoned) this.engine.answerInterrupted(queued, this.log, reason)
    this.engine.tasks.settle(this.log)
  }

  #unanswered(): readonly QueuedMessage[] {
    return this.current ? [this.current, ...this.#waiting] : this.#waiting
  }

  /** Starts a turn that was held, with what is known of the deaths that it has seen; false if there is none. */
  release(deaths: Deaths): boolean {
    const queued = this.current
    if (!this.held || !queued) return false
    this.held = false
    queued.deaths = deaths
    this.#enterQueue(false)
    return true
  }

  /** Gives up a turn that was held. */
  async giveUp(reason: A2AError): Promise<void> {
    if (!this.held || !(await this.#isLoaded())) return
    const queued = this.current
    if (!this.held || !queued) return
    this.#leaveTurn()
    await this.fail(reason)
    this.answer(queued)
  }

  /** Records that the turn has run for long enough: if it runs when the process dies next, that does not count against it. */
  survivedTrial(): boolean {
    if (!this.#turn) return !this.current
    if (this.log.exists && !this.log.broken && !isTerminal(this.log.state))
      this.log.append({ kind: 'alive', turn: this.#turn.number })
    return true
  }

  /** Unloads the task when it is stored, and when those who asked for that have seen it. */
  #unloadWhenStored(): void {
    const { log } = this
    if (log.size <= smallLog) return
    const settle = (): void => this.engine.tasks.settle(log)
    soon(() => log.whenCommitted(() => soon(settle)))
  }

  /** Releases the memory of what the log has too, while the turn waits for its slot. */
  unload(): void {
    if (!this.queued || this.log.size <= smallLog || !this.log.unload()) return
    this.before = undefined
    this.#saved = undefined
    for (const queued of this.#unanswered()) releaseContent(queued)
  }

  /** Loads what was unloaded; undefined where it is in memory. */
  reload(): Promise<void> | undefined {
    if (!this.log.unloaded) return undefined
    this.#reading ??= this.#readBack().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Like `reload`, but a task that cannot be read is treated as one that cannot be written: it is resumed later. */
  async #isLoaded(): Promise<boolean> {
    const { log, current } = this
    try {
      await this.reload()
    } catch (thrown) {
      if (current && this.current === current) log.refused(toReadError(thrown))
    }
    return !log.unloaded
  }

  async #readBack(): Promise<void> {
    const { log, current } = this
    const { log: stored, memory, records } = await this.engine.tasks.read(log.id)
    const unanswered = this.#unanswered()
    const contents = unanswered.map((queued) => contentOf(queued, records))
    log.reload(stored)
    for (const [index, content] of contents.entries())
      if (unanswered[index]) restoreContent(unanswered[index], content)
    this.#saved = memory.saved
    if (!current || current !== this.current) return
    this.before = taskBefore(log, current, this.#waiting)
    if (this.before && this.#submittedAt > 0)
      this.before = withStatusBefore(this.before, records, this.#submittedAt)
  }
}

/** How long a cancelled turn may take to return, and then its agent to cancel its remote work. */
const leaveMs = 10_000
const notifyMs = 30_000

/** A log of fewer bytes is not unloaded: reading it back costs more than keeping it. */
const smallLog = 4 * 1024
