import { createParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../shared/clock.ts'
import { malformed } from './errors.ts'
import { type ChatDelta, isRecord, parseDelta } from './wire.ts'

/** What a model service answers. */
export type ServiceReply = Dispatcher.ResponseData

/** The largest event, whole completion or refusal that is read. */
const maxLength = 4 * 1024 * 1024

/** The chunks of an answer: those of a stream as they come, a whole completion as one. */
export function readDeltas(reply: ServiceReply, agent: string): AsyncGenerator<ChatDelta> {
  return isEventStream(reply) ? readEvents(reply, agent) : readWhole(reply, agent)
}

/** How long a service may be silent, and what happens then. */
interface Silence {
  readonly ms: number
  readonly clock: Clock
  readonly giveUp: () => void
}

/**
 * The items of a service that must not fall silent. Bytes alone, such as the comments that keep a connection alive,
 * are silence: only a delta counts. One timer is set at a time, however many deltas come.
 */
export async function* withinSilence<T>(
  deltas: AsyncIterable<T>,
  { ms, clock, giveUp }: Silence,
): AsyncGenerator<T> {
  let waitingSince: number | undefined = clock.elapsed()
  const look = (): void => {
    const left = waitingSince === undefined ? ms : waitingSince + ms - clock.elapsed()
    if (left > 0) callOff = clock.after(left, look)
    else giveUp()
  }
  let callOff = clock.after(ms, look)
  try {
    for await (const delta of deltas) {
      waitingSince = undefined // a reader that takes its time is not the service's silence
      yield delta
      waitingSince = clock.elapsed()
    }
  } finally {
    callOff()
  }
}

/** The text of an answer, as far as it is read. */
export async function readText(reply: ServiceReply): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of reply.body) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxLength) break
  }
  return text
}

async function* readEvents(reply: ServiceReply, agent: string): AsyncGenerator<ChatDelta> {
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

async function* readWhole(reply: ServiceReply, agent: string): AsyncGenerator<ChatDelta> {
  yield toDelta(await readText(reply), agent)
}

function toDelta(data: string, agent: string): ChatDelta {
  const value = parseJson(data)
  const delta = parseDelta(value)
  if (delta) return delta
  throw malformed(agent, isRecord(value) && value.error ? 'failed' : 'sent no chat completion')
}

function isEventStream(reply: ServiceReply): boolean {
  return String(reply.headers['content-type'] ?? '').startsWith('text/event-stream')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
