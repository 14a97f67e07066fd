import { A2AError } from '../protocol/errors.ts'
import type { Clock } from '../shared/clock.ts'
import { FairQueue } from '../shared/fair-share.ts'
import { Registry } from '../shared/registry.ts'
import type { TaskRun } from './task-run.ts'

/** A message that waits or whose turn runs, as a load on memory. */
export interface HeldMessage {
  readonly principal: string
  readonly bytes: number
}

/** A turn that wants a slot: slots go round by its principal and its context, and `start` is called once it has one. */
type QueuedTurn = Pick<TaskRun, 'principal' | 'contextId' | 'start'>

/** Bounds of the queue. */
interface TurnQueueOptions {
  /** Turns at once; 2,048 by default. */
  readonly slots?: number
  /** Turns that may wait; 10,000 by default. */
  readonly maxWaiting?: number
  /** Turns of one principal that may wait; 1,000 by default. */
  readonly maxWaitingEach?: number
  /** Bytes of messages that wait or run, one principal's a quarter of it; 128 MiB by default. */
  readonly maxBytes?: number
  /** Receives how long turns waited and ran. */
  readonly observer?: QueueObserver
}

/** Receives how long each turn waited for its slot, and from then on until it left, in milliseconds. */
interface QueueObserver {
  readonly clock: Pick<Clock, 'elapsed'>
  waited(ms: number): void
  turn(ms: number): void
}

const defaultBounds: Required<Omit<TurnQueueOptions, 'observer'>> = {
  slots: 2_048,
  maxWaiting: 10_000,
  maxWaitingEach: 1_000,
  maxBytes: 128 * 1024 * 1024,
}

const noWait = Promise.resolve()

/**
 * Slots for turns. At most `slots` run at once; the others wait. Slots go round the principals, and within a principal
 * round its contexts, so that one principal's flood does not keep the others waiting. A turn cannot be interrupted, so
 * one principal holds at most half of the slots, rounded up, even while no other wants them; the empty principal stands
 * for callers without a name and has no such share.
 *
 * A turn that waits for remote work is away: others use its slot. It takes one again, before new turns, so what it waits
 * for may itself need a slot here.
 */
export class TurnQueue {
  readonly #options: typeof defaultBounds
  readonly #observer: QueueObserver | undefined
  readonly #slots: number
  readonly #slotsEach: number
  readonly #bytesEach: number
  readonly #waiting = new FairQueue<Ticket>()
  readonly #returning = new FairQueue<Ticket>()
  readonly #shares = new Shares()
  #running = 0
  /** Those in line that the limit is for. */
  #counted = 0
  #away = 0
  #bytes = 0
  #isHandingOut = false
  readonly #mayGo = (principal: string): boolean => this.#mayHold(this.#shares.find(principal))

  constructor({ observer, ...options }: TurnQueueOptions = {}) {
    const bounds = { ...defaultBounds, ...options }
    this.#options = bounds
    this.#observer = observer
    this.#slots = bounds.slots
    this.#slotsEach = Math.ceil(bounds.slots / 2)
    this.#bytesEach = Math.floor(bounds.maxBytes / 4)
  }

