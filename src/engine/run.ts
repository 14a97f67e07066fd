import type { AgentAnswer, AgentEvent } from '../agents/agent.ts'
import type { AuthContext } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { parseMessage } from '../protocol/schema.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type { Json, Message, StreamResponse, Task, TaskState } from '../protocol/types.ts'
import { isAsyncIterable } from '../shared/async.ts'
import type { Logger } from '../shared/log.ts'
import type { TurnRequest } from '../store/store.ts'
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
  #ticket: Ticket | undefined

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
  /** Whether a turn runs or waits for a slot. */
  get busy(): boolean {
    return this.#letter !== undefined
  }
  /** Whether the turn waits for a slot. */
  get queued(): boolean {
    return this.#ticket?.waiting ?? false
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
  mustHaveRoom(): void {
    if (!this.busy) this.#deps.queue.mustHaveRoom()
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
    }
    if (this.log.exists) this.log.append({ kind: 'message', turn: letter.number, message, request })
    this.#mailbox.push(letter)
    if (!this.#letter) this.#startNext()
    return letter
  }

  get principal(): string {
    return this.#letter?.request.userId ?? ''
  }
  get contextId(): string {
    return this.log.contextId
  }

  /** Called by the queue when there is a slot for the turn. */
  start(): void {
    if (this.#letter) void this.#execute(this.#letter)
  }

  /** Takes up a turn that a crash interrupted, or that never began. */
  resume(letter: Letter): void {
    this.#mailbox.push(letter)
    if (!this.#letter) this.#startNext()
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
    return this.#memory.steps?.get(name)
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

  /** Cancels the task: the turn's signal fires, waiting messages are dropped, the state is CANCELED once this resolves. */
  async cancel(): Promise<Task> {
    const letter = this.#letter
    this.birth()
    this.log.append({ kind: 'cancel', at: this.timestamp() })
    this.#emitStatus('TASK_STATE_CANCELED')
    const turn = this.#turn
    this.#leaveTurn()
    turn?.abort(new A2AError('taskCanceled', `Task ${this.log.id} was cancelled`))
    this.#dropMailbox('The task was cancelled')
    this.log.endTurn()
    this.#answer(letter)
    await this.log.committed()
    if (!turn) void this.#tellWaiting()
    this.#deps.idle(this)
    return (await this.log.snapshot()).task
  }

  /** Ends the running turn without an end state: the task is as stored, and a restart takes it up again. */
  interrupt(reason: A2AError): void {
    const turn = this.#turn
    const unanswered = this.#letter ? [this.#letter, ...this.#mailbox] : this.#mailbox
    this.#mailbox = []
    this.#leaveTurn()
    turn?.abort(reason)
    for (const { outcome } of unanswered) outcome.fail(reason)
    this.#deps.idle(this)
  }

  /** Ends the task as FAILED, for a reason of ours. */
  async fail(reason: A2AError): Promise<void> {
    this.#emitFailure(reason)
    this.log.endTurn()
    await this.log.committed()
    this.#deps.idle(this)
  }

  #startNext(): void {
    const letter = this.#mailbox.shift()
    this.#letter = letter
    if (!letter) {
      this.#deps.idle(this)
      return
    }
    this.#before = taskBefore(this.log, letter, this.#mailbox)
    this.#ticket = this.#deps.queue.enter(this)
    if (this.#ticket.waiting && isInterrupted(this.log.state))
      this.#emitStatus('TASK_STATE_SUBMITTED')
  }

  async #execute(letter: Letter): Promise<void> {
    const turn = new ActiveTurn(this, letter)
    this.#turn = turn
    try {
      if (this.log.exists) this.#announce(letter)
      // An attempt that kills the process at once must be counted at the next start.
      if (letter.recovered) await this.log.committed()
      if (this.#turn !== turn) return
      const reply = this.#deps.agent.process(letter.message, turn)
      if (isAsyncIterable(reply)) await this.#consume(reply, turn)
      else this.#take(await reply, turn)
    } catch (thrown) {
      // An agent that throws at once does so before the queue has handed over the slot that must be given back.
      await undefined
      this.#handleFailure(thrown, turn)
    }
    if (this.#turn === turn) this.#finish(letter, turn)
  }

  #announce(letter: Letter): void {
    this.log.append({ kind: 'start', turn: letter.number, attempt: letter.attempt })
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
    if (isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED') turn.over = true
    else if (state === 'TASK_STATE_AUTH_REQUIRED') this.#answer(this.#letter)
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
      if (!answered) this.#conclude()
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

  #conclude(): void {
    this.#complete()
    if (isTerminal(this.log.state)) this.#dropMailbox(`The task is ${this.log.state}`)
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

  /** An agent between turns may have work elsewhere to call off. Its failure must not keep the task from ending. */
  async #tellWaiting(): Promise<void> {
    const { id: taskId, contextId } = this.log
    try {
      await this.#deps.agent.cancel?.({ taskId, contextId, load: (key) => this.load(key) })
    } catch (err) {
      this.logger.warn({ taskId, err }, 'The agent could not cancel its work')
    }
  }

  #leaveTurn(): void {
    this.#turn = undefined
    this.#letter = undefined
    if (this.#memory.steps) this.#memory = { ...this.#memory, steps: undefined }
    this.#ticket?.leave()
    this.#ticket = undefined
  }

  #open(letter: Letter, task: Task): void {
    writeOpening(this.log, letter, { task, running: this.#turn !== undefined })
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
