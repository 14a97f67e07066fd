import type { Clock } from '../../shared/clock.ts'

/** A client of an authorization server (002's OAuthConfig). Endpoints are given, or found from issuer or metadata. */
export interface OAuthConfig {
  readonly clientId: string
  /** Absent for a public client, such as a command line. */
  readonly clientSecret?: string
  readonly scopes?: readonly string[]
  /** The server's issuer identifier; its metadata is fetched (RFC 8414, OpenID Connect Discovery). */
  readonly issuer?: string
  /** The URL of the server's metadata, where it is not the usual one. */
  readonly metadataUrl?: string
  readonly authorizationUrl?: string
  readonly tokenUrl?: string
  readonly refreshUrl?: string
  readonly deviceAuthorizationUrl?: string
  /** Where the browser is sent back to; a loopback listener brings its own. */
  readonly redirectUri?: string
  /** Allow plain HTTP to the authorization server; only for tests. */
  readonly allowInsecure?: boolean
  readonly fetch?: typeof fetch
  readonly clock?: Clock
}

/** What an authorization server gave. Secret: never logged. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken?: string
  /** Milliseconds since the epoch; absent where the server does not say. */
  readonly expiresAt?: number
}