  /**
   * @throws A2AError when a turn of this principal would have to wait: `rateLimited` where too many of its own do
   * already, `unavailable` where too many of all do.
   */
  mustHaveRoom(principal: string): void {
    const share = this.#shares.find(principal)
    if (this.#hasSlotFor(share)) return
    const { maxWaiting, maxWaitingEach } = this.#options
    if (share && share.waiting >= maxWaitingEach)
      throw new A2AError('rateLimited', 'Too many of your messages are waiting', soon)
    if (this.#counted >= maxWaiting)
      throw new A2AError('unavailable', 'Too many messages are waiting', soon)
  }

  /**
   * @throws A2AError `unavailable` when a message of so many bytes would be too much beside those that wait or run, of all
   * or of this principal; an answer that a task waits for is accepted beyond the principal's share.
   */
  mustHold({ principal, bytes }: HeldMessage, isAnswer: boolean): void {
    const others = this.#shares.find(principal)?.bytes ?? 0
    if (principal !== '' && !isAnswer && others + bytes > this.#bytesEach)
      throw new A2AError('unavailable', tooMuch('Your messages that wait', this.#bytesEach), soon)
    const { maxBytes } = this.#options
    if (this.#bytes + bytes > maxBytes)
      throw new A2AError('unavailable', tooMuch('The messages that wait', maxBytes), soon)
  }

  /** Counts a message that is taken in, until it is released. */
  hold({ principal, bytes }: HeldMessage): void {
    this.#bytes += bytes
    const share = this.#shares.take(principal)
    if (share) share.bytes += bytes
  }

  /** The message has had its turn, or never will. */
  release({ principal, bytes }: HeldMessage): void {
    this.#bytes -= bytes
    const share = this.#shares.find(principal)
    if (!share) return
    share.bytes -= bytes
    this.#shares.tidy(share)
  }

  /**
   * Takes a slot. The turn is started at once if one is free, else when it is next. It is never rejected: a message that
   * was taken in while there was room must not be lost because others came before its turn.
   */
  enter(turn: QueuedTurn): Ticket {
    return this.#admit(new Ticket(this, turn, true))
  }

  /** Like `enter`, for a message that was taken in earlier: it counts in no limit. */
  readmit(turn: QueuedTurn): Ticket {
    return this.#admit(new Ticket(this, turn, false))
  }

  /** How many run, wait for a slot, and are away, for metrics. */
  counts(): { readonly running: number; readonly waiting: number; readonly away: number } {
    return {
      running: this.#running,
      waiting: this.#waiting.size + this.#returning.size,
      away: this.#away,
    }
  }

  /** A turn goes away, from a slot or from the line of those that come back. */
  goAway(ticket: Ticket): void {
    this.#vacate(ticket)
    ticket.state = 'away'
    this.#away++
    this.#handOut()
  }

  /** Whether a turn that comes back has a slot at once; else it is in line for one. */
  comeBack(ticket: Ticket): boolean {
    this.#vacate(ticket)
    const isFree = this.#hasSlotFor(ticket.share)
    if (isFree) this.#occupy(ticket)
    else this.#join(ticket, 'returning')
    return isFree
  }

  /** A turn has left: its slot goes to the next. */
  left(ticket: Ticket): void {
    if (this.#observer && ticket.startedAt >= 0)
      this.#observer.turn(this.#observer.clock.elapsed() - ticket.startedAt)
    this.#vacate(ticket)
    ticket.state = 'gone'
    if (ticket.share) {
      ticket.share.turns--
      this.#shares.tidy(ticket.share)
    }
    this.#handOut()
  }

  /** Invariant: a free slot means that no queued turn is eligible for it, so a new turn need not look at the line. */
  #admit(ticket: Ticket): Ticket {
    if (this.#observer) ticket.enteredAt = this.#observer.clock.elapsed()
    ticket.share = this.#shares.take(ticket.principal)
    if (ticket.share) ticket.share.turns++
    if (this.#hasSlotFor(ticket.share)) this.#occupy(ticket)
    else this.#join(ticket, 'waiting')
    return ticket
  }

  /** A loop that is not entered twice: each turn that starts may go away at once, and thousands may follow it. */
  #handOut(): void {
    if (this.#isHandingOut || this.#waiting.size + this.#returning.size === 0) return
    this.#isHandingOut = true
    try {
      while (this.#running < this.#slots) {
        const next = this.#returning.take(this.#mayGo) ?? this.#waiting.take(this.#mayGo)
        if (!next) return
        this.#count(next, -1)
        this.#occupy(next)
      }
    } finally {
      this.#isHandingOut = false
    }
  }

  #hasSlotFor(share: PrincipalShare | undefined): boolean {
    return this.#running < this.#slots && this.#mayHold(share)
  }

  #mayHold(share: PrincipalShare | undefined): boolean {
    return !share || share.running < this.#slotsEach
  }

  #occupy(ticket: Ticket): void {
    const { state } = ticket
    ticket.state = 'running'
    this.#running++
    if (ticket.share) ticket.share.running++
    if (this.#observer && ticket.startedAt < 0) this.#began(ticket, state, this.#observer)
    if (state === 'new' || state === 'waiting') ticket.turn.start(ticket)
    else ticket.resume()
  }

  #began(ticket: Ticket, before: State, { clock, waited }: QueueObserver): void {
    // A turn that has a slot at once has not waited, and does not read the clock.
    ticket.startedAt = before === 'waiting' ? clock.elapsed() : ticket.enteredAt
    waited(ticket.startedAt - ticket.enteredAt)
  }

  #join(ticket: Ticket, state: 'waiting' | 'returning'): void {
    ticket.state = state
    this.#count(ticket, 1)
    this.#lineOf(ticket).add(ticket, ticket.principal, ticket.contextId)
  }

  /** Takes the ticket out of the state that it is in. */
  #vacate(ticket: Ticket): void {
    if (ticket.state === 'away') this.#away--
    else if (ticket.state === 'running') {
      this.#running--
      if (ticket.share) ticket.share.running--
    } else {
      this.#lineOf(ticket).remove(ticket, ticket.principal, ticket.contextId)
      this.#count(ticket, -1)
    }
  }

  #lineOf(ticket: Ticket): FairQueue<Ticket> {
    return ticket.waiting ? this.#waiting : this.#returning
  }

  /** Counts a turn that waits in the limit of those, unless it was taken in before. */
  #count({ isCounted, waiting, share }: Ticket, by: 1 | -1): void {
    if (!isCounted || !waiting) return
    this.#counted += by
    if (share) share.waiting += by
  }
}

const soon = { retryAfterSeconds: 1 }

function tooMuch(what: string, bytes: number): string {
  return `${what} or run are more than ${bytes} bytes; send it again later, or less at once`
}

type State = 'new' | 'waiting' | 'running' | 'away' | 'returning' | 'gone'

/** A place in the queue, later a slot. */
export class Ticket {
  readonly turn: QueuedTurn
  readonly principal: string
  readonly contextId: string
  /** Whether it counts in the limit of waiting turns. */
  readonly isCounted: boolean
  readonly #queue: TurnQueue
  /** What its principal has; undefined for callers without a name. */
  share: PrincipalShare | undefined
  state: State = 'new'
  /** By the observer's clock; negative before. */
  enteredAt = -1
  startedAt = -1
  /** How often it is away. */
  #depth = 0
  #resume: (() => void) | undefined

