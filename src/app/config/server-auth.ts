import { z } from 'zod'
import { isScope, scopeNames } from '../../protocol/scopes.ts'
import type { SecretOwner } from '../../server/secrets.ts'
import { filledText, whenGiven } from './values.ts'

/** `[server.auth]`: who may call. */
export interface ServerAuthConfig {
  /** Whether callers without a credential are refused; true if absent. */
  readonly required?: boolean
  /** The header of API keys; `X-API-Key` if absent. */
  readonly apiKeyHeader?: string
  /** Key → user, with scopes and tenants where the key has them. */
  readonly apiKeys?: Readonly<Record<string, SecretOwner>>
  /** Token → user, with scopes and tenants where the token has them. */
  readonly bearerTokens?: Readonly<Record<string, SecretOwner>>
  /** Tokens of an authorization server, checked by signature, issuer, audience and time. */
  readonly jwt?: {
    readonly issuer: string
    readonly audience: string
    readonly jwksUrl: string
    readonly algorithms?: readonly string[]
    readonly userClaim?: string
    readonly tenantClaim?: string
  }
}

const algorithm = filledText.refine((name) => !/^(hs|none$)/i.test(name), {
  error: 'tokens are checked by public keys: name asymmetric algorithms only',
})

const scope = z.string().refine(isScope, {
  error: `a scope is ${scopeNames.join(', ')} or agent:ID`,
})

/** What a key or token is good for, beside whom it belongs to. */
const grant = {
  user: filledText,
  scopes: z.array(scope).optional(),
  tenants: z.array(z.string()).optional(),
}

interface Granted {
  readonly user: string
  readonly scopes?: readonly string[] | undefined
  readonly tenants?: readonly string[] | undefined
}

function toOwner({ user, scopes, tenants }: Granted): SecretOwner {
  if (!scopes && !tenants) return user
  return { userId: user, ...whenGiven('scopes', scopes), ...whenGiven('tenants', tenants) }
}

/** The whole `[server.auth]` table. */
export const authSchema: z.ZodType<ServerAuthConfig> = z
  .strictObject({
    required: z.boolean().optional(),
    api_key_header: filledText.optional(),
    api_keys: z.array(z.strictObject({ key: filledText, ...grant })).optional(),
    bearer_tokens: z.array(z.strictObject({ token: filledText, ...grant })).optional(),
    jwt: z
      .strictObject({
        issuer: filledText,
        audience: filledText,
        jwks_url: z.url({ protocol: /^https?$/ }),
        algorithms: z.array(algorithm).optional(),
        user_claim: filledText.optional(),
        tenant_claim: filledText.optional(),
      })
      .optional(),
  })
  .transform(({ required, api_key_header, api_keys, bearer_tokens, jwt }) => ({
    ...whenGiven('required', required),
    ...whenGiven('apiKeyHeader', api_key_header),
    ...(api_keys && {
      apiKeys: Object.fromEntries(api_keys.map((one) => [one.key, toOwner(one)])),
    }),
    ...(bearer_tokens && {
      bearerTokens: Object.fromEntries(bearer_tokens.map((one) => [one.token, toOwner(one)])),
    }),
    ...(jwt && {
      jwt: {
        issuer: jwt.issuer,
        audience: jwt.audience,
        jwksUrl: jwt.jwks_url,
        ...whenGiven('algorithms', jwt.algorithms),
        ...whenGiven('userClaim', jwt.user_claim),
        ...whenGiven('tenantClaim', jwt.tenant_claim),
      },
    }),
  }))
