import * as oauth from 'oauth4webapi'
import { A2AError } from '../../protocol/errors.ts'
import { withSignal } from '../../shared/async.ts'
import { systemClock } from '../../shared/clock.ts'
import { bearerAuth, type ClientAuth } from '../auth.ts'
import type { OAuthConfig, Tokens } from './config.ts'
import { checkDisclosure, oauthFault, openServer, toTokens } from './server.ts'

/** A token is renewed this long before it ends, so that it does not end on the way. */
const leewayMs = 30_000

/**
 * Keeps tokens and renews them before they end: by refresh token where there is one, else by `obtain`. However many
 * requests need a token at once, it is fetched once, and given up when all of them have gone.
 */
export function tokenAuth(
  config: OAuthConfig,
  obtain: (signal: AbortSignal) => Promise<Tokens>,
  start?: Tokens,
): ClientAuth {
  const { clock = systemClock } = config
  let tokens = start
  let endsAt = endOf(start)

  /** By the clock's `elapsed`: a token lives as long as it was given for, however the time of day is set meanwhile. */
  function endOf(given: Tokens | undefined): number {
    if (given?.expiresAt === undefined) return Infinity
    return clock.elapsed() + given.expiresAt - clock.now()
  }

  const renewed = shared(async (signal) => {
    tokens = await fetchTokens(signal)
    endsAt = endOf(tokens)
    return tokens.accessToken
  })

  async function fetchTokens(signal: AbortSignal): Promise<Tokens> {
    const refreshToken = tokens?.refreshToken
    if (refreshToken === undefined) return obtain(signal)
    try {
      return await refresh(config, refreshToken, signal)
    } catch (error) {
      // A refresh token ends too, or was used up; then the user is asked again.
      if (error instanceof A2AError && error.code === 'unauthenticated') return obtain(signal)
      throw error
    }
  }

  async function current(signal: AbortSignal | undefined): Promise<string> {
    const lives = clock.elapsed() < endsAt - leewayMs
    return tokens && lives ? tokens.accessToken : renewed(signal)
  }

  return {
    apply: (call) => bearerAuth(() => current(call.signal)).apply(call),
    async renew(signal) {
      await renewed(signal)
      return true
    },
  }
}

/** Runs `work` once for all who wait for it at the same time, and gives it up when all of them have gone. */
function shared<T>(
  work: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal | undefined) => Promise<T> {
  let running: { result: Promise<T>; controller: AbortController; waiting: number } | undefined

  function begin(): NonNullable<typeof running> {
    const controller = new AbortController()
    const result = work(controller.signal).finally(() => {
      running = undefined
    })
    result.catch(() => {}) // told to those who wait; there may be none left
    return { result, controller, waiting: 0 }
  }

  return async (signal) => {
    running ??= begin()
    const mine = running
    mine.waiting += 1
    try {
      return await withSignal(mine.result, signal)
    } finally {
      mine.waiting -= 1
      if (mine.waiting === 0) mine.controller.abort(signal?.reason)
    }
  }
}

/** Fresh tokens for a refresh token; the old refresh token stays where the server sends no other. */
async function refresh(
  config: OAuthConfig,
  refreshToken: string,
  signal?: AbortSignal,
): Promise<Tokens> {
  try {
    const { as, client, authentication, options } = await openServer(config, signal)
    const server = config.refreshUrl ? { ...as, token_endpoint: config.refreshUrl } : as
    checkDisclosure(config, 'refresh token', server.token_endpoint)
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
