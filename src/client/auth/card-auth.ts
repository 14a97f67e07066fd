import { A2AError } from '../../protocol/errors.ts'
import type {
  AgentCard,
  OAuth2SecurityScheme,
  SecurityRequirement,
  SecurityScheme,
} from '../../protocol/types.ts'
import { checkArgument, checkOptions } from '../../shared/options.ts'
import { urlFault } from '../../shared/text.ts'
import {
  allOf,
  apiKeyAuth,
  basicAuth,
  bearerAuth,
  type ClientAuth,
  type CredentialOrigins,
  createCredentialOrigins,
  httpAuth,
  type Secret,
} from './auth.ts'
import { checkOAuth, type OAuthConfig } from './oauth.ts'
import { clientCredentials, oauth } from './oauth-flows.ts'

/** Credentials by the name of the security scheme in the card. */
export type Credentials = Readonly<Record<string, Credential>>

/** A key or token; user and password; or who you are to an authorization server, whose endpoints the card names. */
export type Credential = Secret | BasicCredential | OAuthConfig

/** User and password of HTTP's Basic scheme. */
export interface BasicCredential {
  readonly user: string
  readonly password: string
}

/** Which authorization servers that a card names may be told a client secret. */
export interface CardAuthOptions {
  /** The agent's URL as the user named it. */
  readonly serverUrl?: string
  /** Further origins that the user allows. */
  readonly credentialOrigins?: readonly string[]
}

/**
 * Makes of the credentials at hand what a card asks for: the first requirement all of whose schemes are covered.
 * Undefined where the card asks for nothing. A client secret or refresh token goes to an authorization server that
 * only the card names if the options allow its origin.
 *
 * @throws A2AError `unauthenticated` where no requirement is covered; it names the schemes, not the secrets.
 */
export function authFromCard(
  card: AgentCard,
  credentials: Credentials,
  options: CardAuthOptions = {},
): ClientAuth | undefined {
  checkArgument('authFromCard', 'the card', card, 'object')
  checkCredentials('authFromCard', credentials)
  checkOptions('authFromCard', options, { serverUrl: 'string', credentialOrigins: 'array' })
  const { serverUrl, credentialOrigins: allowed } = options
  const origins = createCredentialOrigins({ named: [serverUrl], allowed })
  return toCardAuth(card, credentials, { origins, ...(serverUrl && { resource: serverUrl }) })
}

/** Checks credentials by name of their schemes: each is a secret, user and password, or a client's of OAuth. */
export function checkCredentials(at: string, credentials: Credentials): void {
  checkArgument(at, 'credentials', credentials, 'object')
  for (const [name, credential] of Object.entries(credentials)) {
    const place = `${at}: credentials.${name}`
    checkArgument(at, `credentials.${name}`, credential, 'string|function|object')
    if (isSecret(credential)) continue
    const isBasic = 'user' in credential || 'password' in credential
    if (isBasic) checkOptions(place, credential, { user: 'string!', password: 'string!' })
    else checkOAuth(place, credential)
  }
}

/** What is believed of a card, and how the authorization servers in it are reached. */
export interface CardTerms {
  readonly origins: CredentialOrigins
  /** For servers that only the card names; the runtime's own if absent. */
  readonly fetch?: typeof fetch
  /** The agent's URL as the user named it. */
  readonly resource?: string
  /** Where the agent is called, if the user allows that origin. */
  readonly endpoint?: string | undefined
}

/** The same as `authFromCard`, on a client's own terms. */
export function toCardAuth(
  card: AgentCard,
  credentials: Credentials,
  terms: CardTerms,
): ClientAuth | undefined {
  const requirements = card.securityRequirements ?? []
  if (requirements.length === 0) return undefined
  const chosen = requirements.find((requirement) =>
    namesOf(requirement).every((name) => Object.hasOwn(credentials, name)),
  )
  if (!chosen) throw new A2AError('unauthenticated', `${card.name} asks for ${spell(requirements)}`)
  const endpoint = card.supportedInterfaces.find(({ url }) => terms.origins.has(url))?.url
  const auths = namesOf(chosen).map((name) => {
    const scheme = card.securitySchemes?.[name]
    const credential = credentials[name]
    if (!scheme || credential === undefined)
      throw new A2AError('invalidAgentResponse', `The card does not say what ${name} is`)
    const scopes = chosen.schemes[name]?.list ?? []
    return authFor(scheme, withScopes(credential, scopes), { ...terms, endpoint })
  })
  return auths.length === 0 ? undefined : allOf(auths)
}

