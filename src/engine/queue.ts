import { A2AError } from '../protocol/errors.ts'
import { Registry } from '../shared/registry.ts'

/**
 * Slots for turns. At most `slots` run at once; the others wait, and slots go round the principals, and within a
 * principal round its contexts, so that nobody's flood keeps the others waiting. A turn cannot be interrupted, so one
 * principal holds at most half of the slots, rounded up, even while nobody else wants them; callers without a name have
 * no such share.
 *
 * A turn that waits for somebody else's work is away: others use its slot. It takes one again, before new turns, so what
 * it waits for may itself need a slot here.
 */
export interface TurnQueue {
  /** @throws A2AError `unavailable` when a turn of this principal would have to wait and too many do already. */
  mustHaveRoom(principal: string): void
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
  /** Gives the slot back, or leaves the queue. Idempotent. */
  leave(): void
}

/** Bounds of the queue. */
interface TurnQueueOptions {
  /** Turns at once; 2,048 by default. */
  readonly slots?: number
  /** Turns that may wait; 10,000 by default. */
  readonly maxWaiting?: number
}

/** Makes a fair queue of turns. */
export function createTurnQueue(options: TurnQueueOptions = {}): TurnQueue {
  return new FairQueue(options.slots ?? 2_048, options.maxWaiting ?? 10_000)
}

const noWait = Promise.resolve()

class FairQueue implements TurnQueue {
  readonly #slots: number
  readonly #share: number
  readonly #maxWaiting: number
  readonly #waiting = new FairLines<Place>()
  readonly #returning = new FairLines<Place>()
  /** The slots of each principal that has a name. */
  readonly #held = new Registry<number>()
  #running = 0
  #inLine = 0
  /** Those in line that the limit is for. */
  #counted = 0
  #away = 0
  #isHandingOut = false
  readonly #mayGo = (principal: string): boolean => this.#mayHold(principal)

  constructor(slots: number, maxWaiting: number) {
    this.#slots = slots
    this.#share = Math.ceil(slots / 2)
    this.#maxWaiting = maxWaiting
  }

  mustHaveRoom(principal: string): void {
    if (this.#counted >= this.#maxWaiting && !this.#hasSlotFor(principal))
      throw new A2AError('unavailable', 'Too many messages are waiting', { retryAfterSeconds: 1 })
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
    const isFree = this.#hasSlotFor(place.principal)
    if (isFree) this.#occupy(place)
    else this.#join(place, 'returning')
    return isFree
  }

  left(place: Place): void {
    this.#vacate(place)
    place.state = 'gone'
    this.#handOut()
  }

  /** Slots are free only while nobody in line may have one, so whoever may have one need not look at the line. */
  #admit(place: Place): Place {
    if (this.#hasSlotFor(place.principal)) this.#occupy(place)
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

  #hasSlotFor(principal: string): boolean {
    return this.#running < this.#slots && this.#mayHold(principal)
  }

  #mayHold(principal: string): boolean {
    return principal === '' || (this.#held.get(principal) ?? 0) < this.#share
  }

  #occupy(place: Place): void {
    const { state } = place
    place.state = 'running'
    this.#running++
    this.#hold(place.principal, 1)
    if (state === 'new' || state === 'waiting') place.turn.start(place)
    else place.resume()
  }

  #join(place: Place, state: 'waiting' | 'returning'): void {
    place.state = state
    this.#inLine++
    if (place.isCounted && state === 'waiting') this.#counted++
    this.#lineOf(place).add(place)
  }

  /** Takes the place out of the state that it is in. */
  #vacate(place: Place): void {
    if (place.state === 'away') this.#away--
    else if (place.state === 'running') {
      this.#running--
      this.#hold(place.principal, -1)
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
    if (place.isCounted && place.waiting) this.#counted--
  }

  #hold(principal: string, by: 1 | -1): void {
    if (principal === '') return
    const held = (this.#held.get(principal) ?? 0) + by
    if (held > 0) this.#held.set(principal, held)
    else this.#held.delete(principal)
  }
}

type State = 'new' | 'waiting' | 'running' | 'away' | 'returning' | 'gone'

class Place implements Ticket, InLine {
  readonly turn: QueuedTurn
  readonly principal: string
  readonly contextId: string
  /** Whether it counts in the limit of those who wait. */
  readonly isCounted: boolean
  readonly #queue: FairQueue
  state: State = 'new'
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

/** Who waits, by the two keys of fairness. */
interface InLine {
  readonly principal: string
  readonly contextId: string
}

/**
 * Lines of those who wait. Whoever is next goes round the principals, and within a principal round its contexts; within
 * a context the order is that of arrival.
 */
class FairLines<T extends InLine> {
  /** A Map keeps its order, so taking from the front and putting back goes round. */
  readonly #lines = new Map<string, Map<string, T[]>>()

  add(one: T): void {
    const { principal, contextId } = one
    const contexts = this.#lines.get(principal) ?? new Map<string, T[]>()
    this.#lines.set(principal, contexts)
    const line = contexts.get(contextId)
    if (line) line.push(one)
    else contexts.set(contextId, [one])
  }

  /** Nothing is kept of one who leaves, however long the others wait. */
  remove(gone: T): void {
    const { principal, contextId } = gone
    const contexts = this.#lines.get(principal)
    const line = contexts?.get(contextId)?.filter((one) => one !== gone)
    if (!contexts || !line) return
    if (line.length > 0) contexts.set(contextId, line)
    else contexts.delete(contextId)
    if (contexts.size === 0) this.#lines.delete(principal)
  }

  /** Takes out the next of a principal that may go. */
  take(mayGo: (principal: string) => boolean): T | undefined {
    for (const [principal, contexts] of this.#lines)
      if (mayGo(principal)) return this.#takeOf(principal, contexts)
    return undefined
  }

  #takeOf(principal: string, contexts: Map<string, T[]>): T | undefined {
    for (const [contextId, line] of contexts) {
      const one = line.shift()
      contexts.delete(contextId)
      if (line.length > 0) contexts.set(contextId, line)
      this.#lines.delete(principal)
      if (contexts.size > 0) this.#lines.set(principal, contexts)
      return one
    }
    return undefined
  }
}
