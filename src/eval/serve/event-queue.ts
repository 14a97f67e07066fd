import { createDeferred, type Deferred } from '../../shared/async.ts'

/** Hands items from a callback to one reader, in order. */
interface EventQueue<T> extends AsyncIterable<T> {
  push(item: T): void
  /** No more items; the reader's loop ends after those there are. */
  readonly end: () => void
}

/** How many items may wait for a slow reader; beyond it the oldest is dropped, since the next says more. */
const bound = 1000

/** Makes an empty queue. */
export function createEventQueue<T>(): EventQueue<T> {
  const items: T[] = []
  let ended = false
  let waiting: Deferred<void> | undefined
  const wake = (): void => {
    waiting?.resolve()
    waiting = undefined
  }
  return {
    push(item) {
      if (items.push(item) > bound) items.shift()
      wake()
    },
    end() {
      ended = true
      wake()
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (items.length > 0) yield items.shift() as T // there is one
        if (ended) return
        waiting = createDeferred()
        await waiting.promise
      }
    },
  }
}
