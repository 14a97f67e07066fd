import * as oauth from 'oauth4webapi'
import { withSignal } from '../../shared/async.ts'
import { systemClock } from '../../shared/clock.ts'
import { bearer, type ClientAuth } from '../auth.ts'
import type { OAuthConfig, Tokens } from './config.ts'
import { oauthFault, openServer, toTokens } from './server.ts'

/** A token is renewed this long before it ends, so that it does not end on the way. */
const leewayMs = 30_000

/**
 * Keeps tokens and renews them before they end: by refresh token where there is one, else by `obtain`. However many
 * requests need a token at once, it is fetched once.
 */
export function tokenAuth(
  config: OAuthConfig,
  obtain: (signal?: AbortSignal) => Promise<Tokens>,
  start?: Tokens,
): ClientAuth {
  const { clock = systemClock } = config
  let tokens = start
  let fetching: Promise<Tokens> | undefined

  async function fetchTokens(): Promise<Tokens> {
    const refreshToken = tokens?.refreshToken
    if (refreshToken === undefined) return obtain()
    try {
      return await refresh(config, refreshToken)
    } catch {
      return obtain() // a refresh token ends too, or was used up; the user is asked again
    }
  }

  function renewed(): Promise<Tokens> {
    fetching ??= fetchTokens()
      .then((fresh) => {
        tokens = fresh
        return fresh
      })
      .finally(() => {
        fetching = undefined
      })
    return fetching
  }

  async function current(): Promise<string> {
    const { accessToken, expiresAt = Infinity } = tokens ?? {}
    if (accessToken !== undefined && clock.now() < expiresAt - leewayMs) return accessToken
    return (await renewed()).accessToken
  }

  return {
    apply: (request) => withSignal(Promise.resolve(bearer(current).apply(request)), request.signal),
    async renew(signal) {
      await withSignal(renewed(), signal)
      return true
    },
  }
}

/** Fresh tokens for a refresh token; the old refresh token stays where the server sends no other. */
export async function refresh(
  config: OAuthConfig,
  refreshToken: string,
  signal?: AbortSignal,
): Promise<Tokens> {
  try {
    const { as, client, authentication, options } = await openServer(config, signal)
    const server = config.refreshUrl ? { ...as, token_endpoint: config.refreshUrl } : as
    const response = await oauth.refreshTokenGrantRequest(
      server,
      client,
      authentication,
      refreshToken,
      options(signal),
    )
    const answer = await oauth.processRefreshTokenResponse(server, client, response)
    return { refreshToken, ...toTokens(answer, config) }
  } catch (thrown) {
    throw oauthFault(thrown, signal)
  }
}
