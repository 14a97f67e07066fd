import type { AuthContext } from '../protocol/call.ts'
import type { APIKeySecurityScheme } from '../protocol/types.ts'
import type { Authenticator } from './authenticator.ts'
import { type JwtOptions, jwtAuthenticator } from './jwt.ts'
import { readBearer, readKey } from './presented.ts'
import { createOwners, type Secrets } from './secrets.ts'

/** What each scheme that a server knows by name is made of. */
export interface SchemeOptions {
  readonly apiKey: ApiKeyOptions
  readonly bearer: BearerOptions
  readonly jwt: JwtOptions
  readonly extractor: CallerExtractor
}

/** The schemes: one without a row here does not compile. A scheme of one's own is any `Authenticator`. */
export const authenticators: {
  readonly [S in keyof SchemeOptions]: (options: SchemeOptions[S]) => Authenticator
} = {
  apiKey: apiKeyAuthenticator,
  bearer: bearerAuthenticator,
  jwt: jwtAuthenticator,
  extractor: extractorAuthenticator,
}

/** An API key in a header, query parameter or cookie. */
export interface ApiKeyOptions {
  /** The header's, parameter's or cookie's name; `X-API-Key` if absent. */
  readonly name?: string
  /** Where the key stands: `header` if absent. */
  readonly location?: APIKeySecurityScheme['location']
  /** Key → owner, or a function that knows the key's owner. */
  readonly keys: Secrets
}

/** The header in which callers give their key where no other is named. */
export const callerKeyHeader = 'X-API-Key'

/** Authenticates callers by an API key. */
export function apiKeyAuthenticator({
  name = callerKeyHeader,
  location = 'header',
  keys,
}: ApiKeyOptions): Authenticator {
  const ownerOf = createOwners(keys)
  return {
    name: 'apiKey',
    scheme: { apiKeySecurityScheme: { location, name } },
    challenge: `ApiKey realm="a2a", name="${name}"`,
    authenticate(presented) {
      const key = readKey(presented, name, location)
      return key ? ownerOf(key) : undefined
    },
  }
}

/** A bearer token that is looked up. */
export interface BearerOptions {
  /** Token → owner, or a function that knows the token's owner. */
  readonly tokens: Secrets
}

/** Authenticates callers by a bearer token that is looked up. */
export function bearerAuthenticator({ tokens }: BearerOptions): Authenticator {
  const ownerOf = createOwners(tokens)
  return {
    name: 'bearer',
    scheme: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    challenge: 'Bearer realm="a2a"',
    authenticate(presented) {
      const token = readBearer(presented)
      return token ? ownerOf(token) : undefined
    },
  }
}

/** Tells who calls by the headers of a request; undefined if it is nobody known. */
export type CallerExtractor = (
  headers: Readonly<Record<string, string | undefined>>,
) => AuthContext | undefined | Promise<AuthContext | undefined>

/** Authenticates callers by a function of the request's headers. */
export function extractorAuthenticator(extract: CallerExtractor): Authenticator {
  return {
    name: 'custom',
    challenge: 'Bearer realm="a2a"',
    authenticate: ({ headers = {} }) => extract(headers),
  }
}
