/** Webhooks signed with a key pair, and the receiver that checks them. */
// #region sign
import { createServer, createTokenSigner } from 'corral/server'
import clerk from './clerk.mjs'

/** `keys`: private JSON Web Keys with `alg`, the newest first. `issuer`: the server's own URL. */
export async function serve(issuer, keys, guard) {
  const signer = await createTokenSigner({ issuer, keys })
  return createServer({ agents: [clerk], pushNotifications: { guard, signer } })
}

// #endregion sign

// #region check
import { createHash } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'

/** Gives the claims of a request that the server with these keys made for `url`; throws for any other. */
export function createCheck(issuer, url) {
  const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', issuer))
  return async (headers, body) => {
    const token = headers.authorization?.replace(/^Bearer /, '') ?? ''
    const { payload } = await jwtVerify(token, keys, { issuer, audience: url })
    const digest = createHash('sha256').update(body).digest('hex')
    if (payload.request_body_sha256 !== digest) throw new Error('This token is for another body')
    return payload // jti is the event's id
  }
}
// #endregion check
