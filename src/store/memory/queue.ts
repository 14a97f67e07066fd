/**
 * First in, first out, with members that may leave early. A plain Map would do, were its first key not slow to find after
 * many deletions.
 */
export class Queue<T> {
  first: Link<T> | undefined
  last: Link<T> | undefined
  size = 0

  get oldest(): T | undefined {
    return this.first?.member
  }

  join(member: T): Link<T> {
    const link = new Link(this, member)
    this.append(link)
    return link
  }

  append(link: Link<T>): void {
    link.older = this.last
    if (this.last) this.last.newer = link
    else this.first = link
    this.last = link
    this.size += 1
  }
}

/** A member's place in a queue; leaving costs the same from anywhere. */
export class Link<T> {
  queue: Queue<T>
  readonly member: T
  older: Link<T> | undefined
  newer: Link<T> | undefined

  constructor(queue: Queue<T>, member: T) {
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

  /** Leaves, and joins another queue. */
  move(to: Queue<T>): void {
    this.leave()
    this.queue = to
    to.append(this)
  }
}
