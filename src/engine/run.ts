import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Json, Message, StreamResponse, Task } from '../protocol/types.ts'

import type { TurnRequest } from '../store/turn-request.ts'
import { TurnAnswer } from './answer.ts'
import { tellAgent } from './cancel.ts'
import { executeTurn, type TurnOwner } from './execute.ts'
import type { TaskLog } from './log.ts'
import { Mailbox, type MailboxOwner } from './mailbox.ts'
import { addressed, entryOf, type QueuedMessage, type RunMemory, type SentBy } from './messages.ts'
import type { RunHost } from './run-host.ts'
import { ActiveTurn, type TurnSource } from './turn.ts'
import { RunWriter } from './writer.ts'

/**
 * A live task: its mailbox, and the one turn that runs. It outlives the request that began it.
 * A class, not closures: one is made per request.
 */
export class TaskRun implements TurnSource, TurnOwner, MailboxOwner {
  readonly log: TaskLog
  readonly writer: RunWriter
  readonly mailbox: Mailbox
  readonly host: RunHost
  /** How many messages the task has taken in. */
  #turns: number
  #turn: ActiveTurn | undefined
  /** Resolves when the agent has nothing more to say in the turn, whoever listens. */
  #work: Promise<void> | undefined
  #telling: Promise<void> | undefined
  /** The inbox entries that messages and changes came by. */
  #forwarded: Set<string> | undefined

  constructor(log: TaskLog, host: RunHost, memory?: RunMemory) {
    this.log = log
    this.host = host
    this.writer = new RunWriter(log, host)
    this.mailbox = new Mailbox(this)
    this.#turns = memory?.turns ?? 0
    this.writer.saved = memory?.saved
    this.#forwarded = memory?.forwarded
  }

  /** Whether a turn runs or waits for a slot, or the agent is yet to hear that the task was ended. */
  get busy(): boolean {
    return this.writer.message !== undefined || this.#telling !== undefined
  }
  /** Resolves when the agent has heard that the task was ended; undefined where there is nothing to hear. */
  get telling(): Promise<void> | undefined {
    return this.#telling
  }
  /** Whether the turn of this message has begun. */
  hasBegun({ number }: QueuedMessage): boolean {
    return this.#turn !== undefined && this.#turn.number >= number
  }
  /** Whether a message or a change came by this entry of the inbox. */
  hasForwarded(key: string): boolean {
    return this.#forwarded?.has(key) ?? false
  }
  isCurrent(turn: ActiveTurn): boolean {
    return this.#turn === turn
  }
  load(key: string): Json | undefined {
    return this.writer.saved?.get(key)
  }
  keys(): Iterable<string> {
    return this.writer.saved?.keys() ?? []
  }
  save(key: string, value: Json): void {
    this.writer.saved ??= new Map()
    this.writer.saved.set(key, value)
  }

  /** Takes in a message: it begins a turn, or waits in the mailbox for the running one. */
  accept(sent: Message, request: TurnRequest, sender: SentBy): QueuedMessage {
    const { id: taskId, contextId } = this.log
    const message = addressed(sent, { taskId, contextId })
    const number = ++this.#turns
    const entry = entryOf(request)
    if (entry !== undefined) this.#noteForwarded(entry)
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
    this.mailbox.add(queued)
    return queued
  }

  begin(queued: QueuedMessage): void {
    const turn = new ActiveTurn(this, queued)
    this.#turn = turn
    this.writer.running = true
    this.#work = executeTurn(this, queued, turn)
  }

  /** Gives up a turn that was held. */
  async giveUp(reason: A2AError): Promise<void> {
    if (!this.mailbox.held || !(await this.mailbox.isAtHand())) return
    const queued = this.writer.message
    if (!this.mailbox.held || !queued) return
    this.#leaveTurn()
    await this.fail(reason)
    this.writer.tellAnswer(queued)
  }

