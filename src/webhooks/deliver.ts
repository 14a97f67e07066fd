/**
 * One delivery of one event to one webhook (specification §4.3.3):
 *
 *     POST <the config's url>
 *     Content-Type: application/a2a+json       or what the dialect of the config says
 *     Authorization: <scheme> <credentials>    by the config's `authentication`
 *     X-A2A-Notification-Token: <token>        where the config has one
 *     X-A2A-Event-Id: <taskId>:<seq>           the same at every attempt; `seq` is the place in the task's log
 *     X-A2A-Signature: t=<seconds>,v1=<hex>    where server and receiver share a secret; see signature.ts
 *
 * Where the server signs tokens (token.ts) and the config brings no credentials, `Authorization` is `Bearer <JWT>`.
 *
 * A status of 2xx is a delivery. 408, 425, 429, 5xx, a timeout and a broken connection may pass, so they are tried
 * again. Everything else, redirects included, is final. The reply's body is not read beyond a small bound.
 */
import { type Dispatcher, errors, request } from 'undici'
import type { Guard } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamResponse, Task } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { retryAfterMs } from '../shared/retry.ts'
import type { PushConfigRecord } from '../store/store.ts'
import { signatureHeader, signBody } from './signature.ts'
import type { TokenSigner } from './token.ts'

/** One event on its way to one webhook. */
export interface Delivery {
  /** The webhook. */
  readonly record: PushConfigRecord
  /** The number of the event in its task's log. */
  readonly seq: number
  /** What is sent. */
  readonly payload: WebhookPayload
}

/** The body of a webhook request, in the dialect in which the webhook was registered. */
export interface WebhookPayload {
  readonly contentType: string
  readonly body: string
}

/** Writes an event in the dialect of its config; `task` is the task with this event in it. */
export type EncodeWebhook = (
  record: PushConfigRecord,
  event: StreamResponse,
  task: Task,
) => WebhookPayload

/** What became of an attempt. The reason is for the operator; it holds no secret and nothing that the receiver wrote. */
export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | {
      readonly kind: 'retry'
      readonly reason: string
      readonly afterMs?: number
      /** The receiver held the attempt until its time was over. */
      readonly isTimeout?: true
    }
  | { readonly kind: 'refused'; readonly reason: string }

/** Attempts a delivery once. Rejects only with the signal's reason, when the signal fires. */
export type Deliver = (delivery: Delivery, signal: AbortSignal) => Promise<DeliveryOutcome>

/** What came of an attempt, and how long it took. */
export interface AttemptFacts {
  readonly outcome: DeliveryOutcome
  /** The HTTP status, where there was an answer. */
  readonly status?: number
  /** How long it took, in milliseconds. */
  readonly ms: number
}

