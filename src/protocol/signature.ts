import {
  base64url,
  type CryptoKey,
  createLocalJWKSet,
  decodeProtectedHeader,
  FlattenedSign,
  flattenedVerify,
  type JSONWebKeySet,
  type JWK,
  type KeyObject,
} from 'jose'
import { readUrl } from '../shared/url.ts'
import { canonicalCard, canonicalForms } from './card-canonical.ts'
import { A2AError } from './errors.ts'
import { isPlainObject } from './schema/check.ts'
import type { AgentCard, AgentCardSignature } from './types.ts'

/**
 * Signatures of agent cards (specification §8.4): a JWS over the card's canonical form, detached; the card itself is the
 * payload. Nothing that a signature says of itself is believed before its key was found among the trusted ones.
 */

/** Asymmetric algorithms only: with a shared secret whoever can verify can also sign. */
const algorithms = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

/** More signatures than this are not looked at. */
const maxSignatures = 16

/** A key to sign or verify with. */
export type CardKey = CryptoKey | KeyObject | JWK

/** What a signature says of its key; all of it is signed. */
export interface SignatureHeader {
  /** The algorithm, such as `ES256`. */
  readonly alg: string
  /** The id of the key. */
  readonly kid: string
  /** Where the public key set can be fetched. */
  readonly jku?: string
}

/** Finds the public key of a signature; undefined for one that is not known, not trusted or revoked. */
export type KeyResolver = (header: SignatureHeader) => Promise<CardKey | undefined>

/** The public keys that are trusted: a key set, or a way to find them. A revoked key is in neither. */
export type CardTrust = { readonly keys: JSONWebKeySet } | { readonly resolve: KeyResolver }

/** Whether a signature holds, and if not, why. */
export interface CardSignatureVerdict {
  readonly valid: boolean
  /** The id of the key that signed, where the signature says it. */
  readonly kid?: string
  /** Why it does not hold. */
  readonly reason?: string
}

/** Adds a signature to a card. */
export async function signCard(
  card: AgentCard,
  key: CardKey,
  header: SignatureHeader,
): Promise<AgentCard> {
  if (!algorithms.includes(header.alg))
    throw new A2AError('invalidParams', `Cards are not signed with ${header.alg}`)
  const payload = new TextEncoder().encode(canonicalCard(card))
  const jws = await new FlattenedSign(payload)
    .setProtectedHeader({ typ: 'JOSE', ...header })
    .sign(key)
  const signature = { protected: jws.protected ?? '', signature: jws.signature }
  return { ...card, signatures: [...(card.signatures ?? []), signature] }
}

/**
 * Tells which of a card's signatures hold, in their order. Give it the card as it was served, not as it was parsed:
 * parsing fills in what a peer left out.
 */
export async function verifyCard(
  card: unknown,
  trust: CardTrust,
): Promise<readonly CardSignatureVerdict[]> {
  const signatures = isPlainObject(card) && Array.isArray(card.signatures) ? card.signatures : []
  const resolve = 'resolve' in trust ? trust.resolve : fromKeySet(trust.keys)
  const payloads = canonicalForms(card)
  return Promise.all(
    signatures
      .slice(0, maxSignatures)
      .map((signature: unknown) => verify(signature, payloads, resolve)),
  )
}

/**
 * Refuses a card unless at least one of its signatures holds (§8.4.3).
 *
 * @throws A2AError `invalidAgentResponse`
 */
export async function requireSignature(card: unknown, trust: CardTrust): Promise<void> {
  const verdicts = await verifyCard(card, trust)
  if (verdicts.some((verdict) => verdict.valid)) return
  const reasons = verdicts.map((verdict) => verdict.reason).join('; ')
  const text = reasons === '' ? 'The agent card is not signed' : `No signature holds: ${reasons}`
  throw new A2AError('invalidAgentResponse', text)
}

/** What keys by `jku` need: the places that are trusted, and a way to fetch JSON from them. */
export interface JkuOptions {
  /** Whole URLs or origins, exactly as they are written in `jku`; nothing else is ever fetched. */
  readonly allow: readonly string[]
  /** Fetches a key set. */
  readonly fetchJson: (url: string) => Promise<unknown>
}

/**
 * Finds the keys of signatures in the key sets that they point at, fetched from allowed places only. Give it to
 * `verifyCard` as `resolve`.
 */
export function createJkuResolver({ allow, fetchJson }: JkuOptions): KeyResolver {
  return async (header) => {
    const { jku } = header
    const url = jku === undefined ? undefined : readUrl(jku)
    if (jku === undefined || !url) return undefined
    if (!allow.includes(jku) && !allow.includes(url.origin)) return undefined
    const keys = await fetchJson(jku)
    return isKeySet(keys) ? fromKeySet(keys)(header) : undefined
  }
}

async function verify(
  signature: unknown,
  payloads: readonly string[],
  resolve: KeyResolver,
): Promise<CardSignatureVerdict> {
  const header = readHeader(signature)
  if (typeof header === 'string') return { valid: false, reason: header }
  const { kid } = header
  const key = await resolve(header).catch(() => undefined)
  if (!key) return { valid: false, kid, reason: `key ${kid} is not trusted` }
  // The header was read from it, so it is an object with both strings.
  const { protected: head, signature: mark } = signature as AgentCardSignature
  for (const text of payloads) {
    const payload = base64url.encode(text)
    const jws = { payload, protected: head, signature: mark }
    const held = await flattenedVerify(jws, key, { algorithms }).catch(() => undefined)
    if (held) return { valid: true, kid }
  }
  return { valid: false, kid, reason: `the card does not match the signature of ${kid}` }
}

function readHeader(signature: unknown): SignatureHeader | string {
  if (!isPlainObject(signature)) return 'a signature is not an object'
  if (typeof signature.protected !== 'string' || typeof signature.signature !== 'string')
    return 'a signature lacks its protected header or value'
  const { alg, kid, jku } = decodeHeader(signature.protected)
  if (typeof alg !== 'string' || !algorithms.includes(alg)) return 'the algorithm is not allowed'
  if (typeof kid !== 'string' || kid === '') return 'the key is not named'
  return { alg, kid, ...(typeof jku === 'string' && { jku }) }
}

function decodeHeader(text: string): Readonly<Record<string, unknown>> {
  try {
    return { ...decodeProtectedHeader({ protected: text }) }
  } catch {
    return {} // not a header: it names no algorithm and is refused for that
  }
}

/** Whether a value is a JSON Web Key Set, as far as its shape tells. */
export function isKeySet(value: unknown): value is JSONWebKeySet {
  return isPlainObject(value) && Array.isArray(value.keys) && value.keys.every(isPlainObject)
}

function fromKeySet(set: JSONWebKeySet): KeyResolver {
  const find = createLocalJWKSet(set)
  return async ({ alg, kid }) => find({ alg, kid })
}
