/** Carries items from running work to one reader. A full channel makes its writers wait. */
interface Channel<T> {
  /** Resolves when there is room again; at once after the end, when items go nowhere. */
  push(item: T): Promise<void>
  /**
   * All that waits, as soon as there is something; nothing at the end. Items come together, not one by one: each
   * promise between a member's words and the caller counts.
   * @throws what the channel failed with, after what was said before.
   */
  take(): Promise<readonly T[]>
  /** No more items: the reader ends after those that are waiting, or has left. */
  close(): void
  /** The reader gets what is waiting, then this error. */
  fail(error: unknown): void
}

const room: Promise<void> = Promise.resolve()

/** Makes a channel that holds at most `bound` items before its writers wait. */
export function createChannel<T>(bound: number): Channel<T> {
  let waiting: T[] = []
  let end: { readonly error?: unknown } | undefined
  let wakeReader: (() => void) | undefined
  let writersWait: Promise<void> | undefined
  let wakeWriters: (() => void) | undefined

  function setWritersFree(): void {
    wakeWriters?.()
    writersWait = wakeWriters = undefined
  }

  function finish(how: { readonly error?: unknown }): void {
    end ??= how
    wakeReader?.()
    setWritersFree()
  }

  return {
    push(item) {
      if (end) return room
      waiting.push(item)
      wakeReader?.()
      if (waiting.length < bound) return room
      writersWait ??= new Promise((resolve) => (wakeWriters = resolve))
      return writersWait
    },
    async take() {
      if (waiting.length === 0 && !end) {
        await new Promise<void>((resolve) => (wakeReader = resolve))
        wakeReader = undefined
      }
      const items = waiting
      waiting = []
      setWritersFree()
      if (items.length === 0 && end && 'error' in end) throw end.error
      return items
    },
    close: () => finish({}),
    fail: (error) => finish({ error }),
  }
}
