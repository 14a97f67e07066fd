import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { A2AError } from '../protocol/errors.ts'
import type { EventStream, OperationName, Sequenced } from '../protocol/operations.ts'
import type { StreamResponse } from '../protocol/types.ts'
import { myTurn } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { EventDecoder } from '../shared/text.ts'

/**
 * Server-sent events (WHATWG HTML §9.2). A frame is lines `id: …`, `event: …`, `data: …` and a blank line; a line that
 * begins with a colon is a comment. JSON has no raw line break, so one `data:` line is always enough on our side;
 * peers may send several, end lines with CR, LF or CRLF, and cut UTF-8 sequences between chunks.
 */
export interface SseFrame {
  readonly data: string
  readonly event?: string
  readonly id?: string
}

/** What a reader refuses: a single event larger than this many characters. */
const maxEventLength: number = 4 * 1024 * 1024

/** Bytes of a stream after which decoding continues in another tick. */
const maxBytesAtOnce = 64 * 1024

/** The comment that keeps an idle connection open. */
export const heartbeat = ': heartbeat\n\n'

/** Headers of a stream: nothing on the way may hold it back. */
export const streamHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

/** A frame as text. `data` is JSON, so it holds no line break. */
export function encodeFrame(frame: SseFrame): string {
  const id = frame.id === undefined ? '' : `id: ${frame.id}\n`
  const event = frame.event === undefined ? '' : `event: ${frame.event}\n`
  return `${id}${event}data: ${frame.data}\n\n`
}

/**
 * The frames of a byte stream, all that one chunk completed at a time; `onRetry` hears when to come back.
 * Leaving the loop leaves the byte stream.
 *
 * @throws A2AError `invalidAgentResponse` for an event beyond `maxEventLength`.
 */
export async function* decodeFrames(
  chunks: AsyncIterable<Uint8Array>,
  onRetry?: (ms: number) => void,
): AsyncGenerator<readonly SseFrame[]> {
  const decoder = new EventDecoder()
  let ready: SseFrame[] = []
  let overflow = false
  const parser = createParser({
    maxBufferSize: maxEventLength,
    ...(onRetry && { onRetry }),
    // The parser's own cap is on what is left over between chunks.
    onEvent: (message) => {
      if (message.data.length > maxEventLength) overflow = true
      else ready.push(toFrame(message))
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') overflow = true
    },
  })
  let unbroken = 0
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk))
    if (overflow) throw new A2AError('invalidAgentResponse', 'A stream event is too large')
    unbroken += chunk.length
    if (unbroken >= maxBytesAtOnce) {
      unbroken = 0
      await myTurn()
    }
    if (ready.length === 0) continue
    const batch = ready
    ready = []
    yield batch
  }
}

function toFrame(message: EventSourceMessage): SseFrame {
  return {
    data: message.data,
    ...(message.event === undefined ? {} : { event: message.event }),
    ...(message.id === undefined ? {} : { id: message.id }),
  }
}

/** The JSON of an event in one wire. */
export type EventJson = (event: StreamResponse) => string

/** Events whose text is remembered. Those who watch one task write the same batch in the same tick. */
const remembered = 64

/**
 * Writes events as JSON once per event and wire, however many watch: events are immutable, so their text is too.
 * Only the latest are remembered, in a ring that overwrites itself: a Map, weak or not, keeps what it has forgotten from
 * the collector of young objects, and that costs more than the writing it saves.
 */
export function createEventJson(
  encode: (event: StreamResponse, opening: OperationName) => unknown,
): (opening: OperationName) => EventJson {
  const writers = new Map<OperationName, EventJson>()
  return (opening) => {
    const known = writers.get(opening)
    if (known) return known
    const canonical = createChunkJson()
    const writer = createWriter((event) => {
      const encoded = encode(event, opening)
      return encoded === event ? canonical(event) : JSON.stringify(encoded)
    })
    writers.set(opening, writer)
    return writer
  }
}

