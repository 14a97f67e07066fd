import { createDeferred, type Deferred } from '../shared/async.ts'

/** Carries items from running work to one reader. A full channel makes its writers wait. */
export interface Channel<T> {
  /** Resolves when there is room again; at once after the reader has left, when items go nowhere. */
  push(item: T): Promise<void>
  /** No more items; the reader ends after those that are waiting. */
  close(): void
  /** The reader gets what is waiting, then this error. */
  fail(error: unknown): void
  /** The items, for one reader. */
  items(): AsyncGenerator<T, void, undefined>
}

/** Makes a channel that holds at most `bound` items before its writers wait. */
export function createChannel<T>(bound: number): Channel<T> {
  const buffer: T[] = []
  let end: { readonly error?: unknown } | undefined
  let filled: Deferred<void> | undefined
  let drained: Deferred<void> | undefined

  const wakeReader = (): void => {
    filled?.resolve()
    filled = undefined
  }
  const wakeWriters = (): void => {
    drained?.resolve()
    drained = undefined
  }
  const finish = (how: { readonly error?: unknown }): void => {
    end ??= how
    wakeReader()
    wakeWriters()
  }

  return {
    async push(item) {
      if (end) return
      buffer.push(item)
      wakeReader()
      if (buffer.length < bound) return
      drained ??= createDeferred()
      await drained.promise
    },
    close: () => finish({}),
    fail: (error) => finish({ error }),
    async *items() {
      try {
        while (true) {
          while (buffer.length > 0) yield* take(buffer, wakeWriters)
          if (end) break
          filled = createDeferred()
          await filled.promise
        }
      } finally {
        finish({})
        buffer.length = 0
      }
      if (end && 'error' in end) throw end.error
    },
  }
}

/** All that is waiting, at once, so that writers go on while the reader works. */
function* take<T>(buffer: T[], wakeWriters: () => void): Generator<T, void, undefined> {
  const ready = buffer.splice(0)
  wakeWriters()
  yield* ready
}
