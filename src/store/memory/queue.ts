/** First in, first out, with members that may leave early. */
export interface Queue<T> {
  readonly oldest: T | undefined
  readonly size: number
  join(member: T): Link<T>
}

/** A member's place in a queue; leaving costs the same from anywhere. */
export interface Link<T> {
  readonly queue: Queue<T>
  leave(): undefined
}

/** An empty queue. A plain Map would do, were its first key not slow to find after many deletions. */
export function createQueue<T>(): Queue<T> {
  return new LinkedQueue<T>()
}

class LinkedQueue<T> implements Queue<T> {
  first: Place<T> | undefined
  last: Place<T> | undefined
  size = 0

  get oldest(): T | undefined {
    return this.first?.member
  }

  join(member: T): Link<T> {
    const place = new Place(this, member)
    place.older = this.last
    if (this.last) this.last.newer = place
    else this.first = place
    this.last = place
    this.size += 1
    return place
  }
}

class Place<T> implements Link<T> {
  readonly queue: LinkedQueue<T>
  readonly member: T
  older: Place<T> | undefined
  newer: Place<T> | undefined

  constructor(queue: LinkedQueue<T>, member: T) {
    this.queue = queue
    this.member = member
  }

  /** To be called once. */
  leave(): undefined {
    const { queue, older, newer } = this
    if (older) older.newer = newer
    else queue.first = newer
    if (newer) newer.older = older
    else queue.last = older
    this.older = this.newer = undefined
    queue.size -= 1
    return undefined
  }
}
