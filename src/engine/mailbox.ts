import { A2AError } from '../protocol/errors.ts'
import { isInterrupted } from '../protocol/task.ts'
import type { Task } from '../protocol/types.ts'
import { soon } from '../shared/async.ts'
import type { Deaths } from '../store/store.ts'
import { tooManyWait } from './faults.ts'
import { type QueuedMessage, taskBefore } from './messages.ts'
import type { QueuedTurn, Ticket } from './queue.ts'
import { contentOf, letGoOfContent, restoreContent, withStatusBefore } from './read-back.ts'
import type { RunHost } from './run-host.ts'
import type { RunWriter } from './writer.ts'

/** Whose messages a mailbox holds. */
export interface MailboxOwner {
  readonly writer: RunWriter
  readonly host: RunHost
  /** Called when a message has its slot: its turn begins. */
  begin(queued: QueuedMessage): void
}

/**
 * The messages of one task: one has its turn, or waits for a slot in the engine's queue, and the others wait behind it.
 * A class, not closures: one is made per request.
 */
export class Mailbox implements QueuedTurn {
  readonly #owner: MailboxOwner
  readonly #writer: RunWriter
  #waiting: QueuedMessage[] = []
  #before: Task | undefined
  #ticket: Ticket | undefined
  #held = false
  /** Where the log says that the task waits for a slot instead of its client; 0 where it does not say so. */
  #submittedAt = 0
  /** Resolves when what was let go of is in memory again. */
  #reading: Promise<void> | undefined

  constructor(owner: MailboxOwner) {
    this.#owner = owner
    this.#writer = owner.writer
  }

  get principal(): string {
    return this.#writer.message?.principal ?? ''
  }
  get contextId(): string {
    return this.#writer.log.contextId
  }
  /** The slot of the turn that runs. */
  get slot(): Ticket | undefined {
    return this.#ticket
  }
  /** The task before the message whose turn it is; undefined where the message opens it. */
  get before(): Task | undefined {
    return this.#before
  }
  /** Whether the turn is held back, as one that may kill the process is. */
  get held(): boolean {
    return this.#held
  }
  /** Whether the turn waits for a slot. */
  get queued(): boolean {
    return this.#held || (this.#ticket?.waiting ?? false)
  }
  /** The last message taken in, while it has no answer. */
  get latest(): QueuedMessage | undefined {
    return this.#waiting.at(-1) ?? this.#writer.message
  }
  /** Whether messages wait behind the one whose turn it is. */
  get hasMore(): boolean {
    return this.#waiting.length > 0
  }

