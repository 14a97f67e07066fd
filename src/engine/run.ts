import type { AgentAnswer, AgentEvent } from '../agents/agent.ts'
import type { AuthContext } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { parseMessage } from '../protocol/schema.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { Json, Message, StreamResponse, Task, TaskState } from '../protocol/types.ts'
import { isAsyncIterable } from '../shared/async.ts'
import type { Logger } from '../shared/log.ts'
import type { Deaths, TurnRequest } from '../store/store.ts'
import { addressed, adoptTask, taskBefore, writeArtifacts, writeOpening } from './entries.ts'
import { failureMessage, isCallerFault, toAgentFault } from './faults.ts'
import type { Letter, RunMemory } from './letter.ts'
import type { TaskLog } from './log.ts'
import { Outcome } from './outcome.ts'
import type { QueuedTurn, Ticket } from './queue.ts'
import type { RunDeps } from './run-deps.ts'
import { ActiveTurn, type TurnHost } from './turn.ts'

/** Beyond this many records waiting for the store, the agent waits too. */
const maxBacklog = 256

/** How long a cancelled turn has to leave, and then its agent to call off what it left elsewhere. */
const leaveMs = 10_000
const tellMs = 30_000

/**
 * A live task: its mailbox, and the one turn that runs. It outlives the request that began it.
 * Before the first event that is not a Message there is no task, and nothing is stored.
 */
export class Run implements TurnHost, QueuedTurn {
  readonly log: TaskLog
  readonly #deps: RunDeps
  #memory: RunMemory
  #turns: number
  #mailbox: Letter[] = []
  #letter: Letter | undefined
  /** The task before the letter's message. */
  #before: Task | undefined
  #turn: ActiveTurn | undefined
  /** Resolves when the agent has nothing more to say in the turn, whoever listens. */
  #work: Promise<void> | undefined
  #ticket: Ticket | undefined
  /** Whether the turn waits for leave to start, as one that may kill the process does. */
  #held = false
  /** Resolves when the agent has heard of the cancel, while it has not. */
  #telling: Promise<void> | undefined

  constructor(log: TaskLog, deps: RunDeps, memory: RunMemory) {
    this.log = log
    this.#deps = deps
    this.#memory = memory
    this.#turns = memory.turns
  }

  get task(): Task | undefined {
    return this.#before
  }
  timestamp(): string {
    return this.#deps.timestamp()
  }
  get logger(): Logger {
    return this.#deps.logger
  }
  /** Whether a turn runs or waits for a slot, or the agent is yet to hear of a cancel. */
  get busy(): boolean {
    return this.#letter !== undefined || this.#telling !== undefined
  }
  /** Resolves when the agent has heard of the cancel; undefined where there is nothing to hear. */
  get telling(): Promise<void> | undefined {
    return this.#telling
  }
  /** Whether the turn waits for leave to start. */
  get held(): boolean {
    return this.#held
  }
  /** Whether the turn waits for a slot. */
  get queued(): boolean {
    return this.#held || (this.#ticket?.waiting ?? false)
  }
  /** Whether this message's turn has begun. */
  hasBegun(letter: Letter): boolean {
    return this.#turn !== undefined && this.#turn.number >= letter.number
  }
  /** The last message taken in, while it has no answer. */
  get latest(): Letter | undefined {
    return this.#mailbox.at(-1) ?? this.#letter
  }