function createWriter(write: EventJson): EventJson {
  const events: (StreamResponse | undefined)[] = Array.from({ length: remembered }, () => undefined)
  const texts: string[] = Array.from({ length: remembered }, () => '')
  let next = 0
  /** The next watcher's first event is looked for, the others of its batch stand behind it. */
  let found = 0
  return (event) => {
    if (events[found] !== event) found = events.indexOf(event)
    if (found >= 0) {
      const text = texts[found] ?? ''
      found = (found + 1) % remembered
      return text
    }
    const text = write(event)
    events[next] = event
    texts[next] = text
    next = (next + 1) % remembered
    found = next
    return text
  }
}

/**
 * Makes what writes canonical events as JSON. Most events of a stream are chunks of a text: one after the other they differ
 * in the text alone, so what stands around it is written once and kept for the next. Everything else is for
 * `JSON.stringify`, which writes the same members.
 */
export function createChunkJson(): (event: StreamResponse) => string {
  let taskId: string | undefined
  let contextId: string | undefined
  let artifactId: string | undefined
  let before = ''
  return (event) => {
    const text = chunkText(event)
    if (text === undefined || !('artifactUpdate' in event)) return JSON.stringify(event)
    const { artifactUpdate: update } = event
    const { artifact } = update
    const isNext = taskId === update.taskId && contextId === update.contextId
    if (!isNext || artifactId !== artifact.artifactId) {
      taskId = update.taskId
      contextId = update.contextId
      artifactId = artifact.artifactId
      const ids = `"taskId":${JSON.stringify(taskId)},"contextId":${JSON.stringify(contextId)}`
      before = `{"artifactUpdate":{${ids},"artifact":{"artifactId":${JSON.stringify(artifactId)},"parts":[{"text":`
    }
    return `${before}${JSON.stringify(text)}}]},"append":true}}`
  }
}

/** The text of an event that continues an artifact by one plain text and says nothing else. */
function chunkText(event: StreamResponse): string | undefined {
  if (!('artifactUpdate' in event)) return undefined
  const { artifactUpdate: update } = event
  const { artifact, append } = update
  const part = artifact.parts[0]
  if (append !== true || artifact.parts.length !== 1 || !part || !('text' in part)) return undefined
  const isPlain = has(event, 1) && has(update, 4) && has(artifact, 2) && has(part, 1)
  return isPlain ? part.text : undefined
}

/** Whether a plain object has so many members. */
function has(value: object, members: number): boolean {
  let count = 0
  for (const _ in value) count++
  return count === members && Object.getPrototypeOf(value) === Object.prototype
}

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

const end: IteratorReturnResult<undefined> = { done: true, value: undefined }

/**
 * Writes an EventStream as server-sent events: one chunk per batch, a comment when it is quiet for `heartbeatMs`.
 * It pulls only when asked, so a slow reader slows the source. `return()` closes the source.
 * Written by hand instead of as a generator: a stream costs one promise per batch and one timer per quiet period.
 * A class, since thousands are open at once and share its methods.
 */
export class EventBody implements AsyncIterableIterator<string> {
  readonly #source: AsyncIterator<readonly Sequenced[]>
  readonly #options: EventBodyOptions
  #ready: string | undefined
  #pulling = false
  #finished = false
  #waiting: ((result: IteratorResult<string>) => void) | undefined
  #opening: { resolve(): void; reject(error: unknown): void } | undefined
  #lastWrite: number | undefined
  #callOff: (() => void) | undefined

  constructor(stream: EventStream, options: EventBodyOptions) {
    this.#source = stream[Symbol.asyncIterator]()
    this.#options = options
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /**
   * Resolves with the first sign of life: the first batch, the end, or so long a quiet that the headers must go out.
   * Rejects if the source fails before any event.
   */
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

/** Tells a reader how long to wait before it comes back: what a stream that ends early says last. */
function encodeRetry(ms: number): string {
  return `retry: ${ms}\n\n`
}
