import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * The signature of a webhook request, so that a receiver knows who wrote the body and when.
 *
 *     X-A2A-Signature: t=1763236800,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd
 *
 * `t` is the sender's time in seconds since the epoch; `v1` is the HMAC-SHA256, in hexadecimal, of `t`, a full stop
 * and the body's bytes, under the secret that sender and receiver share. A retry is signed anew.
 */
export const signatureHeader = 'x-a2a-signature'

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
export function signBody({ secret, body, now }: Signing): string {
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
