import { EventSourceParserStream } from 'eventsource-parser/stream'

/** One event of a stream: its number where it has one, and its JSON. */
export interface ServerEvent {
  readonly id: number | undefined
  readonly data: unknown
}

/** Reads a stream of events to its end; whoever stops early closes it. */
export async function* readServerEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const id = value.id === undefined || value.id === '' ? Number.NaN : Number(value.id)
      if (value.data !== '')
        yield { id: Number.isInteger(id) ? id : undefined, data: JSON.parse(value.data) }
    }
  } finally {
    await reader.cancel().catch(() => {}) // it may be closed already
  }
}
