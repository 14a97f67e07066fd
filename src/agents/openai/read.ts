import { createParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import { malformed } from './errors.ts'
import { type ChatDelta, isFields, parseDelta } from './wire.ts'

/** What a model service answers. */
export type Reply = Dispatcher.ResponseData

/** The largest event, whole completion or refusal that is read. */
const maxLength = 4 * 1024 * 1024

/** The chunks of an answer: those of a stream as they come, a whole completion as one. */
export function readDeltas(reply: Reply, agent: string): AsyncGenerator<ChatDelta> {
  return isEventStream(reply) ? readEvents(reply, agent) : readWhole(reply, agent)
}

/**
 * The items of a service that must not fall silent. Bytes alone, such as the comments that keep a connection alive,
 * are silence: only a delta counts.
 */
export async function* withinSilence<T>(
  deltas: AsyncIterable<T>,
  ms: number,
  giveUp: () => void,
): AsyncGenerator<T> {
  let silence = setTimeout(giveUp, ms)
  try {
    for await (const delta of deltas) {
      clearTimeout(silence) // a reader that takes its time is not the service's silence
      yield delta
      silence = setTimeout(giveUp, ms)
    }
  } finally {
    clearTimeout(silence)
  }
}

/** The text of an answer, as far as it is read. */
export async function readText(reply: Reply): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of reply.body) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxLength) break
  }
  return text
}

async function* readEvents(reply: Reply, agent: string): AsyncGenerator<ChatDelta> {
  const decoder = new TextDecoder()
  let ready: string[] = []
  let overflow = false
  const parser = createParser({
    maxBufferSize: maxLength,
    onEvent: (event) => ready.push(event.data),
    onError: (error) => {
      overflow ||= error.type === 'max-buffer-size-exceeded'
    },
  })
  let finished = false
  for await (const chunk of reply.body) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    if (overflow) throw malformed(agent, 'sent an event that is too large')
    const events = ready
    ready = []
    for (const data of events) {
      if (data === '[DONE]') return
      const delta = toDelta(data, agent)
      finished ||= delta.finish !== undefined
      yield delta
    }
  }
  if (!finished) throw malformed(agent, 'broke off in the middle of its answer')
}

async function* readWhole(reply: Reply, agent: string): AsyncGenerator<ChatDelta> {
  yield toDelta(await readText(reply), agent)
}

function toDelta(data: string, agent: string): ChatDelta {
  const value = parseJson(data)
  const delta = parseDelta(value)
  if (delta) return delta
  throw malformed(agent, isFields(value) && value.error ? 'failed' : 'sent no chat completion')
}

function isEventStream(reply: Reply): boolean {
  return String(reply.headers['content-type'] ?? '').startsWith('text/event-stream')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
