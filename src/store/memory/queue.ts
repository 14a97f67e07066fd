/** A member of a queue; it carries its own links, so that leaving costs the same from anywhere. */
export interface Linked<T> {
  older: T | undefined
  newer: T | undefined
  queue: Queue<T> | undefined
}

/** First in, first out, with members that may leave early. */
interface Queue<T> {
  readonly oldest: T | undefined
  readonly size: number
  join(member: T): void
  leave(member: T): void
}

/** An empty queue. A plain Map would do, were its first key not slow to find after many deletions. */
export function createQueue<T extends Linked<T>>(): Queue<T> {
  let oldest: T | undefined
  let newest: T | undefined
  let size = 0
  const queue: Queue<T> = {
    get oldest() {
      return oldest
    },
    get size() {
      return size
    },
    join(member) {
      member.queue = queue
      member.older = newest
      member.newer = undefined
      if (newest) newest.newer = member
      else oldest = member
      newest = member
      size += 1
    },
    leave(member) {
      if (member.queue !== queue) return
      if (member.older) member.older.newer = member.newer
      else oldest = member.newer
      if (member.newer) member.newer.older = member.older
      else newest = member.older
      member.queue = member.older = member.newer = undefined
      size -= 1
    },
  }
  return queue
}
