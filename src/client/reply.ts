import type { ClientReply, HttpSend } from '../bindings/http.ts'
import type { Reach } from '../network/member-guard.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Clock } from '../shared/clock.ts'

/** Sends HTTP requests over connections that somebody has to close. */
export interface HttpClient {
  readonly send: HttpSend
  /** Closes all connections; what is under way fails. Idempotent. */
  close(): Promise<void>
}

/** How connections are made, and how long a peer may take, in milliseconds. */
export interface HttpOptions {
  /** For a connection; 10 000 if absent. Node only. */
  readonly connectMs?: number
  /** For a whole answer, or for a stream to begin; no limit if absent. */
  readonly requestMs?: number
  /** For each further piece of a stream; no limit if absent. A reader may take its time. */
  readonly idleMs?: number
  readonly clock?: Clock
  /** Whether TLS certificates are checked; true if absent. Node only. */
  readonly verifySsl?: boolean
  /** Everything may be reached if absent. Node only. */
  readonly reach?: Reach
}

/** The longest whole answer that a client takes; streams have their own limit per event. */
export const maxReplyBytes: number = 64 * 1024 * 1024

/** What becomes of an answer beyond that. */
export function tooLarge(): A2AError {
  return new A2AError('invalidAgentResponse', `Answer larger than ${maxReplyBytes} bytes`)
}

/** A reply whose body comes in pieces; `lost` names a failure of the connection while it is read. */
export function createReply(
  head: Pick<ClientReply, 'status' | 'headers'>,
  body: () => AsyncIterable<Uint8Array>,
  lost: (cause: unknown) => unknown,
): ClientReply {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* body()
    } catch (cause) {
      throw lost(cause)
    }
  }
  return { ...head, chunks, text: () => readText(chunks()) }
}

async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > maxReplyBytes) throw tooLarge()
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