  constructor(queue: TurnQueue, turn: QueuedTurn, isCounted: boolean) {
    this.#queue = queue
    this.turn = turn
    this.principal = turn.principal
    this.contextId = turn.contextId
    this.isCounted = isCounted
  }

  /** Whether the turn has not begun yet. */
  get waiting(): boolean {
    return this.state === 'waiting'
  }

  /** Lets others have the slot until `back` is called as often as this was. */
  away(): void {
    if (this.state === 'gone' || this.#depth++ > 0) return
    this.#queue.goAway(this)
    this.resume()
  }

  /** Resolves when the turn has a slot again, or needs none: it is away once more, or has left. */
  back(): Promise<void> {
    if (this.state === 'gone' || --this.#depth > 0 || this.#queue.comeBack(this)) return noWait
    return new Promise((resolve) => {
      this.#resume = resolve
    })
  }

  /** Gives the slot back, or leaves the queue. May be called twice. */
  leave(): void {
    if (this.state === 'gone') return
    this.#queue.left(this)
    this.resume()
  }

  /** Ends the wait for a slot. */
  resume(): void {
    this.#resume?.()
    this.#resume = undefined
  }
}

/** What one principal has of what all share. */
interface PrincipalShare {
  readonly principal: string
  /** Its slots. */
  running: number
  /** Its turns in line that a limit is for. */
  waiting: number
  /** The bytes of its messages that wait or run. */
  bytes: number
  /** Its turns that have not left, wherever they are. */
  turns: number
}

/**
 * The shares of principals that have something; the empty principal has none. The share that was found or taken last
 * stays while it is empty, until another one is found: most requests come from where the last one came.
 */
class Shares {
  readonly #all = new Registry<PrincipalShare>()
  #last: PrincipalShare | undefined

  find(principal: string): PrincipalShare | undefined {
    if (this.#last?.principal === principal) return this.#last
    if (principal === '') return undefined
    const share = this.#all.get(principal)
    if (share) this.#look(share)
    return share
  }

  /** The share of a principal, from now on. */
  take(principal: string): PrincipalShare | undefined {
    const known = this.find(principal)
    if (known || principal === '') return known
    const share = { principal, running: 0, waiting: 0, bytes: 0, turns: 0 }
    this.#all.set(principal, share)
    this.#look(share)
    return share
  }

  /** Forgets a share that holds nothing any more. */
  tidy(share: PrincipalShare): void {
    if (share.turns === 0 && share.bytes === 0 && share !== this.#last)
      this.#all.delete(share.principal)
  }

  #look(share: PrincipalShare): void {
    const before = this.#last
    this.#last = share
    if (before) this.tidy(before)
  }
}
