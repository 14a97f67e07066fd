import { A2AError } from '../protocol/errors.ts'
import type { Clock } from '../shared/clock.ts'
import { FairLines, type InLine } from './lines.ts'
import { type Share, Shares } from './shares.ts'

/**
 * Slots for turns. At most `slots` run at once; the others wait, and slots go round the principals, and within a
 * principal round its contexts, so that nobody's flood keeps the others waiting. A turn cannot be interrupted, so one
 * principal holds at most half of the slots, rounded up, even while nobody else wants them; the empty principal is nobody in
 * particular and has no such share.
 *
 * A turn that waits for somebody else's work is away: others use its slot. It takes one again, before new turns, so what
 * it waits for may itself need a slot here.
 */
export interface TurnQueue {
  /**
   * @throws A2AError when a turn of this principal would have to wait: `rateLimited` where too many of its own do
   * already, `unavailable` where too many of all do.
   */
  mustHaveRoom(principal: string): void
  /**
   * @throws A2AError `unavailable` when a message of so many bytes would be too much beside those that wait or run, of all
   * or of this principal; an answer that a task waits for is taken in beyond the principal's share.
   */
  mustHold(message: HeldMessage, isAnswer: boolean): void
  /** Counts a message that is taken in, until it is let go. */
  hold(message: HeldMessage): void
  /** The message has had its turn, or never will. */
  letGo(message: HeldMessage): void
  /**
   * Takes a slot. The turn is started at once if one is free, else when it is next. It is never refused: a message that
   * was taken in while there was room must not be lost because others came before its turn.
   */
  enter(turn: QueuedTurn): Ticket
  /** Like `enter`, for a message that was taken in earlier: it counts in no limit. */
  readmit(turn: QueuedTurn): Ticket
  /** How many run, wait for a slot, and are away, for metrics. */
  counts(): { readonly running: number; readonly waiting: number; readonly away: number }
}

/** A message that waits or whose turn runs, as a load on memory. */
export interface HeldMessage {
  readonly principal: string
  readonly bytes: number
}

/** A turn that wants a slot. */
export interface QueuedTurn extends InLine {
  /** Called with the turn's own ticket once it has a slot. */
  start(ticket: Ticket): void
}

/** A place in the queue, later a slot. */
export interface Ticket {
  /** Whether the turn has not begun yet. */
  readonly waiting: boolean
  /** Lets others have the slot until `back` is called as often as this was. */
  away(): void
  /** Resolves when the turn has a slot again, or needs none: it is away once more, or has left. */
  back(): Promise<void>
  /** Gives the slot back, or leaves the queue. May be called twice. */
  leave(): void
}

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
  /** Is told how long turns waited and ran. */
  readonly observer?: QueueObserver
}

/** Is told how long each turn waited for its slot, and from then on until it left, in milliseconds. */
interface QueueObserver {
  readonly clock: Pick<Clock, 'elapsed'>
  waited(ms: number): void
  turn(ms: number): void
}

type Bounds = Required<Omit<TurnQueueOptions, 'observer'>>

/** Makes a fair queue of turns. */
export function createTurnQueue(options: TurnQueueOptions = {}): TurnQueue {
  return new FairQueue({
    slots: 2_048,
    maxWaiting: 10_000,
    maxWaitingEach: 1_000,
    maxBytes: 128 * 1024 * 1024,
    ...options,
  })
}

const noWait = Promise.resolve()

class FairQueue implements TurnQueue {
  readonly #options: Bounds
  readonly #observer: QueueObserver | undefined
  readonly #slots: number
  readonly #slotsEach: number
  readonly #bytesEach: number
  readonly #waiting = new FairLines<Place>()
  readonly #returning = new FairLines<Place>()
  readonly #shares = new Shares()
  #running = 0
  #inLine = 0
  /** Those in line that the limit is for. */
  #counted = 0
  #away = 0
  #bytes = 0
  #isHandingOut = false
  readonly #mayGo = (principal: string): boolean => this.#mayHold(this.#shares.find(principal))

  constructor({ observer, ...options }: Bounds & Pick<TurnQueueOptions, 'observer'>) {
    this.#options = options
    this.#observer = observer
    this.#slots = options.slots
    this.#slotsEach = Math.ceil(options.slots / 2)
    this.#bytesEach = Math.floor(options.maxBytes / 4)
  }