  /** @throws A2AError `rateLimited` when too many messages wait. */
  mustHaveRoom(): void {
    const { maxMailbox } = this.#owner.host
    if (this.#waiting.length >= maxMailbox) throw tooManyWait(this.#writer.log.id)
  }

  /** Takes in a message: it gets its turn at once where none runs or waits. */
  add(queued: QueuedMessage): void {
    this.#owner.host.queue.hold(queued)
    this.#waiting.push(queued)
    if (!this.#writer.message) this.next(true)
    else if (this.queued) this.#restInStore()
  }

  /** Takes in a message that an earlier process took in; one that is `held` gets its turn when it is released. */
  readd(queued: QueuedMessage, held: boolean): void {
    this.#owner.host.queue.hold(queued)
    this.#waiting.push(queued)
    if (this.#writer.message) return
    this.#held = held
    this.next()
    if (held) this.#restInStore()
  }

  /** Makes the task exist. One that waits for its slot is in the store alone from then on. */
  ensureTask(): void {
    if (this.#writer.log.exists) return
    this.#writer.ensureTask()
    if (this.queued) this.#restInStore()
  }

  /** Lets go of what the log has too, while the turn waits for its slot. */
  unload(): void {
    const { log } = this.#writer
    if (!this.queued || log.size <= smallLog || !log.unload()) return
    this.#before = undefined
    this.#writer.saved = undefined
    for (const queued of this.#unanswered()) letGoOfContent(queued)
  }

  /** Has in memory again what was let go of; undefined where it is there. */
  reload(): Promise<void> | undefined {
    if (!this.#writer.log.unloaded) return undefined
    this.#reading ??= this.#readBack().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Like `reload`, but a task that cannot be read is refused as one that cannot be written: it is taken up again later. */
  async isAtHand(): Promise<boolean> {
    const { log, message } = this.#writer
    try {
      await this.reload()
    } catch (thrown) {
      if (message && this.#writer.message === message) log.refused(toReadFault(thrown))
    }
    return !log.unloaded
  }

  /** Lets a turn start that was held, with what is known of the deaths that it has seen; false if there is none. */
  release(deaths: Deaths): boolean {
    const queued = this.#writer.message
    if (!this.#held || !queued) return false
    this.#held = false
    queued.deaths = deaths
    this.#enterQueue(false)
    return true
  }

  /** Called by the queue when there is a slot for the turn. */
  start(ticket: Ticket): void {
    this.#ticket = ticket
    const { message, log } = this.#writer
    if (message && log.unloaded) void this.#startLater(message, ticket)
    else if (message) this.#owner.begin(message)
  }

  /** Gives the next message its turn; where there is none, the task is idle. */
  next(isNew = false): void {
    const writer = this.#writer
    const queued = this.#waiting.shift()
    writer.message = queued
    if (!queued) {
      this.#owner.host.idle(writer.log)
      return
    }
    this.#submittedAt = 0
    this.#before = taskBefore(writer.log, queued, this.#waiting)
    if (!this.#held) this.#enterQueue(isNew)
  }

  /** The turn is over, or given up: its slot goes to others. */
  leave(): void {
    if (this.#writer.message) this.#letGo(this.#writer.message)
    this.#writer.message = undefined
    this.#held = false
    this.#ticket?.leave()
    this.#ticket = undefined
  }

  /** Lets go of the turn and of what waits behind it; gives the messages that have no answer. */
  abandon(): readonly QueuedMessage[] {
    const unanswered = this.#unanswered()
    for (const queued of this.#waiting) this.#letGo(queued)
    this.#waiting = []
    this.leave()
    return unanswered
  }

  /** Drops what waits: nothing more of the task is answered. */
  drop(reason: string): void {
    if (this.#waiting.length === 0) return
    this.#writer.drop(this.#waiting, reason)
    for (const queued of this.#waiting) this.#letGo(queued)
    this.#waiting = []
  }

  #letGo(queued: QueuedMessage): void {
    this.#owner.host.queue.letGo(queued)
    queued.bytes = 0
  }

  #enterQueue(isNew: boolean): void {
    const { queue } = this.#owner.host
    this.#ticket = isNew ? queue.enter(this) : queue.readmit(this)
    if (!this.#ticket.waiting) return
    const { log } = this.#writer
    // One that rests in the store is not read only to say that it waits.
    if (isInterrupted(log.state) && !log.unloaded) {
      this.#writer.status('TASK_STATE_SUBMITTED')
      this.#submittedAt = log.seq
    }
    if (log.exists) this.#restInStore()
  }

  #unanswered(): readonly QueuedMessage[] {
    const { message } = this.#writer
    return message ? [message, ...this.#waiting] : this.#waiting
  }

  /** Lets go of the task when it is stored, and when those who asked for that have seen it. */
  #restInStore(): void {
    const { log } = this.#writer
    if (log.size <= smallLog) return
    const rest = (): void => this.#owner.host.waits(log)
    soon(() => log.whenCommitted(() => soon(rest)))
  }

  /** The turn of a message whose content is yet to be read; it may be given up meanwhile. */
  async #startLater(message: QueuedMessage, ticket: Ticket): Promise<void> {
    const isAtHand = await this.isAtHand()
    if (isAtHand && this.#ticket === ticket && this.#writer.message === message)
      this.#owner.begin(message)
  }

  async #readBack(): Promise<void> {
    const { log, message } = this.#writer
    const { log: stored, memory, records } = await this.#owner.host.load(log)
    const unanswered = this.#unanswered()
    const contents = unanswered.map((queued) => contentOf(queued, records))
    log.reload(stored)
    for (const [index, content] of contents.entries())
      if (unanswered[index]) restoreContent(unanswered[index], content)
    this.#writer.saved = memory.saved
    if (!message || message !== this.#writer.message) return
    this.#before = taskBefore(log, message, this.#waiting)
    if (this.#before && this.#submittedAt > 0)
      this.#before = withStatusBefore(this.#before, records, this.#submittedAt)
  }
}

/** What holds less is kept: to read it back costs more than to have it. */
const smallLog = 4 * 1024

function toReadFault(thrown: unknown): A2AError {
  if (thrown instanceof A2AError) return thrown
  return new A2AError('unavailable', 'The task store cannot be read', { cause: thrown })
}