  /** @throws A2AError `rateLimited` when the mailbox is full, `unavailable` when the queue is. */
  mustHaveRoom(principal: string): void {
    if (!this.busy) this.#deps.queue.mustHaveRoom(principal)
    if (this.#mailbox.length >= this.#deps.maxMailbox)
      throw new A2AError('rateLimited', `Too many messages wait for task ${this.log.id}`, {
        retryAfterSeconds: 1,
        metadata: { taskId: this.log.id },
      })
  }

  /** Takes in a message: it begins a turn, or waits in the mailbox for the running one. */
  accept(sent: Message, request: TurnRequest, caller?: AuthContext): Letter {
    const { id: taskId, contextId } = this.log
    const message = addressed(sent, { taskId, contextId })
    const letter: Letter = {
      number: ++this.#turns,
      attempt: 1,
      message,
      request,
      caller,
      outcome: new Outcome(),
      seq: 0,
    }
    this.log.busy = true
    if (this.log.exists) {
      this.log.append({ kind: 'message', turn: letter.number, message, request })
      letter.seq = this.log.seq
    }
    this.#mailbox.push(letter)
    if (!this.#letter) this.#startNext(true)
    return letter
  }

  get principal(): string {
    return this.#letter?.request.userId ?? ''
  }
  get contextId(): string {
    return this.log.contextId
  }
  get slot(): Ticket | undefined {
    return this.#ticket
  }

  /** Called by the queue when there is a slot for the turn. */
  start(ticket: Ticket): void {
    this.#ticket = ticket
    if (this.#letter) this.#work = this.#execute(this.#letter)
  }

  /** Takes up a turn that a crash interrupted, or that never began; one that is `held` starts when it is released. */
  resume(letter: Letter, held = false): void {
    this.#mailbox.push(letter)
    if (this.#letter) return
    this.#held = held
    this.#startNext()
  }

  /** Lets a turn start that was held, with what is known of the deaths that it has seen; false if there is none. */
  release(deaths: Deaths): boolean {
    if (!this.#held || !this.#letter) return false
    this.#held = false
    this.#letter.deaths = deaths
    this.#enterQueue(false)
    return true
  }

  /** Gives up a turn that was held. */
  async giveUp(reason: A2AError): Promise<void> {
    const letter = this.#letter
    if (!this.#held || !letter) return
    this.#held = false
    this.#leaveTurn()
    await this.fail(reason)
    this.#answer(letter)
  }

  /** The turn has run for long enough: if it is running when the process dies next, that is no sign against it. */
  outlived(): boolean {
    if (!this.#turn) return !this.#letter
    if (this.log.exists && !this.log.broken && !isTerminal(this.log.state))
      this.log.append({ kind: 'alive', turn: this.#turn.number })
    return true
  }

  /** Notes that nothing is left to do. */
  rest(): void {
    this.log.busy = false
    this.log.append({ kind: 'rest', turn: this.#turns })
    this.log.whenCommitted(() => this.#deps.idle(this))
  }

  /** Makes the task exist: SUBMITTED while it waits for a slot, WORKING while it runs. */
  birth(): void {
    const letter = this.#letter
    if (this.log.exists || !letter) return
    this.#open(letter, {
      id: this.log.id,
      contextId: this.log.contextId,
      status: this.#statusOf(this.#turn ? 'TASK_STATE_WORKING' : 'TASK_STATE_SUBMITTED'),
      history: [letter.message],
    })
  }

  stepResult(name: string): Json | undefined {
    return this.#letter?.steps?.get(name)
  }

  load(key: string): Json | undefined {
    return this.#memory.saved?.get(key)
  }

  save(key: string, value: Json): void {
    const saved = this.#memory.saved ?? new Map()
    saved.set(key, value)
    this.#memory = { ...this.#memory, saved }
  }

  conversation(limit: number): Promise<readonly Message[]> {
    return this.#deps.conversation(this.log, limit)
  }

  contextValues(): Promise<ReadonlyMap<string, Json>> {
    return this.#deps.contextValues(this.log)
  }

  tasks(): FullTaskStore {
    return this.#deps.tasks(this.log)
  }

  /**
   * Takes in what is said of the task from outside a turn.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is.
   */
  amend(events: readonly StreamResponse[]): void {
    for (const event of events) this.log.amend(event)
    if (this.busy) return
    // WORKING, said from outside, is no turn that goes on.
    this.log.busy = false
    this.log.append({ kind: 'rest', turn: this.#turns })
    this.log.endTurn()
  }

  /** Cancels the task: the turn's signal fires, waiting messages are dropped, the state is CANCELED once this resolves. */
  async cancel(): Promise<Task> {
    const letter = this.#letter
    this.birth()
    this.log.append({ kind: 'cancel', at: this.timestamp() })
    this.#emitStatus('TASK_STATE_CANCELED')
    const turn = this.#turn
    const work = this.#work
    this.#leaveTurn()
    turn?.abort(new A2AError('taskCanceled', `Task ${this.log.id} was cancelled`))
    this.#dropMailbox('The task was cancelled')
    // Work elsewhere is still to be called off: a crash in between must not leave it running.
    const mustTell = this.#deps.agent.cancel !== undefined
    this.log.busy = mustTell
    this.log.endTurn()
    this.#answer(letter)
    if (mustTell) this.#tell(work)
    await this.log.committed()
    this.#deps.idle(this)
    return (await this.log.snapshot()).task
  }

  /** Tells the agent of a cancel that an earlier process stored and may not have passed on. */
  tellCancel(): void {
    this.#tell()
  }

  /** Ends the running turn without an end state: the task is as stored, and is taken up again from there. */
  interrupt(reason: A2AError): void {
    const turn = this.#turn
    const unanswered = this.#abandon()
    turn?.abort(reason)
    for (const letter of unanswered) this.#deps.unanswered(letter, this.log, reason)
    this.#deps.idle(this)
  }

  /** Ends the running turn because the process is about to stop, which is no fault of the turn's. */
  stop(reason: A2AError): void {
    const turn = this.#turn
    const unanswered = this.#abandon()
    turn?.abort(reason)
    const leave = (): void => {
      for (const letter of unanswered) this.#deps.unanswered(letter, this.log, reason)
      this.#deps.idle(this)
    }
    if (!this.log.exists || this.log.broken) {
      leave()
      return
    }
    if (turn && !isTerminal(this.log.state)) this.log.append({ kind: 'stop', turn: turn.number })
    this.log.whenCommitted(leave)
  }

  /** Lets go of the turn and of what waits behind it; gives the messages that have no answer. */
  #abandon(): readonly Letter[] {
    const unanswered = this.#letter ? [this.#letter, ...this.#mailbox] : this.#mailbox
    this.#mailbox = []
    this.#leaveTurn()
    return unanswered
  }

  /** Ends the task as FAILED, for a reason of ours. */
  async fail(reason: A2AError): Promise<void> {
    this.log.busy = false
    this.#emitFailure(reason)
    this.#dropMailbox(`The task is ${this.log.state}`)
    this.log.endTurn()
    await this.log.committed()
    this.#deps.idle(this)
  }

  #startNext(isNew = false): void {
    const letter = this.#mailbox.shift()
    this.#letter = letter
    if (!letter) {
      this.#deps.idle(this)
      return
    }
    this.#before = taskBefore(this.log, letter, this.#mailbox)
    if (!this.#held) this.#enterQueue(isNew)
  }

  #enterQueue(isNew: boolean): void {
    const { queue } = this.#deps
    this.#ticket = isNew ? queue.enter(this) : queue.readmit(this)
    if (this.#ticket.waiting && isInterrupted(this.log.state))
      this.#emitStatus('TASK_STATE_SUBMITTED')
  }

  async #execute(letter: Letter): Promise<void> {
    const turn = new ActiveTurn(this, letter)
    this.#turn = turn
    try {
      if (this.log.exists) this.#announce(letter)
      // An attempt that kills the process at once must be counted at the next start; and what is sent with a key may be
      // sent again, so nothing is done before it is known that it was taken in.
      if (letter.request.idempotencyKey !== undefined) this.birth()
      if (letter.recovered || letter.request.idempotencyKey !== undefined)
        await this.log.committed()
      if (this.#turn !== turn) return
      const reply = this.#deps.agent.process(turn.message, turn)
      if (isAsyncIterable(reply)) await this.#consume(reply, turn)
      else {
        const answer = await reply
        this.#take(answer, turn)
        turn.left = leavesTask(answer)
      }
    } catch (thrown) {
      // An agent that throws at once does so before the queue has handed over the slot that must be given back.
      await undefined
      this.#handleFailure(thrown, turn)
    }
    if (this.#turn === turn) this.#finish(letter, turn)
  }

  #announce(letter: Letter): void {
    const { number: turn, attempt, deaths } = letter
    this.log.build = this.#deps.build
    this.log.append({ kind: 'start', turn, attempt, ...(deaths?.total && { deaths }) })
    if (this.log.state !== 'TASK_STATE_WORKING') this.#emitStatus('TASK_STATE_WORKING')
  }

  // The contract's events come from users' code: what is not an event is refused where it is used.
  async #consume(events: AsyncIterable<unknown>, turn: ActiveTurn): Promise<void> {
    for await (const event of events as AsyncIterable<AgentEvent>) {
      if (this.#turn !== turn) return
      this.#hear(event, turn)
      if (turn.over) return
      if (this.log.backlog >= maxBacklog) await this.log.committed()
    }
  }

  #hear(event: AgentEvent, turn: ActiveTurn): void {
    if (isMessage(event)) {
      this.#take(event, turn)
      return
    }
    const response = turn.toEvent(event)
    if ('message' in response) this.#take(response.message, turn)
    else if ('task' in response) this.#take(response, turn)
    else this.#emit(response)
    const { state } = this.log
    if (isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED') {
      turn.over = true
      // Said with the event itself: the agent may take its time to leave.
      if (isTerminal(state)) this.#dropMailbox(`The task is ${state}`)
      this.log.busy = this.#mailbox.length > 0
    } else if (state === 'TASK_STATE_AUTH_REQUIRED') this.#answer(this.#letter)
  }

  /** Takes a whole answer. */
  #take(answer: AgentAnswer, turn: ActiveTurn): void {
    if (this.#turn !== turn || answer === undefined) return
    if (typeof answer === 'string') this.#emit(turn.answer(answer))
    else if (isMessage(answer)) this.#takeMessage(parseMessage(answer), turn)
    else this.#adopt(answer.task)
  }

  #takeMessage(message: Message, turn: ActiveTurn): void {
    turn.over = true
    const { id: taskId, contextId } = this.log
    if (this.log.exists)
      this.#emitStatus('TASK_STATE_COMPLETED', addressed(message, { taskId, contextId }))
    else this.#letter?.outcome.settle({ message: addressed(message, { contextId }) })
  }

  /** A Task from an agent becomes this task: as its beginning, or as changes to what is already there. */
  #adopt(given: Task): void {
    const letter = this.#letter
    if (!letter) return
    const task = adoptTask(this.log, given)
    if (!this.log.exists) {
      const status = { ...task.status, timestamp: task.status.timestamp ?? this.timestamp() }
      const history = task.history?.length ? task.history : [letter.message]
      this.#open(letter, { ...task, status, history })
      return
    }
    writeArtifacts(this.log, task)
    this.#emitStatus(task.status.state, task.status.message)
  }

  #handleFailure(thrown: unknown, turn: ActiveTurn): void {
    if (this.#turn !== turn) return
    if (turn.over) {
      this.logger.warn({ taskId: this.log.id, err: thrown }, 'The agent failed after its answer')
      return
    }
    if (!this.log.exists && isCallerFault(thrown)) {
      turn.over = true
      this.#letter?.outcome.fail(thrown)
      return
    }
    const fault = toAgentFault(thrown)
    if (fault.code === 'unauthenticated' && !isTerminal(this.log.state)) {
      this.#emitFailure(fault, 'TASK_STATE_AUTH_REQUIRED')
      return
    }
    this.logger.error({ taskId: this.log.id, err: thrown }, 'The agent failed')
    if (!isTerminal(this.log.state)) this.#emitFailure(fault)
  }

  #emitFailure(fault: A2AError, state: TaskState = 'TASK_STATE_FAILED'): void {
    this.birth()
    const { id: taskId, contextId } = this.log
    this.#emitStatus(state, failureMessage(fault, { taskId, contextId }))
  }

  #finish(letter: Letter, turn: ActiveTurn): void {
    const answered = turn.over && !this.log.exists
    turn.over = true
    try {
      if (!answered) this.#conclude(letter, turn.left)
      this.#leaveTurn()
      if (answered) this.#startNext()
      else
        this.#answer(letter, () => {
          if (!this.#letter) this.#startNext()
        })
    } catch (refusal) {
      // A store that refuses leaves nothing to finish with: whoever waits hears of it, the task is as stored.
      letter.outcome.fail(refusal)
      this.#leaveTurn()
      this.#deps.idle(this)
    }
  }

  #conclude(letter: Letter, left: boolean): void {
    if (!left) this.#complete()
    const { state } = this.log
    if (isTerminal(state)) this.#dropMailbox(`The task is ${state}`)
    this.log.busy = this.#mailbox.length > 0
    // Where no event says that the turn is over, a record does.
    if (left || state === 'TASK_STATE_AUTH_REQUIRED' || !this.log.tellsBusy)
      this.log.append({ kind: 'rest', turn: letter.number })
    this.log.endTurn()
  }

  #complete(): void {
    const { state } = this.log
    if (this.log.exists && (isTerminal(state) || isInterrupted(state))) return
    this.birth()
    this.#emitStatus('TASK_STATE_COMPLETED')
  }

  /** Tells whoever waits for this message how the task stands, once that is stored; then goes on. */
  #answer(letter: Letter | undefined, then?: () => void): void {
    this.log.whenCommitted((refusal) => {
      if (refusal) letter?.outcome.fail(refusal)
      else letter?.outcome.settle({ task: this.log.current() })
      then?.()
    })
  }

  #dropMailbox(reason: string): void {
    for (const letter of this.#mailbox) {
      const { messageId } = letter.message
      this.log.append({ kind: 'dropped', messageId, reason })
      letter.outcome.fail(new A2AError('unsupportedOperation', reason))
    }
    this.#mailbox = []
  }

  /**
   * Until the agent has heard of the cancel there is work left; then that is noted. The turn that ran has heard by its
   * signal; what it left behind elsewhere, and those of a team that only wait, hear afterwards.
   */
  #tell(work?: Promise<void>): void {
    const tell = async (): Promise<void> => {
      // One that does not listen keeps nobody waiting: what it works on elsewhere is called off all the same.
      await this.#deps.within(leaveMs, work)
      await this.#deps.within(tellMs, this.#tellWaiting())
      this.#telling = undefined
      this.log.busy = false
      if (!this.log.broken) this.log.append({ kind: 'rest', turn: this.#turns })
      this.log.whenCommitted(() => this.#deps.idle(this))
    }
    this.#telling = tell()
  }

  /** An agent between turns may have work elsewhere to call off. Its failure must not keep the task from ending. */
  async #tellWaiting(): Promise<void> {
    const { id: taskId, contextId } = this.log
    try {
      const keys = (): Iterable<string> => this.#memory.saved?.keys() ?? []
      await this.#deps.agent.cancel?.({ taskId, contextId, load: (key) => this.load(key), keys })
    } catch (err) {
      this.logger.warn({ taskId, err }, 'The agent could not cancel its work')
    }
  }

  #leaveTurn(): void {
    this.#turn = undefined
    this.#work = undefined
    this.#letter = undefined
    this.#held = false
    this.#ticket?.leave()
    this.#ticket = undefined
  }

  #open(letter: Letter, task: Task): void {
    this.log.build = this.#deps.build
    writeOpening(this.log, letter, { task, running: this.#turn !== undefined })
    for (const [key, value] of this.#memory.saved ?? [])
      this.log.append({ kind: 'state', key, value })
  }

  #emit(event: StreamResponse): void {
    this.birth()
    this.log.emit(event)
  }

  #emitStatus(state: TaskState, message?: Message): void {
    const { id: taskId, contextId } = this.log
    this.log.emit({ statusUpdate: { taskId, contextId, status: this.#statusOf(state, message) } })
  }

  #statusOf(state: TaskState, message?: Message): Task['status'] {
    const timestamp = this.timestamp()
    return message ? { state, message, timestamp } : { state, timestamp }
  }
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'parts' in value && 'role' in value
}

/** Whether the agent finishes later what it gave as its whole answer. */
function leavesTask(answer: AgentAnswer): boolean {
  if (typeof answer !== 'object' || !('task' in answer)) return false
  const { state } = answer.task.status
  return !isTerminal(state) && !isInterrupted(state)
}
