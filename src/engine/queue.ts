import { A2AError } from '../protocol/errors.ts'

/**
 * Slots for turns. At most `slots` run at once; the others wait, and slots go round the principals, and within a
 * principal round its contexts, so that nobody's flood keeps the others waiting.
 */
export interface TurnQueue {
  /**
   * Takes a slot. `start` is called at once if one is free, else when its turn comes.
   * @throws A2AError `unavailable` when too many wait already.
   */
  enter(place: Place, start: () => void): Ticket
  /** How many run and wait, for metrics. */
  counts(): { readonly running: number; readonly waiting: number }
}

/** Whose turn it is: the keys of fairness. */
export interface Place {
  readonly principal: string
  readonly contextId: string
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

interface Entry {
  start(): void
  state: 'waiting' | 'running' | 'gone'
}

/** Makes a fair queue of turns. */
export function createTurnQueue(options: TurnQueueOptions = {}): TurnQueue {
  const slots = options.slots ?? 64
  const maxWaiting = options.maxWaiting ?? 10_000
  /** Principal → context → entries. A Map keeps its order, so taking from the front and putting back goes round. */
  const lines = new Map<string, Map<string, Entry[]>>()
  let running = 0
  let waiting = 0

  function run(entry: Entry): void {
    running++
    entry.state = 'running'
    entry.start()
  }

  function admit(): void {
    while (running < slots) {
      const entry = takeNext(lines)
      if (!entry) return
      if (entry.state === 'gone') continue
      waiting--
      run(entry)
    }
  }

  function leave(entry: Entry): void {
    const was = entry.state
    entry.state = 'gone'
    if (was === 'waiting') waiting--
    if (was !== 'running') return
    running--
    admit()
  }

  return {
    enter(place, start) {
      const entry: Entry = { start, state: 'waiting' }
      if (running < slots && waiting === 0) run(entry)
      else if (waiting >= maxWaiting)
        throw new A2AError('unavailable', 'Too many messages are waiting', { retryAfterSeconds: 1 })
      else {
        waiting++
        addTo(lines, place, entry)
      }
      return {
        get waiting() {
          return entry.state === 'waiting'
        },
        leave: () => leave(entry),
      }
    },
    counts: () => ({ running, waiting }),
  }
}

function addTo(lines: Map<string, Map<string, Entry[]>>, place: Place, entry: Entry): void {
  const contexts = lines.get(place.principal) ?? new Map<string, Entry[]>()
  lines.set(place.principal, contexts)
  const line = contexts.get(place.contextId)
  if (line) line.push(entry)
  else contexts.set(place.contextId, [entry])
}

function takeNext(lines: Map<string, Map<string, Entry[]>>): Entry | undefined {
  for (const [principal, contexts] of lines) {
    for (const [contextId, line] of contexts) {
      const entry = line.shift()
      contexts.delete(contextId)
      if (line.length > 0) contexts.set(contextId, line)
      lines.delete(principal)
      if (contexts.size > 0) lines.set(principal, contexts)
      return entry
    }
  }
  return undefined
}