/** A request to an address of this server's own. */
interface OwnDelivery {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How deliveries are made and signed. */
interface DeliverOptions extends DeliveryRules {
  readonly guard: Guard
  readonly clock: Clock
}

/** How long a delivery may take, and how it is signed. */
export interface DeliveryRules {
  /** How long an attempt may take; 15 s by default, 10 to 30 s are recommended (specification §4.3.3). */
  readonly timeoutMs?: number
  /** The secret shared with a config's receiver; without one the request is not signed. */
  readonly secretFor?: (record: PushConfigRecord) => string | undefined
  /** Told of each attempt, when it is over. */
  readonly attempted?: (delivery: Pick<Delivery, 'record' | 'seq'>, facts: AttemptFacts) => void
  /**
   * Takes in a delivery to an address of this server's own and gives the HTTP status; undefined for any other.
   * @internal
   */
  readonly receive?: (delivery: OwnDelivery) => number | undefined
  /** Signs a JWT for receivers that brought no credentials of their own. */
  readonly signer?: TokenSigner
}

const replyLimit = 16_384
const passing: ReadonlySet<number> = new Set([408, 425, 429])

/** Makes the function that attempts deliveries. */
export function createDeliver(options: DeliverOptions): Deliver {
  const { guard, clock, timeoutMs = 15_000 } = options

  /** The status and headers of the answer. */
  async function post(delivery: Delivery, signal: AbortSignal): Promise<Answer> {
    const { url } = delivery.record.config
    const { body } = delivery.payload
    const headers = await headersOf(delivery, options)
    const statusCode = options.receive?.({ url, headers, body })
    if (statusCode !== undefined) return { statusCode, headers: {} }
    guard.check(url)
    const response = await request(url, {
      method: 'POST',
      headers,
      body,
      dispatcher: guard.dispatcher,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    // The status has told all; a body that breaks off or never ends changes nothing.
    await response.body.dump({ limit: replyLimit }).catch(() => {})
    return response
  }

  return async (delivery, signal) => {
    signal.throwIfAborted()
    const startedAt = clock.elapsed()
    const told = (outcome: DeliveryOutcome, status?: number): DeliveryOutcome => {
      const ms = clock.elapsed() - startedAt
      options.attempted?.(delivery, { outcome, ms, ...(status !== undefined && { status }) })
      return outcome
    }
    const timeout = new AbortController()
    const stopTimer = clock.after(timeoutMs, () => timeout.abort())
    try {
      const answer = await post(delivery, AbortSignal.any([signal, timeout.signal]))
      return told(outcomeOf(answer, clock.now()), answer.statusCode)
    } catch (error) {
      signal.throwIfAborted()
      if (timeout.signal.aborted) return told({ kind: 'retry', reason: 'timeout', isTimeout: true })
      return told(faultOf(error))
    } finally {
      stopTimer()
    }
  }
}

/** The id under which a receiver can recognise an event that it has seen. */
function eventId(taskId: string, seq: number): string {
  return `${encodeURIComponent(taskId)}:${seq}`
}

async function headersOf(
  { record, seq, payload }: Delivery,
  { clock, secretFor, signer }: DeliverOptions,
): Promise<Record<string, string>> {
  const { token, authentication, url } = record.config
  const { body } = payload
  const { taskId } = record
  const id = eventId(taskId, seq)
  const now = clock.now()
  const secret = secretFor?.(record)
  let authorization: string | undefined
  if (authentication?.credentials)
    authorization = `${authentication.scheme} ${authentication.credentials}`
  else if (signer && isBearer(authentication?.scheme))
    authorization = `Bearer ${await signer.sign({ url, eventId: id, taskId, body, now })}`
  return {
    'content-type': payload.contentType,
    'user-agent': 'corral',
    'x-a2a-event-id': id,
    ...(token && { 'x-a2a-notification-token': token }),
    ...(authorization && { authorization }),
    ...(secret && { [signatureHeader]: signBody({ secret, body, now }) }),
  }
}

/** A config that names no scheme takes what the server has. */
function isBearer(scheme: string | undefined): boolean {
  return scheme === undefined || scheme.toLowerCase() === 'bearer'
}

type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

function outcomeOf({ statusCode: status, headers }: Answer, now: number): DeliveryOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status >= 300 && status < 400)
    return { kind: 'refused', reason: `HTTP ${status}; redirects are not followed` }
  const reason = `HTTP ${status}`
  if (status < 500 && !passing.has(status)) return { kind: 'refused', reason }
  const header = headers['retry-after']
  const afterMs = retryAfterMs(Array.isArray(header) ? header[0] : header, now)
  return { kind: 'retry', reason, ...(afterMs !== undefined && { afterMs }) }
}

function faultOf(error: unknown): DeliveryOutcome {
  if (error instanceof A2AError) return { kind: 'refused', reason: error.message }
  if (error instanceof errors.InvalidArgumentError)
    return { kind: 'refused', reason: 'The config makes no valid request' }
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const reason = `No connection (${typeof code === 'string' ? code : 'unknown'})`
  return {
    kind: 'retry',
    reason,
    ...(error instanceof errors.ConnectTimeoutError && { isTimeout: true }),
  }
}