  /** Notes that the turn has run for long enough: if it runs when the process dies next, that says nothing against it. */
  outlived(): boolean {
    if (!this.#turn) return !this.writer.message
    if (this.log.exists && !this.log.broken && !isTerminal(this.log.state))
      this.log.append({ kind: 'alive', turn: this.#turn.number })
    return true
  }

  /** Notes that nothing is left to do. */
  rest(): void {
    this.#noteRest()
    this.log.whenCommitted(() => this.host.idle(this.log))
  }

  /**
   * Takes in what is said of the task from outside a turn.
   * @param forwarded The key of the inbox entry that it came by.
   * @throws A2AError `invalidAgentResponse` where it may not follow what there is.
   */
  amend(events: readonly StreamResponse[], forwarded?: string): void {
    for (const event of events) this.log.amend(event, forwarded)
    if (forwarded !== undefined) this.#noteForwarded(forwarded)
    // A turn that runs, or that is still to be taken up, goes on.
    if (this.busy || this.log.busy) return
    // WORKING, said from outside, is no turn that goes on.
    this.#noteRest()
    this.log.endTurn()
    // Whoever brought it may be gone before it is stored: the task must not stay live for that.
    this.log.whenCommitted(() => this.host.idle(this.log))
  }

  /** Cancels the task: the turn's signal fires, waiting messages are dropped, the state is CANCELED once this resolves. */
  async cancel(): Promise<Task> {
    const { log, writer } = this
    writer.ensureTask()
    log.append({ kind: 'cancel', at: this.host.timestamp() })
    writer.status('TASK_STATE_CANCELED')
    this.#cutOff(new A2AError('taskCanceled', `Task ${log.id} was cancelled`))
    await log.committed()
    this.host.idle(log)
    return (await log.snapshot()).task
  }

  /** Fails a task that has grown too large, in the midst of its turn. */
  outgrow(reason: A2AError): void {
    if (isTerminal(this.log.state)) return
    this.host.logger.warn({ taskId: this.log.id }, reason.message)
    this.writer.failure(reason)
    this.#cutOff(reason)
    this.log.whenCommitted(() => this.host.idle(this.log))
  }

  /** Leaves the turn of a task that was ended from outside it: its signal fires, what waits is dropped, the agent is told. */
  #cutOff(reason: A2AError): void {
    const { log, writer } = this
    const queued = writer.message
    const turn = this.#turn
    const work = this.#work
    // First of all: a slot that is free, or an agent that is told, may begin the commit that has the end.
    this.mailbox.drop(
      log.state === 'TASK_STATE_CANCELED' ? 'The task was cancelled' : `The task is ${log.state}`,
    )
    this.#leaveTurn()
    turn?.abort(reason)
    // Work elsewhere is still to be called off: a crash in between must not leave it running.
    const mustTell = this.host.agent.cancel !== undefined
    log.busy = mustTell
    log.endTurn()
    if (queued) writer.tellAnswer(queued)
    if (mustTell) this.tellEnd(work)
  }

  /** Tells the agent of an end that is not its own, once the turn that ran is over; until it has heard there is work left. */
  tellEnd(work?: Promise<void>): void {
    this.#telling = tellAgent(this, work).then(() => {
      this.#telling = undefined
      this.rest()
    })
  }

  /** Ends the running turn without an end state: the task is as stored, and is taken up again from there. */
  interrupt(reason: A2AError): void {
    this.#tellUnanswered(this.#abandon(reason), reason)
  }

  /** Ends the running turn because the process is about to stop, which is no fault of the turn's. */
  stop(reason: A2AError): void {
    const { log } = this
    const turn = this.#turn?.number
    const unanswered = this.#abandon(reason)
    if (!log.exists || log.broken) {
      this.#tellUnanswered(unanswered, reason)
      return
    }
    if (turn !== undefined && !isTerminal(log.state)) log.append({ kind: 'stop', turn })
    log.whenCommitted(() => this.#tellUnanswered(unanswered, reason))
  }

  /** Ends the task as FAILED, for a reason of ours. Work elsewhere is called off as by a cancel. */
  async fail(reason: A2AError): Promise<void> {
    const mustTell = this.host.agent.cancel !== undefined
    this.log.busy = mustTell
    this.writer.failure(reason)
    this.mailbox.drop(`The task is ${this.log.state}`)
    this.log.endTurn()
    if (mustTell) this.tellEnd()
    await this.log.committed()
    this.host.idle(this.log)
  }

  /** Said with the event that ends the turn: the agent may take its time to leave. */
  concluded(): void {
    const { state } = this.log
    if (isTerminal(state)) this.mailbox.drop(`The task is ${state}`)
    this.log.busy = this.mailbox.hasMore
  }

  finish(queued: QueuedMessage, turn: ActiveTurn): void {
    const isAnswered = turn.over && !this.log.exists
    turn.over = true
    try {
      if (!isAnswered) this.#endTurn(queued, turn.finishesLater)
      this.#leaveTurn()
      if (isAnswered) this.mailbox.next()
      else
        this.writer.tellAnswer(queued, () => {
          if (!this.writer.message) this.mailbox.next()
        })
    } catch (refusal) {
      // A store that refuses leaves nothing to finish with: whoever waits hears of it, the task is as stored.
      queued.answer.fail(refusal)
      this.#leaveTurn()
      this.host.idle(this.log)
    }
  }

  #endTurn({ number }: QueuedMessage, finishesLater: boolean): void {
    if (!finishesLater) this.writer.complete()
    this.concluded()
    // Where no event says that the turn is over, a record does.
    const isSilent = finishesLater || this.log.state === 'TASK_STATE_AUTH_REQUIRED'
    if (isSilent || !this.log.tellsBusy) this.log.append({ kind: 'rest', turn: number })
    this.log.endTurn()
  }

  #noteForwarded(entry: string): void {
    this.#forwarded ??= new Set()
    this.#forwarded.add(entry)
  }

  #noteRest(): void {
    this.log.busy = false
    if (!this.log.broken) this.log.append({ kind: 'rest', turn: this.#turns })
  }

  #leaveTurn(): void {
    this.#endWork()
    this.mailbox.leave()
  }

  #endWork(): void {
    this.#turn = undefined
    this.#work = undefined
    this.writer.running = false
  }

  /** Ends the turn and lets go of what waits behind it; gives the messages that have no answer. */
  #abandon(reason: A2AError): readonly QueuedMessage[] {
    const turn = this.#turn
    this.#endWork()
    const unanswered = this.mailbox.abandon()
    turn?.abort(reason)
    return unanswered
  }

  #tellUnanswered(unanswered: readonly QueuedMessage[], reason: A2AError): void {
    for (const queued of unanswered) this.host.unanswered(queued, this.log, reason)
    this.host.idle(this.log)
  }
}
