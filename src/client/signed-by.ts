import type { JSONWebKeySet } from 'jose'
import { requireSignature } from '../protocol/signature.ts'
import type { CardVerifier } from './discovery.ts'

/**
 * Takes only cards that one of these keys has signed (specification §8.4.3). Such a card may name other origins for the
 * client's credentials: its owner has said so, and nobody on the way could.
 */
export function signedBy(keys: JSONWebKeySet): CardVerifier {
  const verify = (served: unknown): Promise<void> => requireSignature(served, { keys })
  return Object.assign(verify, { vouches: true })
}
