/** Schemes that must all be satisfied; of a list of requirements one is enough (§4.5). */
export interface SecurityRequirement {
  /** Names of the card's schemes, each with the scopes it needs. */
  readonly schemes: Readonly<Record<string, { readonly list?: readonly string[] }>>
}

/** A way to authenticate: exactly one member (§4.5.1). */
export type SecurityScheme =
  | { readonly apiKeySecurityScheme: APIKeySecurityScheme }
  | { readonly httpAuthSecurityScheme: HTTPAuthSecurityScheme }
  | { readonly oauth2SecurityScheme: OAuth2SecurityScheme }
  | { readonly openIdConnectSecurityScheme: OpenIdConnectSecurityScheme }
  | { readonly mtlsSecurityScheme: MutualTlsSecurityScheme }

/** A key in a header, query parameter or cookie (§4.5.2). */
export interface APIKeySecurityScheme {
  readonly description?: string
  readonly location: 'query' | 'header' | 'cookie'
  /** The header's, parameter's or cookie's name. */
  readonly name: string
}

/** An HTTP authentication scheme (§4.5.3). */
export interface HTTPAuthSecurityScheme {
  readonly description?: string
  /** The scheme's name in `Authorization`, such as `Bearer`. */
  readonly scheme: string
  /** What a bearer token looks like, for people: `JWT`. */
  readonly bearerFormat?: string
}

/** Tokens of an OAuth 2 authorization server (§4.5.4). */
export interface OAuth2SecurityScheme {
  readonly description?: string
  /** How a client gets a token. */
  readonly flows: OAuthFlows
  /** Where the authorization server describes itself (RFC 8414). */
  readonly oauth2MetadataUrl?: string
}

/** Tokens of an OpenID Connect provider (§4.5.5). */
export interface OpenIdConnectSecurityScheme {
  readonly description?: string
  /** Where the provider describes itself. */
  readonly openIdConnectUrl: string
}

/** The client proves itself by its TLS certificate (§4.5.6). */
export interface MutualTlsSecurityScheme {
  readonly description?: string
}

/** An OAuth 2 flow: exactly one member (§4.5.7). */
export type OAuthFlows =
  | { readonly authorizationCode: AuthorizationCodeOAuthFlow }
  | { readonly clientCredentials: ClientCredentialsOAuthFlow }
  | { readonly deviceCode: DeviceCodeOAuthFlow }
  | { readonly implicit: ImplicitOAuthFlow }
  | { readonly password: PasswordOAuthFlow }

/** Names of scopes and what they are for. */
export type OAuthScopes = Readonly<Record<string, string>>

/** A user logs in with a browser, and the client exchanges the code it gets for a token (§4.5.8). */
export interface AuthorizationCodeOAuthFlow {
  readonly authorizationUrl: string
  readonly tokenUrl: string
  /** Where a token is renewed; `tokenUrl` if absent. */
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
  /** Whether the exchange must be protected by PKCE (RFC 7636). */
  readonly pkceRequired?: boolean
}

/** The client gets a token for itself, without a user (§4.5.9). */
export interface ClientCredentialsOAuthFlow {
  readonly tokenUrl: string
  /** Where a token is renewed; `tokenUrl` if absent. */
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
}

/** A user enters a code on another device (§4.5.10). */
export interface DeviceCodeOAuthFlow {
  readonly deviceAuthorizationUrl: string
  readonly tokenUrl: string
  /** Where a token is renewed; `tokenUrl` if absent. */
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
}

/** The implicit flow: deprecated, still part of the data model. */
export interface ImplicitOAuthFlow {
  readonly authorizationUrl?: string
  readonly refreshUrl?: string
  readonly scopes?: OAuthScopes
}

/** The password flow: deprecated, still part of the data model. */
export interface PasswordOAuthFlow {
  readonly tokenUrl?: string
  readonly refreshUrl?: string
  readonly scopes?: OAuthScopes
}
