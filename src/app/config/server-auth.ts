import { z } from 'zod'
import { isScope, scopeNames } from '../../protocol/scopes.ts'
import { callerKeyHeader } from '../../server/authenticators.ts'
import { jwtDefaults } from '../../server/jwt.ts'
import type { SecretOwner } from '../../server/secrets.ts'
import { described, fromVariable } from './described.ts'
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
  user: described(filledText, {
    description: 'Whose it is. Tasks belong to the user who sent the first message.',
    examples: ['alice'],
  }),
  scopes: described(z.array(scope).optional(), {
    description:
      'What it is good for: `tasks:read`, `tasks:write`, `push`, `operator`, and `agent:ID` for this agent alone. All but `operator` if none of the first four is named.',
    examples: [['tasks:read', 'tasks:write', 'agent:writers']],
  }),
  tenants: described(z.array(z.string()).optional(), {
    description: 'The tenants that it is good for; any if absent.',
    examples: [['acme']],
  }),
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

const apiKeySchema = z.strictObject({
  key: described(filledText, {
    description: 'The key. Keep it in a variable.',
    examples: [fromVariable('ALICE_KEY')],
  }),
  ...grant,
})

const tokenSchema = z.strictObject({
  token: described(filledText, {
    description: 'The token. Keep it in a variable.',
    examples: [fromVariable('BOB_TOKEN')],
  }),
  ...grant,
})

const jwtSchema = z.strictObject({
  issuer: described(filledText, {
    description: 'Who issues the tokens, as their claim `iss` says.',
    examples: ['https://login.example.com/'],
  }),
  audience: described(filledText, {
    description: 'Whom the tokens are for, as their claim `aud` says.',
    examples: ['https://agents.example.com'],
  }),
  jwks_url: described(z.url({ protocol: /^https?$/ }), {
    description: 'Where the public keys of the issuer are.',
    examples: ['https://login.example.com/.well-known/jwks.json'],
  }),
  algorithms: described(z.array(algorithm).optional(), {
    description: 'Algorithms of signatures that are taken, asymmetric ones alone.',
    default: jwtDefaults.algorithms,
    examples: [['RS256']],
  }),
  user_claim: described(filledText.optional(), {
    description: 'The claim that names the user.',
    default: jwtDefaults.userClaim,
    examples: ['email'],
  }),
  tenant_claim: described(filledText.optional(), {
    description:
      'The claim that names the tenant of the user, or a list of them; any tenant if absent.',
    examples: ['org'],
  }),
})

/** The whole `[server.auth]` table. */
export const authSchema: z.ZodType<ServerAuthConfig> = z
  .strictObject({
    required: described(z.boolean().optional(), {
      description:
        'Whether callers without a credential are refused with 401. A credential that nobody knows always is.',
      default: true,
      examples: [false],
    }),
    api_keys: described(z.array(apiKeySchema).optional(), {
      description: 'API keys, and whose they are.',
      examples: [[{ key: fromVariable('ALICE_KEY'), user: 'alice' }]],
    }),
    api_key_header: described(filledText.optional(), {
      description: 'The header in which callers give their API key.',
      default: callerKeyHeader,
      examples: ['X-Corral-Key'],
    }),
    bearer_tokens: described(z.array(tokenSchema).optional(), {
      description: 'Bearer tokens, and whose they are.',
      examples: [[{ token: fromVariable('BOB_TOKEN'), user: 'bob', scopes: ['operator'] }]],
    }),
    jwt: described(jwtSchema.optional(), {
      description:
        'JSON Web Tokens of an issuer, checked by its public keys. They must have `exp`.',
      examples: [
        {
          issuer: 'https://login.example.com/',
          audience: 'https://agents.example.com',
          jwks_url: 'https://login.example.com/.well-known/jwks.json',
        },
      ],
    }),
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
