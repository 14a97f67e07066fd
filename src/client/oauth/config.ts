import type { Clock } from '../../shared/clock.ts'

/** A client of an authorization server. Endpoints are given, or found from issuer or metadata. */
export interface OAuthConfig {
  /** The client's id at the authorization server. */
  readonly clientId: string
  /** Absent for a public client, such as a command line. */
  readonly clientSecret?: string
  /** The scopes to ask for. */
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
  /** How a user with a browser takes part; then codes are exchanged for tokens. */
  readonly interaction?: Interaction
  /** How a user elsewhere takes part: shows the code that is to be entered there. */
  readonly prompt?: (prompt: DevicePrompt) => void | Promise<void>
  /** Whether an endpoint may be told the client secret or a refresh token; every one if absent. */
  readonly mayReceiveSecrets?: (endpoint: string) => boolean
  /** Sends requests to the authorization server; the built-in one if absent. */
  readonly fetch?: typeof fetch
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

/** How a user takes part: a browser is opened, and somebody listens for its return. */
export interface Interaction {
  /** Opens the user's browser at a URL, or shows the URL. */
  open(url: string): void | Promise<void>
  /** Begins to listen for the browser's return: `listenForRedirect` on a command line. */
  listen(): Promise<Redirect>
}

/** Where the browser comes back to. */
export interface Redirect {
  /** The URL that the authorization server sends the browser to. */
  readonly redirectUri: string
  /** Told the `state` of the authorization before the browser is opened; answers with another are not its own. */
  expect?(state: string): void
  /** The URL that the browser came back with. */
  wait(signal?: AbortSignal): Promise<URL>
  /** Ends the listening. */
  close(): Promise<void>
}

/** What the user has to be told: where to go and which code to enter. */
export interface DevicePrompt {
  /** The code that the user enters. */
  readonly userCode: string
  /** Where the user enters it. */
  readonly verificationUri: string
  /** The same with the code in it, for a link or a QR code. */
  readonly verificationUriComplete?: string
}

/** What an authorization server gave. Secret: never logged. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken?: string
  /** Milliseconds since the epoch; absent where the server does not say. */
  readonly expiresAt?: number
}
