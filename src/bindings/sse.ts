import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { A2AError } from '../protocol/errors.ts'

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

/** The comment that keeps an idle connection open. */
export const heartbeat = ': heartbeat\n\n'

/** Tells a reader how long to wait before it comes back: what a stream that ends early says last. */
export function encodeRetry(ms: number): string {
  return `retry: ${ms}\n\n`
}

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
  const decoder = new TextDecoder()
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
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    if (overflow) throw new A2AError('invalidAgentResponse', 'A stream event is too large')
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