/** The scopes of the card's requirement, unless the credential says its own. */
function withScopes(credential: Credential, scopes: readonly string[]): Credential {
  return isSecret(credential) || 'password' in credential ? credential : { scopes, ...credential }
}

function authFor(scheme: SecurityScheme, credential: Credential, terms: CardTerms): ClientAuth {
  if (isSecret(credential)) return fromSecret(scheme, credential)
  if ('password' in credential) return basicAuth(credential.user, credential.password)
  if ('oauth2SecurityScheme' in scheme)
    return fromFlow(scheme.oauth2SecurityScheme, credential, terms)
  if ('openIdConnectSecurityScheme' in scheme) {
    const { openIdConnectUrl: metadataUrl } = scheme.openIdConnectSecurityScheme
    return oauth(withEndpoints(credential, { metadataUrl }, terms))
  }
  const { resource, endpoint } = terms
  if (isBearer(scheme) && resource !== undefined)
    return oauth(withEndpoints(credential, { resource, ...(endpoint && { endpoint }) }, terms))
  throw new A2AError('invalidParams', 'OAuth credentials fit OAuth, OpenID and bearer schemes only')
}

/** A secret is a key where the scheme is a key, and otherwise stands in the Authorization header. */
function fromSecret(scheme: SecurityScheme, secret: Secret): ClientAuth {
  if ('apiKeySecurityScheme' in scheme) return apiKeyAuth(secret, scheme.apiKeySecurityScheme)
  if ('httpAuthSecurityScheme' in scheme && !isBearer(scheme))
    return httpAuth(scheme.httpAuthSecurityScheme.scheme, secret)
  return bearerAuth(secret)
}

function isBearer(scheme: SecurityScheme): boolean {
  return (
    'httpAuthSecurityScheme' in scheme &&
    scheme.httpAuthSecurityScheme.scheme.toLowerCase() === 'bearer'
  )
}

/** The card names the flow and its endpoints. */
function fromFlow(
  scheme: OAuth2SecurityScheme,
  credential: OAuthConfig,
  terms: CardTerms,
): ClientAuth {
  const { flows, oauth2MetadataUrl } = scheme
  const flow = Object.entries(Object.values(flows)[0] ?? {})
  const endpoints = Object.fromEntries(flow.filter(([name]) => endpointNames.has(name)))
  const metadata = oauth2MetadataUrl ? { metadataUrl: oauth2MetadataUrl } : {}
  const config = withEndpoints(credential, { ...metadata, ...endpoints }, terms)
  if ('clientCredentials' in flows) return clientCredentials(config)
  if ('deviceCode' in flows || 'authorizationCode' in flows) return oauth(config)
  throw new A2AError('unsupportedOperation', 'The card offers only flows that OAuth 2.1 dropped')
}

/** What a flow of a card says that a client needs; more may stand beside it. */
const endpointNames: ReadonlySet<string> = new Set<keyof OAuthConfig>([
  'authorizationUrl',
  'tokenUrl',
  'refreshUrl',
  'deviceAuthorizationUrl',
])

/**
 * Endpoints that the card names; what the credential says itself comes first, and one that names its authorization
 * server needs none of them.
 */
function withEndpoints(
  credential: OAuthConfig,
  endpoints: Partial<OAuthConfig>,
  { origins, fetch: fetcher }: CardTerms,
): OAuthConfig {
  if (credential.issuer || credential.metadataUrl) return credential
  const { tokenUrl, refreshUrl, deviceAuthorizationUrl } = credential
  const named = createCredentialOrigins({ named: [tokenUrl, refreshUrl, deviceAuthorizationUrl] })
  return {
    ...(fetcher && { fetch: byWhoNamedIt(named, fetcher) }),
    ...endpoints,
    ...credential,
    mayReceiveSecrets: (url) => named.has(url) || origins.has(url),
  }
}

/** What the user named is asked for as it is written; what the card names, under the client's guard. */
function byWhoNamedIt(named: CredentialOrigins, guarded: typeof fetch): typeof fetch {
  return async (input, init) => {
    const url = String(input)
    if (named.has(url)) return fetch(input, init)
    const fault = urlFault(url)
    if (fault !== undefined)
      throw new A2AError(
        'invalidAgentResponse',
        `A URL of the card's authorization server ${fault}`,
      )
    return guarded(input, init)
  }
}

function isSecret(credential: Credential): credential is Secret {
  return typeof credential === 'string' || typeof credential === 'function'
}

function namesOf(requirement: SecurityRequirement): readonly string[] {
  return Object.keys(requirement.schemes)
}

function spell(requirements: readonly SecurityRequirement[]): string {
  return requirements.map((requirement) => namesOf(requirement).join(' and ')).join(', or ')
}
