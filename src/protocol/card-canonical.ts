import canonicalize from 'canonicalize'
import { agentCard } from './schema/cards.ts'
import { type Check, isPlainObject } from './schema/check.ts'

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
 * value, required ones included. None for a card that JCS cannot write (half a surrogate pair, endless nesting).
 */
export function canonicalForms(card: unknown): readonly string[] {
  try {
    const form = withoutDefaults(agentCard, withoutSignatures(card))
    return [toJcs(form), toJcs(withoutEmpties(form) ?? {})]
  } catch {
    return []
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
