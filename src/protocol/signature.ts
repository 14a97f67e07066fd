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
import { type Fields, isFields } from '../shared/json.ts'
import { checkOptions } from '../shared/options.ts'
import { readUrl } from '../shared/text.ts'
import { A2AError } from './errors.ts'
import type { Check } from './schema-checks.ts'
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

/** Asymmetric algorithms only: with a shared secret, a verifier could also sign. */
const algorithms = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

/** Where our signatures say which whole card they are of, whatever form they are over: SHA-256 of the specification's. */
const wholeCard = 'urn:corral:card'

/**
 * Adds a signature to a card, over its canonical form. Where that has empty values, such as the scopes of a security
 * requirement, or letters beyond ASCII, the same key signs the form of the official SDKs too, which write neither.
 */
export async function signCard(
  card: AgentCard,
  key: CardKey,
  header: SignatureHeader,
): Promise<AgentCard> {
  if (!algorithms.includes(header.alg))
    throw new A2AError('invalidParams', `Cards are not signed with ${header.alg}`)
  const canonical = canonicalCard(card)
  const shorter = strippedForms(withoutDefaults(agentCard, withoutSignatures(card)))
  const marked = { ...header, [wholeCard]: await digestOf(canonical) }
  const signed = [...new Set([canonical, ...shorter])].map((form) => sign(form, key, marked))
  const added = await Promise.all(signed)
  return { ...card, signatures: [...(card.signatures ?? []), ...added] }
}

async function sign(
  form: string,
  key: CardKey,
  header: SignatureHeader,
): Promise<AgentCardSignature> {
  const jws = await new FlattenedSign(new TextEncoder().encode(form))
    .setProtectedHeader({ typ: 'JOSE', ...header })
    .sign(key)
  return { protected: jws.protected ?? '', signature: jws.signature }
}

async function digestOf(form: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(form))
  return base64url.encode(new Uint8Array(bytes))
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
  const signatures = isFields(card) && Array.isArray(card.signatures) ? card.signatures : []
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
  const { kid, whole, ...named } = header
  const key = await resolve({ kid, ...named }).catch(() => undefined)
  if (!key) return { valid: false, kid, reason: `key ${kid} is not trusted` }
  const fault = { valid: false, kid, reason: `the card does not match the signature of ${kid}` }
  if (whole !== undefined && whole !== (await payloads.digest())) return fault
  // The header was read from it, so it is an object with both strings.
  const { protected: head, signature: mark } = signature as AgentCardSignature
  for (const form of payloads.trusted(whole !== undefined)) {
    const payload = await payloads.of(form)
    if (payload === undefined) continue
    const jws = { payload, protected: head, signature: mark }
    const held = await flattenedVerify(jws, key, { algorithms }).catch(() => undefined)
    if (held) return { valid: true, kid }
  }
  return fault
}

interface ReadHeader extends SignatureHeader {
  /** The digest of the specification's form, where the signature is over another one. */
  readonly whole?: unknown
}

function readHeader(signature: unknown): ReadHeader | string {
  if (!isFields(signature)) return 'a signature is not an object'
  if (typeof signature.protected !== 'string' || typeof signature.signature !== 'string')
    return 'a signature lacks its protected header or value'
  const { alg, kid, jku, [wholeCard]: whole } = decodeHeader(signature.protected)
  if (typeof alg !== 'string' || !algorithms.includes(alg)) return 'the algorithm is not allowed'
  if (typeof kid !== 'string' || kid === '') return 'the key is not named'
  return { alg, kid, whole, ...(typeof jku === 'string' && { jku }) }
}

