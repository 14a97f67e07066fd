/** What can stand in a queue. It carries its own links: to join costs no memory, and to leave the same from anywhere. */
export interface Linked<T extends Linked<T>> {
  queue: Queue<T> | undefined
  older: T | undefined
  newer: T | undefined
}

/**
 * First in, first out, with members that may leave early. A plain Map would do, were its first key not slow to find after
 * many deletions.
 */
export class Queue<T extends Linked<T>> {
  oldest: T | undefined
  #newest: T | undefined
  size = 0

  /** Takes in a member that stands in no queue. */
  join(member: T): void {
    member.queue = this
    member.older = this.#newest
    if (this.#newest) this.#newest.newer = member
    else this.oldest = member
    this.#newest = member
    this.size += 1
  }

  /** Lets a member go that stands in this queue. */
  leave(member: T): void {
    const { older, newer } = member
    if (older) older.newer = newer
    else this.oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
    member.queue = member.older = member.newer = undefined
    this.size -= 1
  }
}
