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

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  SignJWT,
} from 'jose'
import { type Dispatcher, errors, request } from 'undici'
import type { Guard } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamResponse, Task } from '../protocol/types.ts'
import { backoffMs, retry, retryAfterMs } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { checkOptions } from '../shared/options.ts'
import type { PushConfigRecord } from '../store/store.ts'
import type { DeliveryContext } from './webhooks.ts'

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

/** The status and headers of a receiver's answer. */
type ReceiverReply = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

/** Makes the function that attempts deliveries. */
export function createDeliver(options: DeliverOptions): Deliver {
  const { guard, clock, timeoutMs = 15_000 } = options

  async function post(delivery: Delivery, signal: AbortSignal): Promise<ReceiverReply> {
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

/** The id under which a receiver can recognise an event that it has seen. */
function eventId(taskId: string, seq: number): string {
  return `${encodeURIComponent(taskId)}:${seq}`
}

/** A config that names no scheme takes what the server has. */
function isBearer(scheme: string | undefined): boolean {
  return scheme === undefined || scheme.toLowerCase() === 'bearer'
}

const passing: ReadonlySet<number> = new Set([408, 425, 429])

function outcomeOf({ statusCode: status, headers }: ReceiverReply, now: number): DeliveryOutcome {
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

/**
 * The signature of a webhook request, so that a receiver knows who wrote the body and when.
 *
 *     X-A2A-Signature: t=1763236800,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd
 *
 * `t` is the sender's time in seconds since the epoch; `v1` is the HMAC-SHA256, in hexadecimal, of `t`, a full stop
 * and the body's bytes, under the secret that sender and receiver share. A retry is signed anew.
 */
const signatureHeader = 'x-a2a-signature'

/** What is signed: the body as it travels, at a moment, under a secret. */
export interface Signing {
  /** What server and receiver share. */
  readonly secret: string
  /** The request's body as it came, byte for byte. */
  readonly body: string | Uint8Array
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** The value of the signature header. */
function signBody({ secret, body, now }: Signing): string {
  const seconds = Math.floor(now / 1000)
  return `t=${seconds},v1=${digest(secret, seconds, body).toString('hex')}`
}

/** What a receiver has in hand: the secret, the body, the header, and the time now. */
export interface Verification extends Signing {
  /** The request's `X-A2A-Signature`. */
  readonly header: string | undefined
  /** How old the request may be, or how far ahead; 300 by default. */
  readonly toleranceSeconds?: number
}

/**
 * Tells whether the request that you received as a webhook was signed with the secret, not long ago. It takes the same
 * time for every wrong signature.
 */
export function verifyBody(verification: Verification): boolean {
  const { secret, body, now, header = '', toleranceSeconds = 300 } = verification
  const [, seconds = '', signature = ''] = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/.exec(header) ?? []
  if (signature === '' || Math.abs(now / 1000 - Number(seconds)) > toleranceSeconds) return false
  return timingSafeEqual(digest(secret, Number(seconds), body), Buffer.from(signature, 'hex'))
}

function digest(secret: string, seconds: number, body: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest()
}

/**
 * Signs a JSON Web Token for each webhook request, so that a receiver can check the sender against published keys.
 *
 * Claims: `iss` the server, `aud` the webhook's URL, `iat`, `exp` five minutes later, `jti` the event's id, `taskId`,
 * and `request_body_sha256`, the body's digest in hexadecimal, which ties the token to this one request.
 */
export interface TokenSigner {
  /** Makes the token of one request. */
  sign(request: TokenRequest): Promise<string>
  /** The public keys, for the server to publish. */
  jwks(): JSONWebKeySet
}

/** What a token speaks for. */
export interface TokenRequest {
  /** The webhook's URL, which becomes the audience. */
  readonly url: string
  readonly eventId: string
  readonly taskId: string
  readonly body: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Whose tokens, signed with which keys. */
export interface TokenSignerOptions {
  /** The server's own URL. */
  readonly issuer: string
  /** Private keys with `alg`, newest first. The first signs, all are published: so keys are changed without a gap. */
  readonly keys: readonly JWK[]
}

const lifetimeSeconds = 300

/**
 * Makes a signer from private JSON Web Keys, for `pushNotifications.signer`; a key without `kid` is named by its
 * thumbprint.
 * @throws A2AError `invalidParams` without a key, or for a key that is symmetric, public or without `alg`.
 */
export async function createTokenSigner(options: TokenSignerOptions): Promise<TokenSigner> {
  checkOptions('createTokenSigner', options, { issuer: 'string!', keys: 'array!' })
  const [first] = options.keys
  if (!first) throw new A2AError('invalidParams', 'A token signer needs a key')
  const published = await Promise.all(options.keys.map(toPublic))
  const { alg = '', kid = '' } = published[0] ?? {}
  const key = await toPrivateKey(first)
  return {
    sign({ url, eventId, taskId, body, now }) {
      const issuedAt = Math.floor(now / 1000)
      const digest = createHash('sha256').update(body).digest('hex')
      return new SignJWT({ taskId, request_body_sha256: digest })
        .setProtectedHeader({ alg, kid, typ: 'JWT' })
        .setIssuer(options.issuer)
        .setAudience(url)
        .setJti(eventId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + lifetimeSeconds)
        .sign(key)
    },
    jwks: () => ({ keys: published }),
  }
}

/** Names the public members one by one, so that no private one can slip through. */
async function toPublic(jwk: JWK): Promise<JWK> {
  const { kty, alg, crv, x, y, n, e } = jwk
  if (!alg || kty === 'oct' || jwk.d === undefined)
    throw new A2AError('invalidParams', 'A signing key is a private asymmetric JWK with `alg`')
  const members = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value)
  const bare: JWK = Object.fromEntries(members)
  return { ...bare, alg, use: 'sig', kid: jwk.kid ?? (await calculateJwkThumbprint(bare)) }
}

async function toPrivateKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk)
  if (key instanceof Uint8Array)
    throw new A2AError('invalidParams', 'A signing key must not be symmetric')
  return key
}

/** How often and how long a delivery is tried. */
export interface RetryPolicy {
  /** The wait after the first failure, doubled after each further one; 1 s by default. */
  readonly firstDelayMs: number
  /**
   * The longest wait of the server's own choosing, 5 minutes by default; a receiver's `Retry-After` may ask for more.
   */
  readonly maxDelayMs: number
  /** No attempt begins later than this after the first one, 24 hours by default. A restart begins anew. */
  readonly deadlineMs: number
  /** How often a delivery is attempted at most, whatever time is left; 1,000 by default. */
  readonly maxAttempts: number
}

/** From 1 s to 5 minutes, for 24 hours; the number of attempts is a second fence behind the deadline. */
export const standardRetry: RetryPolicy = {
  firstDelayMs: 1_000,
  maxDelayMs: 300_000,
  deadlineMs: 86_400_000,
  maxAttempts: 1_000,
}

/**
 * Does work that only a failing store can stop: again and again, later and later, until it is done.
 * A stop ends the waiting, not the work: what was begun before it is still tried once.
 */
export async function persist(
  { clock, log, random, retry: policy }: DeliveryContext,
  stop: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const { firstDelayMs: baseMs, maxDelayMs: maxMs } = policy
  const delay = (error: unknown, faults: number): number | undefined => {
    if (stop.aborted) return undefined
    log.error({ error, faults }, 'webhooks could not use the store')
    return backoffMs(faults, { baseMs, maxMs, random })
  }
  // Tries do not run out, so only a stop gets here.
  await retry(work, { clock, signal: stop, delay }).catch((error) =>
    log.debug({ error }, 'webhook work broken off'),
  )
}
