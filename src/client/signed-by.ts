import type { JSONWebKeySet } from 'jose'
import { A2AError } from '../protocol/errors.ts'
import { isKeySet, requireSignature } from '../protocol/signature.ts'
import type { CardVerifier } from './discovery.ts'

/**
 * Takes only cards that one of these keys has signed (§8.4.3): the `verifyCard` of a client. Such a card may name
 * other origins for the client's credentials.
 *
 * @throws A2AError `invalidParams` for what is no key set.
 */
export function signedBy(keys: JSONWebKeySet): CardVerifier {
  if (!isKeySet(keys)) throw new A2AError('invalidParams', 'The keys are no JSON Web Key Set')
  const verify = (served: unknown): Promise<void> => requireSignature(served, { keys })
  return Object.assign(verify, { vouches: true })
}
