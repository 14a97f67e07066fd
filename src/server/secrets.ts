import type { AuthContext } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'

/** Whom a secret belongs to: a user's id, or a caller with the scopes and tenants that the secret is good for. */
export type SecretOwner = string | AuthContext

/** Secret → its owner, or a function that knows the owner. */
export type Secrets =
  | Readonly<Record<string, SecretOwner>>
  | ((secret: string) => SecretOwner | undefined | Promise<SecretOwner | undefined>)

/**
 * Makes what knows the owners of secrets. Secrets in a table are kept as digests and found by them, so that to find one
 * costs the same however many there are, and the time it takes tells nothing of a secret.
 */
export function createOwners(secrets: Secrets): (secret: string) => Promise<AuthContext> {
  const find = typeof secrets === 'function' ? secrets : createIndex(secrets)
  return async (secret) => {
    const owner = await find(secret)
    const auth = typeof owner === 'string' ? { userId: owner } : owner
    if (!auth?.userId) throw new A2AError('unauthenticated', 'The credential is unknown')
    return { ...auth, accessToken: secret }
  }
}

function createIndex(
  secrets: Readonly<Record<string, SecretOwner>>,
): (secret: string) => Promise<SecretOwner | undefined> {
  const index = indexOf(Object.entries(secrets))
  return async (secret) => {
    const [owners, name] = await Promise.all([index, digest(secret)])
    return owners.get(name)
  }
}

async function indexOf(
  entries: readonly (readonly [string, SecretOwner])[],
): Promise<ReadonlyMap<string, SecretOwner>> {
  return new Map(
    await Promise.all(
      entries.map(async ([secret, owner]) => [await digest(secret), owner] as const),
    ),
  )
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return String.fromCharCode(...new Uint8Array(bytes))
}