  mustHaveRoom(principal: string): void {
    const share = this.#shares.find(principal)
    if (this.#hasSlotFor(share)) return
    const { maxWaiting, maxWaitingEach } = this.#options
    if (share && share.waiting >= maxWaitingEach)
      throw new A2AError('rateLimited', 'Too many of your messages are waiting', soon)
    if (this.#counted >= maxWaiting)
      throw new A2AError('unavailable', 'Too many messages are waiting', soon)
  }

  mustHold({ principal, bytes }: HeldMessage, isAnswer: boolean): void {
    const others = this.#shares.find(principal)?.bytes ?? 0
    if (principal !== '' && !isAnswer && others + bytes > this.#bytesEach)
      throw new A2AError('unavailable', tooMuch('Your messages that wait', this.#bytesEach), soon)
    const { maxBytes } = this.#options
    if (this.#bytes + bytes > maxBytes)
      throw new A2AError('unavailable', tooMuch('The messages that wait', maxBytes), soon)
  }

  hold({ principal, bytes }: HeldMessage): void {
    this.#bytes += bytes
    const share = this.#shares.take(principal)
    if (share) share.bytes += bytes
  }

  letGo({ principal, bytes }: HeldMessage): void {
    this.#bytes -= bytes
    const share = this.#shares.find(principal)
    if (!share) return
    share.bytes -= bytes
    this.#shares.tidy(share)
  }

  enter(turn: QueuedTurn): Ticket {
    return this.#admit(new Place(this, turn, true))
  }

  readmit(turn: QueuedTurn): Ticket {
    return this.#admit(new Place(this, turn, false))
  }

  counts(): { readonly running: number; readonly waiting: number; readonly away: number } {
    return { running: this.#running, waiting: this.#inLine, away: this.#away }
  }

  /** Somebody goes away, from a slot or from the line of those who come back. */
  goAway(place: Place): void {
    this.#vacate(place)
    place.state = 'away'
    this.#away++
    this.#handOut()
  }

  /** Whether one who comes back has a slot at once; else it is in line for one. */
  comeBack(place: Place): boolean {
    this.#vacate(place)
    const isFree = this.#hasSlotFor(place.share)
    if (isFree) this.#occupy(place)
    else this.#join(place, 'returning')
    return isFree
  }

  left(place: Place): void {
    if (this.#observer && place.startedAt >= 0)
      this.#observer.turn(this.#observer.clock.elapsed() - place.startedAt)
    this.#vacate(place)
    place.state = 'gone'
    if (place.share) {
      place.share.turns--
      this.#shares.tidy(place.share)
    }
    this.#handOut()
  }

  /** Slots are free only while nobody in line may have one, so whoever may have one need not look at the line. */
  #admit(place: Place): Place {
    if (this.#observer) place.enteredAt = this.#observer.clock.elapsed()
    place.share = this.#shares.take(place.principal)
    if (place.share) place.share.turns++
    if (this.#hasSlotFor(place.share)) this.#occupy(place)
    else this.#join(place, 'waiting')
    return place
  }

  /** A loop that is not entered twice: each turn that starts may go away at once, and thousands may follow it. */
  #handOut(): void {
    if (this.#isHandingOut || this.#inLine === 0) return
    this.#isHandingOut = true
    try {
      while (this.#running < this.#slots) {
        const next = this.#returning.take(this.#mayGo) ?? this.#waiting.take(this.#mayGo)
        if (!next) return
        this.#uncount(next)
        this.#occupy(next)
      }
    } finally {
      this.#isHandingOut = false
    }
  }

  #hasSlotFor(share: Share | undefined): boolean {
    return this.#running < this.#slots && this.#mayHold(share)
  }

  #mayHold(share: Share | undefined): boolean {
    return !share || share.running < this.#slotsEach
  }

  #occupy(place: Place): void {
    const { state } = place
    place.state = 'running'
    this.#running++
    if (place.share) place.share.running++
    if (this.#observer && place.startedAt < 0) this.#began(place, state, this.#observer)
    if (state === 'new' || state === 'waiting') place.turn.start(place)
    else place.resume()
  }

  #began(place: Place, before: State, { clock, waited }: QueueObserver): void {
    // Whoever has a slot at once has not waited, and need not ask what time it is.
    place.startedAt = before === 'waiting' ? clock.elapsed() : place.enteredAt
    waited(place.startedAt - place.enteredAt)
  }

  #join(place: Place, state: 'waiting' | 'returning'): void {
    place.state = state
    this.#inLine++
    if (place.isCounted && state === 'waiting') this.#count(place, 1)
    this.#lineOf(place).add(place)
  }

  /** Takes the place out of the state that it is in. */
  #vacate(place: Place): void {
    if (place.state === 'away') this.#away--
    else if (place.state === 'running') {
      this.#running--
      if (place.share) place.share.running--
    } else {
      this.#lineOf(place).remove(place)
      this.#uncount(place)
    }
  }

  #lineOf(place: Place): FairLines<Place> {
    return place.waiting ? this.#waiting : this.#returning
  }

  #uncount(place: Place): void {
    this.#inLine--
    if (place.isCounted && place.waiting) this.#count(place, -1)
  }

  #count({ share }: Place, by: 1 | -1): void {
    this.#counted += by
    if (share) share.waiting += by
  }
}

const soon = { retryAfterSeconds: 1 }

function tooMuch(what: string, bytes: number): string {
  return `${what} or run are more than ${bytes} bytes; send it again later, or less at once`
}

type State = 'new' | 'waiting' | 'running' | 'away' | 'returning' | 'gone'

class Place implements Ticket, InLine {
  readonly turn: QueuedTurn
  readonly principal: string
  readonly contextId: string
  /** Whether it counts in the limit of those who wait. */
  readonly isCounted: boolean
  readonly #queue: FairQueue
  /** What its principal has; undefined where it is nobody in particular. */
  share: Share | undefined
  state: State = 'new'
  /** By the observer's clock; negative before. */
  enteredAt = -1
  startedAt = -1
  /** How often it is away. */
  #depth = 0
  #resume: (() => void) | undefined

  constructor(queue: FairQueue, turn: QueuedTurn, isCounted: boolean) {
    this.#queue = queue
    this.turn = turn
    this.principal = turn.principal
    this.contextId = turn.contextId
    this.isCounted = isCounted
  }

  get waiting(): boolean {
    return this.state === 'waiting'
  }

  away(): void {
    if (this.state === 'gone' || this.#depth++ > 0) return
    this.#queue.goAway(this)
    this.resume()
  }

  back(): Promise<void> {
    if (this.state === 'gone' || --this.#depth > 0 || this.#queue.comeBack(this)) return noWait
    return new Promise((resolve) => {
      this.#resume = resolve
    })
  }

  leave(): void {
    if (this.state === 'gone') return
    this.#queue.left(this)
    this.resume()
  }

  /** Whoever waits to come back goes on. */
  resume(): void {
    this.#resume?.()
    this.#resume = undefined
  }
}
