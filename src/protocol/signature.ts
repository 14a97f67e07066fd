import canonicalize from 'canonicalize'
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
import { myTurn } from '../shared/async.ts'
import { readUrl } from '../shared/text.ts'
import { A2AError } from './errors.ts'
import { type Check, isPlainObject } from './schema-checks.ts'
import { agentCard } from './schema-tables.ts'
import type { AgentCard, AgentCardSignature } from './types.ts'

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

/**
 * Signatures of agent cards (specification §8.4): a JWS over the card's canonical form, detached; the card itself is the
 * payload. Nothing that a signature says of itself is believed before its key was found among the trusted ones.
 */

/** Asymmetric algorithms only: with a shared secret whoever can verify can also sign. */
const algorithms = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

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

/** More signatures than this are not looked at. */
const maxSignatures = 16

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
  const payloads = new Payloads(card)
  return Promise.all(
    signatures
      .slice(0, maxSignatures)
      .map((signature: unknown) => verify(signature, payloads, resolve)),
  )
}

async function verify(
  signature: unknown,
  payloads: Payloads,
  resolve: KeyResolver,
): Promise<CardSignatureVerdict> {
  const header = readHeader(signature)
  if (typeof header === 'string') return { valid: false, reason: header }
  const { kid } = header
  const key = await resolve(header).catch(() => undefined)
  if (!key) return { valid: false, kid, reason: `key ${kid} is not trusted` }
  // The header was read from it, so it is an object with both strings.
  const { protected: head, signature: mark } = signature as AgentCardSignature
  for (let form = 0; ; form++) {
    const payload = await payloads.of(form)
    if (payload === undefined) break
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

function fromKeySet(set: JSONWebKeySet): KeyResolver {
  const find = createLocalJWKSet(set)
  return async ({ alg, kid }) => find({ alg, kid })
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

/** Whether a value is a JSON Web Key Set, as far as its shape tells. */
export function isKeySet(value: unknown): value is JSONWebKeySet {
  return isPlainObject(value) && Array.isArray(value.keys) && value.keys.every(isPlainObject)
}

/**
 * The canonical form of an agent card, which its signatures are over (specification §8.4.1):
 *
 * - without `signatures` and without fields that the model does not know (a card may carry those of 0.3 too),
 * - with required fields and explicitly set optional ones, and without any other field that equals its default,
 * - written by JCS (RFC 8785).
 */

/** The payload of a card's signature: its canonical form as the specification defines it. */
export function canonicalCard(card: unknown): string {
  return toJcs(withoutDefaults(agentCard, withoutSignatures(card)))
}

/**
 * The payloads that a signature may be over: the specification's form, then the one of peers that strip every empty
 * value, required ones included. None for a card that JCS cannot write (half a surrogate pair, endless nesting). One
 * takes several times as long as reading the card, so it is made when a trusted key asks for it, in a tick of its own.
 */
class Payloads {
  readonly #card: unknown
  readonly #made: Promise<string | undefined>[] = []

  constructor(card: unknown) {
    this.#card = card
  }

  /** Undefined where there is no such form. */
  of(form: number): Promise<string | undefined> {
    this.#made[form] ??= this.#make(form)
    return this.#made[form]
  }

  async #make(form: number): Promise<string | undefined> {
    if (form > 2) return undefined
    await myTurn()
    try {
      const whole = withoutSignatures(this.#card)
      if (form === 2) return base64url.encode(toJcs(whole)) // as signers of 0.3 cards do: every member as it is served
      const strict = withoutDefaults(agentCard, whole)
      return base64url.encode(toJcs(form === 0 ? strict : (withoutEmpties(strict) ?? {})))
    } catch {
      return undefined
    }
  }
}

function toJcs(value: unknown): string {
  return canonicalize(value) ?? '{}'
}

function withoutSignatures(card: unknown): unknown {
  if (!isPlainObject(card)) return {}
  const { signatures: _, ...rest } = card
  return rest
}

function withoutDefaults(check: Check, value: unknown): unknown {
  const { fields, items } = check
  if (items && Array.isArray(value)) return value.map((item) => withoutDefaults(items, item))
  if (!isPlainObject(value)) return value
  if (items) return mapValues(value, (item) => withoutDefaults(items, item))
  if (!fields) return value
  return mapValues(value, (given, name) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!field || given === null || given === undefined) return undefined
    const kept = withoutDefaults(field.check, given)
    return field.presence === 'implicit' && isDefault(kept) ? undefined : kept
  })
}

function isDefault(value: unknown): boolean {
  if (value === '' || value === false || value === 0) return true
  if (Array.isArray(value)) return value.length === 0
  return isPlainObject(value) && Object.keys(value).length === 0
}

/**
 * The value without empty strings, lists and objects at any depth; undefined if nothing is left. Items of lists stay:
 * else an empty security requirement ("nothing is required") could be slipped into a signed card.
 */
function withoutEmpties(value: unknown): unknown {
  if (value === '' || value === null) return undefined
  if (Array.isArray(value)) {
    return value.length > 0 ? value.map((item) => withoutEmpties(item) ?? item) : undefined
  }
  if (!isPlainObject(value)) return value
  const members = mapValues(value, withoutEmpties)
  return Object.keys(members).length > 0 ? members : undefined
}

function mapValues(
  value: Readonly<Record<string, unknown>>,
  change: (item: unknown, name: string) => unknown,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(value).map(([name, item]) => [name, change(item, name)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
}
