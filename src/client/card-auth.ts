import { A2AError } from '../protocol/errors.ts'
import type {
  AgentCard,
  OAuth2SecurityScheme,
  SecurityRequirement,
  SecurityScheme,
} from '../protocol/types.ts'
import {
  allOf,
  apiKeyAuth,
  basicAuth,
  bearerAuth,
  type ClientAuth,
  httpAuth,
  type Secret,
} from './auth.ts'
import type { OAuthConfig } from './oauth/config.ts'
import { clientCredentials, oauth } from './oauth/oauth.ts'

/** Credentials by the name of the security scheme in the card. */
export type Credentials = Readonly<Record<string, Credential>>

/** A key or token; user and password; or who we are to an authorization server, whose endpoints the card names. */
export type Credential = Secret | BasicCredential | OAuthConfig

/** User and password of HTTP's Basic scheme. */
export interface BasicCredential {
  readonly user: string
  readonly password: string
}

/**
 * What a card asks for, made of the credentials at hand: the first requirement all of whose schemes are covered.
 * Undefined where the card asks for nothing.
 *
 * @throws A2AError `unauthenticated` where no requirement is covered; it names the schemes, not the secrets.
 */
export function authFromCard(card: AgentCard, credentials: Credentials): ClientAuth | undefined {
  const requirements = card.securityRequirements ?? []
  if (requirements.length === 0) return undefined
  const chosen = requirements.find((requirement) =>
    namesOf(requirement).every((name) => Object.hasOwn(credentials, name)),
  )
  if (!chosen) throw new A2AError('unauthenticated', `${card.name} asks for ${spell(requirements)}`)
  const auths = namesOf(chosen).map((name) => {
    const scheme = card.securitySchemes?.[name]
    const credential = credentials[name]
    if (!scheme || credential === undefined)
      throw new A2AError('invalidAgentResponse', `The card does not say what ${name} is`)
    return authFor(scheme, credential, chosen.schemes[name]?.list ?? [])
  })
  return auths.length === 0 ? undefined : allOf(auths)
}

function authFor(
  scheme: SecurityScheme,
  credential: Credential,
  scopes: readonly string[],
): ClientAuth {
  if (isSecret(credential)) return fromSecret(scheme, credential)
  if ('password' in credential) return basicAuth(credential.user, credential.password)
  if ('oauth2SecurityScheme' in scheme)
    return fromFlow(scheme.oauth2SecurityScheme, { scopes, ...credential })
  if ('openIdConnectSecurityScheme' in scheme) {
    const { openIdConnectUrl } = scheme.openIdConnectSecurityScheme
    return oauth({ scopes, ...credential, metadataUrl: openIdConnectUrl })
  }
  throw new A2AError('invalidParams', 'OAuth credentials fit OAuth and OpenID schemes only')
}

/** A secret is a key where the scheme is a key, and otherwise stands in the Authorization header. */
function fromSecret(scheme: SecurityScheme, secret: Secret): ClientAuth {
  if ('apiKeySecurityScheme' in scheme) return apiKeyAuth(secret, scheme.apiKeySecurityScheme)
  if ('httpAuthSecurityScheme' in scheme) {
    const name = scheme.httpAuthSecurityScheme.scheme
    return name.toLowerCase() === 'bearer' ? bearerAuth(secret) : httpAuth(name, secret)
  }
  return bearerAuth(secret)
}

/** The card names the flow and its endpoints; what the credential says itself comes first. */
function fromFlow(scheme: OAuth2SecurityScheme, credential: OAuthConfig): ClientAuth {
  const { flows, oauth2MetadataUrl } = scheme
  const { scopes: _, ...endpoints } = Object.values(flows)[0] ?? {}
  const config: OAuthConfig = {
    ...(oauth2MetadataUrl && { metadataUrl: oauth2MetadataUrl }),
    ...endpoints,
    ...credential,
  }
  if ('clientCredentials' in flows) return clientCredentials(config)
  if ('deviceCode' in flows || 'authorizationCode' in flows) return oauth(config)
  throw new A2AError('unsupportedOperation', 'The card offers only flows that OAuth 2.1 dropped')
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
