import type { EventStream, Sequenced } from '../protocol/call.ts'
import type { Clock } from '../shared/clock.ts'
import { encodeRetry, heartbeat } from './sse.ts'

/** How a wire writes a stream. */
export interface EventWriter {
  /** Frames of all events of one batch, as one chunk. */
  write(batch: readonly Sequenced[]): string
  /** The frame that tells of a failure after the stream began. */
  fail(error: unknown): string
}

/** What an event body needs beside its source. */
interface EventBodyOptions {
  readonly writer: EventWriter
  readonly heartbeatMs: number
  readonly clock: Clock
  readonly retryMs?: RetryMs | undefined
}

/** Asked when a stream ends: how soon its reader should come back, where the server is going away; else undefined. */
export type RetryMs = () => number | undefined

/** A stream that has given its first sign of life, or has been quiet so long that its headers must go out. */
interface EventBody extends AsyncIterable<string> {
  /** Resolves once the first batch or the end is there; rejects if the source fails before any event. */
  opened(): Promise<void>
}

/**
 * Writes an EventStream as server-sent events: one chunk per batch, a comment when it is quiet for `heartbeatMs`.
 * It pulls only when asked, so a slow reader slows the source. `return()` closes the source.
 * Written by hand instead of as a generator: a stream costs one promise per batch and one timer per quiet period.
 * Behind it is a class, since thousands are open at once and share its methods.
 */
export function createEventBody(stream: EventStream, options: EventBodyOptions): EventBody {
  return new SseBody(stream[Symbol.asyncIterator](), options)
}

const end: IteratorReturnResult<undefined> = { done: true, value: undefined }

class SseBody implements EventBody, AsyncIterator<string> {
  readonly #source: AsyncIterator<readonly Sequenced[]>
  readonly #options: EventBodyOptions
  #ready: string | undefined
  #pulling = false
  #finished = false
  #waiting: ((result: IteratorResult<string>) => void) | undefined
  #opening: { resolve(): void; reject(error: unknown): void } | undefined
  #lastWrite: number | undefined
  #callOff: (() => void) | undefined

  constructor(source: AsyncIterator<readonly Sequenced[]>, options: EventBodyOptions) {
    this.#source = source
    this.#options = options
  }

  [Symbol.asyncIterator](): AsyncIterator<string> {
    return this
  }

  opened(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject }
      this.#pull()
      this.#armHeartbeat()
    })
  }

  next(): Promise<IteratorResult<string>> {
    const ready = this.#ready
    if (ready !== undefined) {
      this.#ready = undefined
      return Promise.resolve({ done: false, value: ready })
    }
    if (this.#finished) return Promise.resolve(end)
    return new Promise((resolve) => {
      this.#waiting = resolve
      this.#pull()
      this.#armHeartbeat()
    })
  }

  async return(): Promise<IteratorResult<string>> {
    this.#ready = undefined
    this.#finish()
    // A source that waits for its next event must not hold up the one who leaves.
    void Promise.resolve(this.#source.return?.()).catch(() => {})
    return end
  }

  #pull(): void {
    if (this.#pulling || this.#finished) return
    this.#pulling = true
    this.#source.next().then(
      (result) => this.#arrived(result),
      (error) => this.#failed(error),
    )
  }

  #arrived(result: IteratorResult<readonly Sequenced[]>): void {
    this.#pulling = false
    if (this.#finished) return
    if (result.done === true) this.#end('')
    else if (result.value.length === 0) this.#pull()
    else this.#write(result.value)
  }

  /** What cannot be written ends the stream as a failure of its source would. */
  #write(batch: readonly Sequenced[]): void {
    let text: string
    try {
      text = this.#options.writer.write(batch)
    } catch (error) {
      void Promise.resolve(this.#source.return?.()).catch(() => {})
      this.#failed(error)
      return
    }
    this.#give(text)
  }

  #failed(error: unknown): void {
    this.#pulling = false
    if (this.#finished) return
    const opening = this.#opening
    if (opening) {
      this.#opening = undefined
      this.#finish()
      opening.reject(error)
      return
    }
    this.#end(this.#options.writer.fail(error))
  }

  /** Says the last words, and when to come back if the server is going away. */
  #end(words: string): void {
    const retryMs = this.#options.retryMs?.()
    const text = retryMs === undefined ? words : words + encodeRetry(retryMs)
    if (text !== '') this.#give(text)
    this.#finish()
  }

  #give(text: string): void {
    this.#lastWrite = this.#options.clock.elapsed()
    this.#settleOpening()
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting) waiting({ done: false, value: text })
    else this.#ready = text
  }

  #settleOpening(): void {
    this.#opening?.resolve()
    this.#opening = undefined
  }

  #finish(): void {
    this.#finished = true
    this.#callOff?.()
    this.#callOff = undefined
    this.#settleOpening()
    this.#waiting?.(end)
    this.#waiting = undefined
  }

  // One timer runs on across events and looks back when it fires: a busy stream never touches it.
  #armHeartbeat(): void {
    if (this.#callOff || this.#options.heartbeatMs <= 0) return
    const { clock, heartbeatMs } = this.#options
    const now = clock.elapsed()
    this.#lastWrite ??= now
    const due = this.#lastWrite + heartbeatMs - now
    this.#callOff = clock.after(Math.max(due, 1), () => this.#beat())
  }

  #beat(): void {
    this.#callOff = undefined
    const { clock, heartbeatMs } = this.#options
    if (!this.#waiting && !this.#opening) return
    if (clock.elapsed() - (this.#lastWrite ?? 0) >= heartbeatMs) this.#give(heartbeat)
    else this.#armHeartbeat()
  }
}
