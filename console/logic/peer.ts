import { signal } from '@preact/signals'
import type { RelayAnswer, RelayRequest } from '../../src/console/api.ts'
import { traceExtension } from '../../src/protocol/extensions.ts'
import type { OperationName } from '../../src/protocol/operations.ts'
import type { Json, JsonObject } from '../../src/protocol/types.ts'
import { readUrl } from '../../src/shared/text.ts'
import { readServerEvents, type ServerEvent } from './events.ts'
import { askServer, post, Refused, write } from './server.ts'

/** An agent that the page speaks A2A with: one that is served here, or any other through the relay. */
export interface Peer {
  /** Tells peers apart. */
  readonly key: string
  call(operation: OperationName, request: JsonObject, signal?: AbortSignal): Promise<Json>
  stream(
    operation: OperationName,
    request: JsonObject,
    options: StreamOptions,
  ): AsyncIterable<ServerEvent>
}

/** How a stream is opened. */
interface StreamOptions {
  readonly signal: AbortSignal
  /** The last event that was seen. */
  readonly after?: number
  /** The same for a send and its repetition. */
  readonly idempotencyKey?: string
}

/** An agent or team that this server serves, by its id. */
export function servedAgent(id: string): Peer {
  const path = `/agents/${encodeURIComponent(id)}/v1/rpc`
  const rpc = (operation: OperationName, request: JsonObject, options: Partial<StreamOptions>) =>
    askServer(path, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: operation, params: request }),
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        'a2a-extensions': traceExtension,
        ...(options.after !== undefined && { 'last-event-id': String(options.after) }),
        ...(options.idempotencyKey && { 'idempotency-key': options.idempotencyKey }),
      },
      ...(options.signal && { signal: options.signal }),
    })
  return {
    key: `served:${id}`,
    async call(operation, request, signal) {
      const response = await rpc(operation, request, signal ? { signal } : {})
      return resultOf(await response.json())
    },
    async *stream(operation, request, options) {
      const response = await rpc(operation, request, options)
      if (!isStream(response)) {
        yield { id: undefined, data: resultOf(await response.json()) }
        return
      }
      for await (const { id, data } of eventsOf(response)) yield { id, data: resultOf(data) }
    },
  }
}

/** Where this tab stores the origins of agents that the person agreed to contact. */
const confirmedKey = 'corral:confirmed-origins'

const confirmed = signal<readonly string[]>(readConfirmed())

function readConfirmed(): readonly string[] {
  const stored: unknown = JSON.parse(sessionStorage.getItem(confirmedKey) ?? '[]')
  return Array.isArray(stored) ? stored.map(String) : []
}

/** Whether the person agreed to contact the origin of this URL, by typing it or by a button. */
export function isConfirmed(url: string): boolean {
  return confirmed.value.includes(originOf(url))
}

/** Remembers for this tab that the origin of this URL may be contacted. */
export function confirmOrigin(url: string): void {
  if (isConfirmed(url)) return
  confirmed.value = [...confirmed.value, originOf(url)]
  sessionStorage.setItem(confirmedKey, JSON.stringify(confirmed.value))
}

/** The origin of a URL; the text itself where it has none, which no request comes of. */
export function originOf(url: string): string {
  const origin = readUrl(url)?.origin ?? 'null'
  return origin === 'null' ? url : origin
}

/** Any agent by its URL; this server passes on what is said. */
export function foreignAgent(url: string, authorization?: string): Peer {
  const about = { url, ...(authorization && { authorization }) }
  return {
    key: `foreign:${url}`,
    async call(operation, request, signal) {
      const body: RelayRequest = { kind: 'call', operation, request, ...about }
      return (await write<RelayAnswer>('relay', body, signal)).result
    },
    async *stream(operation, request, { after, signal }) {
      const lastEventId = after === undefined ? {} : { lastEventId: String(after) }
      const body: RelayRequest = { kind: 'call', operation, request, ...lastEventId, ...about }
      const response = await post('relay', body, signal)
      if (isStream(response)) yield* eventsOf(response)
      else yield { id: undefined, data: Object(await response.json()).result }
    },
  }
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.includes('event-stream') ?? false
}

function eventsOf({ body }: Response): AsyncIterable<ServerEvent> {
  if (!body) throw new Error('The answer has no body')
  return readServerEvents(body)
}

/** @throws Refused for an answer of JSON-RPC that is an error. */
function resultOf(answer: unknown): Json {
  const { result, error } = Object(answer)
  if (error === undefined) return result
  const { code, message, data } = Object(error)
  const [reason] = Array.isArray(data) ? data.map((one) => Object(one).reason) : []
  throw new Refused(400, { code: String(reason ?? code), message: String(message) })
}