function decodeHeader(text: string): Fields {
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
export function createJkuResolver(options: JkuOptions): KeyResolver {
  checkOptions('createJkuResolver', options, { allow: 'array!', fetchJson: 'function!' })
  const { allow, fetchJson } = options
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
  return isFields(value) && Array.isArray(value.keys) && value.keys.every(isFields)
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
 * What a signature may be over: the specification's form; that of peers that strip every empty value, required ones and
 * items of lists included; the same as a2a-python writes it, in ASCII; and every member as it is served, as signers of
 * 0.3 cards have it.
 */
const forms = ['specification', 'stripped', 'ascii', 'served'] as const
type Form = (typeof forms)[number]

/**
 * The payloads of a card by their forms. None for a card that JCS cannot write (half a surrogate pair, endless nesting).
 * One takes several times as long as reading the card, so it is made when a trusted key asks for it, in a tick of its own.
 */
class Payloads {
  readonly #card: unknown
  readonly #made: Partial<Record<Form, Promise<string | undefined>>> = {}

  constructor(card: unknown) {
    this.#card = card
  }

  /** Undefined where there is no such form. */
  of(form: Form): Promise<string | undefined> {
    this.#made[form] ??= this.#make(form)
    return this.#made[form]
  }

  /** Of the specification's form. */
  async digest(): Promise<string | undefined> {
    const payload = await this.of('specification')
    return payload === undefined
      ? undefined
      : digestOf(new TextDecoder().decode(base64url.decode(payload)))
  }

  /** The forms that leave out nothing of how callers authenticate; `isWhole` where the digest of the whole card matches. */
  trusted(isWhole: boolean): readonly Form[] {
    try {
      const known = withoutDefaults(agentCard, withoutSignatures(this.#card))
      if (!knowsRequirements(known, this.#card)) return ['served']
      return isWhole || keepsRequirements(known) ? forms : ['specification', 'served']
    } catch {
      return [] // endless nesting, which has no form
    }
  }

  async #make(form: Form): Promise<string | undefined> {
    await myTurn()
    try {
      return base64url.encode(this.#write(form))
    } catch {
      return undefined
    }
  }

  #write(form: Form): string {
    const whole = withoutSignatures(this.#card)
    if (form === 'served') return toJcs(whole)
    const strict = withoutDefaults(agentCard, whole)
    if (form === 'specification') return toJcs(strict)
    const [stripped, ascii] = strippedForms(strict)
    return form === 'stripped' ? stripped : ascii
  }
}

/** The form of peers that strip every empty value: written by JCS, and in ASCII as a2a-python writes it. */
function strippedForms(strict: unknown): readonly [string, string] {
  const text = toJcs(withoutEmpties(strict) ?? {})
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return [text, text.replace(/[\u007f-\uffff]/g, escaped)]
}

/**
 * Whether the specification's form has what readers understand of how callers authenticate. They know 0.3 too: `security`,
 * and schemes and requirements of other shapes.
 */
function knowsRequirements(known: unknown, card: unknown): boolean {
  const given = holdersIn(card)
  return holdersIn(known).every(({ securityRequirements, securitySchemes }, index) => {
    const served = given[index] ?? {}
    if (securityRequirements === undefined && isFull(served.security)) return false
    return (
      isAsFull(securitySchemes, served.securitySchemes) &&
      isAsFull(securityRequirements, served.securityRequirements)
    )
  })
}

/** A card and its skills: what may ask for credentials. */
function holdersIn(card: unknown): readonly Fields[] {
  if (!isFields(card)) return []
  const skills = Array.isArray(card.skills) ? card.skills : []
  return [card, ...skills.map((skill) => (isFields(skill) ? skill : {}))]
}

/** Whether no entry is empty that has something as it is served. */
function isAsFull(known: unknown, served: unknown): boolean {
  const given = Object(served)
  return Object.entries(Object(known)).every(([name, one]) => isFull(one) || !isFull(given[name]))
}

function isFull(value: unknown): boolean {
  return Object.keys(Object(value)).length > 0
}

/**
 * Whether a form without empty values says enough of how callers authenticate. Schemes without scopes are not in it, so
 * that a requirement could be put beside others that are signed, or in the place of another. That one was taken away no
 * signature over such a form can show.
 */
function keepsRequirements(known: unknown): boolean {
  const [card, ...skills] = holdersIn(known)
  const schemes = Object(card?.securitySchemes)
  // A scheme that would not be signed.
  if (!Object.values(schemes).every(withoutEmpties)) return false
  return [card, ...skills].every((holder) => {
    const asked = holder?.securityRequirements
    if (!Array.isArray(asked)) return true
    const signed = asked.filter((one) => withoutEmpties(one) !== undefined).length
    const isMixed = signed > 0 && signed < asked.length
    return !isMixed && asked.every((one) => isOnlyOne(one, Object.keys(schemes)))
  })
}

/** Whether no other requirement of so many schemes has the same form: all have scopes, or it asks for every scheme there is. */
function isOnlyOne(requirement: unknown, known: readonly string[]): boolean {
  const schemes = isFields(requirement) ? Object(requirement.schemes) : {}
  if (!isFull(schemes)) return false
  return (
    Object.values(schemes).every(withoutEmpties) ||
    known.every((name) => Object.hasOwn(schemes, name))
  )
}

function toJcs(value: unknown): string {
  return canonicalize(value) ?? '{}'
}

function withoutSignatures(card: unknown): unknown {
  if (!isFields(card)) return {}
  const { signatures: _, ...rest } = card
  return rest
}

function withoutDefaults(check: Check, value: unknown): unknown {
  const { fields, items } = check
  if (items && Array.isArray(value)) return value.map((item) => withoutDefaults(items, item))
  if (!isFields(value)) return value
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
  return isFields(value) && Object.keys(value).length === 0
}

/** The value without empty strings, lists and objects at any depth; undefined if nothing is left. */
function withoutEmpties(value: unknown): unknown {
  if (value === '' || value === null) return undefined
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpties).filter((item) => item !== undefined)
    return items.length > 0 ? items : undefined
  }
  if (!isFields(value)) return value
  const members = mapValues(value, withoutEmpties)
  return Object.keys(members).length > 0 ? members : undefined
}

function mapValues(value: Fields, change: (item: unknown, name: string) => unknown): Fields {
  const entries = Object.entries(value).map(([name, item]) => [name, change(item, name)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
}
