import { A2AError } from '../protocol/errors.ts'

/**
 * Slots for turns. At most `slots` run at once; the others wait, and slots go round the principals, and within a
 * principal round its contexts, so that nobody's flood keeps the others waiting.
 */
export interface TurnQueue {
  /** @throws A2AError `unavailable` when too many wait already. */
  mustHaveRoom(): void
  /**
   * Takes a slot. The turn is started at once if one is free, else when it is next. It is never refused: a message that
   * was taken in while there was room must not be lost because others came before its turn.
   */
  enter(turn: QueuedTurn): Ticket
  /** How many run and wait, for metrics. */
  counts(): { readonly running: number; readonly waiting: number }
}

/** A turn that wants a slot; the first two are the keys of fairness. */
export interface QueuedTurn {
  readonly principal: string
  readonly contextId: string
  start(): void
}

/** A place in the queue, later a slot. */
export interface Ticket {
  readonly waiting: boolean
  /** Gives the slot back, or leaves the queue. Idempotent. */
  leave(): void
}

/** Bounds of the queue. */
export interface TurnQueueOptions {
  /** Turns at once; 64 by default. */
  readonly slots?: number
  /** Turns that may wait; 10,000 by default. */
  readonly maxWaiting?: number
}

/** Makes a fair queue of turns. */
export function createTurnQueue(options: TurnQueueOptions = {}): TurnQueue {
  return new FairQueue(options.slots ?? 64, options.maxWaiting ?? 10_000)
}

/** Principal → context → places. A Map keeps its order, so taking from the front and putting back goes round. */
type Lines = Map<string, Map<string, Place[]>>

class FairQueue implements TurnQueue {
  readonly #slots: number
  readonly #maxWaiting: number
  readonly #lines: Lines = new Map()
  #running = 0
  #waiting = 0

  constructor(slots: number, maxWaiting: number) {
    this.#slots = slots
    this.#maxWaiting = maxWaiting
  }

  mustHaveRoom(): void {
    if (this.#running >= this.#slots && this.#waiting >= this.#maxWaiting)
      throw new A2AError('unavailable', 'Too many messages are waiting', { retryAfterSeconds: 1 })
  }

  enter(turn: QueuedTurn): Ticket {
    const place = new Place(this, turn)
    if (this.#running < this.#slots && this.#waiting === 0) this.#run(place)
    else {
      this.#waiting++
      addTo(this.#lines, place)
    }
    return place
  }

  counts(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#waiting }
  }

  /** A place was left; if it was a slot, whoever is next gets it. */
  left(place: Place, was: Place['state']): void {
    if (was === 'waiting') {
      this.#waiting--
      removeFrom(this.#lines, place)
    }
    if (was !== 'running') return
    this.#running--
    while (this.#running < this.#slots) {
      const next = takeNext(this.#lines)
      if (!next) return
      this.#waiting--
      this.#run(next)
    }
  }

  #run(place: Place): void {
    this.#running++
    place.state = 'running'
    place.turn.start()
  }
}

class Place implements Ticket {
  readonly turn: QueuedTurn
  readonly #queue: FairQueue
  state: 'waiting' | 'running' | 'gone' = 'waiting'

  constructor(queue: FairQueue, turn: QueuedTurn) {
    this.#queue = queue
    this.turn = turn
  }

  get waiting(): boolean {
    return this.state === 'waiting'
  }

  leave(): void {
    const was = this.state
    this.state = 'gone'
    this.#queue.left(this, was)
  }
}

function addTo(lines: Lines, place: Place): void {
  const { principal, contextId } = place.turn
  const contexts = lines.get(principal) ?? new Map<string, Place[]>()
  lines.set(principal, contexts)
  const line = contexts.get(contextId)
  if (line) line.push(place)
  else contexts.set(contextId, [place])
}

/** Nothing is kept of one who leaves, however long the slots stay taken. */
function removeFrom(lines: Lines, place: Place): void {
  const { principal, contextId } = place.turn
  const contexts = lines.get(principal)
  const line = contexts?.get(contextId)?.filter((one) => one !== place)
  if (!contexts || !line) return
  if (line.length > 0) contexts.set(contextId, line)
  else contexts.delete(contextId)
  if (contexts.size === 0) lines.delete(principal)
}

function takeNext(lines: Lines): Place | undefined {
  for (const [principal, contexts] of lines) {
    for (const [contextId, line] of contexts) {
      const place = line.shift()
      contexts.delete(contextId)
      if (line.length > 0) contexts.set(contextId, line)
      lines.delete(principal)
      if (contexts.size > 0) lines.set(principal, contexts)
      return place
    }
  }
  return undefined
}
