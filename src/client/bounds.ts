import type { ClientReply, HttpSend } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'

/** How much of a peer's answer a client takes. A single event has its own limit, where it is decoded. */
export interface AnswerBounds {
  readonly maxResponseBytes: number
  readonly maxStreamBytes: number
  readonly maxStreamEvents: number
}

/** What a client takes if it is not told otherwise. */
const defaults: AnswerBounds = {
  maxResponseBytes: 64 * 1024 * 1024,
  maxStreamBytes: 256 * 1024 * 1024,
  maxStreamEvents: 1_000_000,
}

/**
 * The bounds of some options.
 * @throws A2AError `invalidParams` for what is no bound.
 */
export function toBounds(options: Partial<AnswerBounds>): AnswerBounds {
  const {
    maxResponseBytes = defaults.maxResponseBytes,
    maxStreamBytes = defaults.maxStreamBytes,
    maxStreamEvents = defaults.maxStreamEvents,
  } = options
  const bounds = { maxResponseBytes, maxStreamBytes, maxStreamEvents }
  for (const [name, value] of Object.entries(bounds))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new A2AError('invalidParams', `${name} must be a whole number above 0`)
  return bounds
}

/** The bound of what is never large, whatever the options say: cards, metadata and tokens. */
export const maxSmallBytes: number = 1024 * 1024

/** What becomes of an answer beyond its bound. */
export function tooLarge(bytes: number): A2AError {
  const option = bytes === maxSmallBytes ? '' : ' (maxResponseBytes)'
  return new A2AError('invalidAgentResponse', `Answer larger than ${bytes} bytes${option}`)
}

/** What becomes of a stream beyond its bound. */
export function tooLong(bytes: number): A2AError {
  return new A2AError('invalidAgentResponse', `Stream longer than ${bytes} bytes (maxStreamBytes)`)
}

/** Keeps the bounds over a `send` that does not know them. Node's own `createHttp` keeps them for less. */
export function withBounds(send: HttpSend, bounds: AnswerBounds): HttpSend {
  return async (request) => bounded(await send(request), bounds)
}

function bounded(reply: ClientReply, bounds: AnswerBounds): ClientReply {
  const { maxResponseBytes, maxStreamBytes, maxStreamEvents } = bounds
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let size = 0
    for await (const chunk of reply.chunks()) {
      size += chunk.byteLength
      if (size > maxStreamBytes) throw tooLong(maxStreamBytes)
      yield chunk
    }
  }
  async function text(maxBytes = maxResponseBytes): Promise<string> {
    const most = Math.min(maxBytes, maxResponseBytes)
    const whole = await reply.text(most)
    if (whole.length > most) throw tooLarge(most) // by a `send` that reads on regardless
    return whole
  }
  const { status, headers } = reply
  return { status, headers, maxEvents: maxStreamEvents, chunks, text }
}
