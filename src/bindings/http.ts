import type { A2AError } from '../protocol/errors.ts'

/** An HTTP request as a plain object. */
export interface HttpRequest {
  readonly method: string
  /** The path below the mount point, with a leading slash and no query; percent-encoding is kept. */
  readonly path: string
  /** The raw query without the question mark; empty if there is none. */
  readonly query: string
  /** Header names in lower case; repeated headers are joined by a comma. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The whole body as text; empty if there is none. */
  readonly body: string
  /** The whole body as it came, where its content type does not say JSON: protocol buffers, files. */
  readonly bytes?: Uint8Array
  /** Why the body could not be read (too large, not UTF-8); the binding answers it in the caller's dialect. */
  readonly fault?: A2AError
  /**
   * Set where the request was answered already and the answer cannot be written.
   * @internal
   */
  readonly answered?: true
  /** Fires when the client goes away. */
  readonly signal?: AbortSignal
  /** The network address of the client, where the adapter knows it. */
  readonly client?: string
  /** The server's URL as the client knows it, where a trusted proxy names it. */
  readonly base?: string
  /**
   * Only this machine reaches the server, which asks for no credentials.
   * @internal
   */
  readonly isLocal?: true
}

/** A piece of a body: text, as JSON and events are, or bytes. */
export type HttpChunk = string | Uint8Array

/** An HTTP reply as a plain object. The chunks of a streamed body are written as they come. */
export interface HttpReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Whole, or in chunks as they come; leaving the loop calls the iterator's `return`. */
  readonly body?: HttpChunk | AsyncIterable<HttpChunk>
}

/** Whether a body comes in chunks. */
export function isStreamed(body: HttpReply['body']): body is AsyncIterable<HttpChunk> {
  return typeof body === 'object' && Symbol.asyncIterator in body
}

/** Answers a request. It never rejects: a fault is a reply. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpReply> | HttpReply

/** Sends a request to a server elsewhere and gives the reply, whose body can be read once. */
export type HttpSend = (request: ClientRequest) => Promise<ClientReply>

/** An HTTP request to a server elsewhere. */
export interface ClientRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** The reply of a server elsewhere. */
export interface ClientReply {
  readonly status: number
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** How many events a stream may bring; 1 000 000 if absent. */
  readonly maxEvents?: number
  /** The whole body. One of more than `maxBytes` is given up, where whoever sent the request takes more otherwise. */
  text(maxBytes?: number): Promise<string>
  /** The body in pieces as they arrive; leaving the loop closes the connection. */
  chunks(): AsyncIterable<Uint8Array>
  /** Says that the body is about to end: leaving the loop then waits for the end, so that the connection can be used again. */
  endsSoon?(): void
}
