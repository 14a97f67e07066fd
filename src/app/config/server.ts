import { z } from 'zod'
import { createAllowList, isRange } from '../../network/guard.ts'
import { isScope, scopeNames } from '../../protocol/operations.ts'
import { callerKeyHeader, jwtDefaults, type SecretOwner } from '../../server/access/auth.ts'
import { type LimitOptions, limitRows } from '../../server/access/limits.ts'
import { isHostEntry } from '../../server/access/origins.ts'
import { fromVariable } from '../../shared/rows.ts'
import { postgresDefaults } from '../../store/postgres/connection.ts'
import {
  described,
  filledText,
  serverDefaults,
  table,
  tableOf,
  toCamelCase,
  whenGiven,
} from './values.ts'

const hostEntry = filledText.refine(
  isHostEntry,
  'must be a host, such as agents.example or host:8443',
)

const proxyEntry = filledText.refine(
  isRange,
  'must be an address, a range such as 10.0.0.0/8, or loopback',
)

const corsSchema = z.strictObject({
  origins: described(z.union([z.literal('*'), z.array(filledText)]), {
    description:
      'Origins whose pages may call, or `"*"`: every page, on loopback too, may then read and write.',
    examples: [['https://app.example.com'], '*'],
  }),
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

const algorithm = filledText.refine((name) => !/^(hs|none$)/i.test(name), {
  error: 'tokens are checked by public keys: name asymmetric algorithms only',
})

const jwtSchema: z.ZodType<NonNullable<ServerAuthConfig['jwt']>> = table({
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

/** The whole `[server.auth]` table. */
const authSchema: z.ZodType<ServerAuthConfig> = z
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
    ...whenGiven('jwt', jwt),
  }))

interface Granted {
  readonly user: string
  readonly scopes?: readonly string[] | undefined
  readonly tenants?: readonly string[] | undefined
}

function toOwner({ user, scopes, tenants }: Granted): SecretOwner {
  if (!scopes && !tenants) return user
  return { userId: user, ...whenGiven('scopes', scopes), ...whenGiven('tenants', tenants) }
}

const count = z.int().min(1)

const days = z.number().positive().optional()

/** `[server.retention]`: which tasks are kept; all where nothing is said. */
export interface RetentionConfig {
  /** How long finished tasks are kept. */
  readonly maxAgeDays?: number
  /** Finished tasks to keep, the newest. */
  readonly maxTasks?: number
  /** How large the store's file may become; the oldest finished tasks go before it does. */
  readonly maxBytes?: number
  /** How long a task may wait for its user before it is dropped like a finished one. */
  readonly waitingDays?: number
}

/** The whole `[server.retention]` table. */
const retentionSchema: z.ZodType<RetentionConfig> = table({
  max_age_days: described(days, {
    description: 'How long finished tasks are kept, in days; for ever if absent.',
    examples: [90],
  }),
  max_tasks: described(count.optional(), {
    description:
      'How many finished tasks are kept, the newest; all if absent, or 10,000 in memory.',
    examples: [100_000],
  }),
  max_bytes: described(count.optional(), {
    description:
      "How large the store's file may become, in bytes: at nine tenths of it the oldest finished tasks go, at all of it writes fail. For a SQLite file alone.",
    examples: [2_000_000_000],
  }),
  waiting_days: described(days, {
    description:
      'How long a task may wait for its user, in days; then it goes like a finished one. For ever if absent.',
    examples: [30],
  }),
})

/** `[server.webhooks]`: where push notifications may go. */
export interface WebhooksConfig {
  /** Whether webhooks are sent; true if absent. */
  readonly enabled?: boolean
  /** Whether `http:` URLs are allowed; false if absent. */
  readonly allowHttp?: boolean
  /** Hosts and ranges inside your network that may be reached all the same. */
  readonly allow?: readonly string[]
}

/** The whole `[server.webhooks]` table. */
const webhooksSchema: z.ZodType<WebhooksConfig> = table({
  enabled: described(z.boolean().optional(), {
    description: 'Whether callers may register webhooks; cards say so.',
    default: serverDefaults.hasWebhooks,
    examples: [false],
  }),
  allow_http: described(z.boolean().optional(), {
    description: 'Whether webhooks may be `http` URLs, not only `https`.',
    default: false,
    examples: [true],
  }),
  allow: described(z.array(filledText).optional(), {
    description:
      'Hosts and ranges inside your networks that webhooks may reach, or `*` for everything; only public addresses if absent.',
    examples: [['hooks.internal', '10.0.0.7:8080', '10.1.0.0/16']],
  }),
})

const allowEntry = filledText.refine(isAllowEntry, 'must be a host, host:port, a range or *')

function isAllowEntry(entry: string): boolean {
  try {
    createAllowList([entry])
    return true
  } catch {
    return false
  }
}

/** `[server.console]`: the page in which people see the server at work. */
export interface ConsoleConfig {
  /** Whether there is one; true if absent. */
  readonly enabled?: boolean
  /** Hosts and ranges inside your network whose agents it may ask. */
  readonly allow?: readonly string[]
}

/** The whole `[server.console]` table. */
const consoleSchema: z.ZodType<ConsoleConfig> = table({
  enabled: described(z.boolean().optional(), {
    description: 'Whether there is a console.',
    default: serverDefaults.hasConsole,
    examples: [false],
  }),
  allow: described(z.array(allowEntry).optional(), {
    description:
      'Hosts and ranges inside your networks whose agents operators may ask from the console, or `*` for everything; only public addresses if absent.',
    examples: [['agents.internal', '10.1.0.0/16']],
  }),
})

const { leaseMs, beatMs, ...postgresUsual } = postgresDefaults
const seconds = z.number().positive().optional()

/** `[server.postgres.tls]`: files, relative to the configuration's. */
export interface PostgresTlsConfig {
  /** The authority that signed the database's certificate. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

const tlsSchema: z.ZodType<PostgresTlsConfig> = table({
  ca: described(filledText.optional(), {
    description:
      "The certificate of the authority that signed the database's, a file relative to this one.",
    examples: ['./tls/ca.pem'],
  }),
  cert: described(filledText.optional(), {
    description: 'The certificate that Corral shows, a file relative to this one.',
    examples: ['./tls/corral.pem'],
  }),
  key: described(filledText.optional(), {
    description: 'The key of that certificate, a file relative to this one.',
    examples: ['./tls/corral.key'],
  }),
})

const schemaName = z
  .string()
  .regex(/^[a-z_][a-z0-9_]{0,39}$/, 'must be small letters, digits and underscores, at most 40')

const postgresTable = z.strictObject({
  schema: described(schemaName.optional(), {
    description: 'The schema that holds all tables; it is made where there is none.',
    default: postgresUsual.schema,
    examples: ['agents'],
  }),
  readers: described(count.max(100).optional(), {
    description:
      'Connections that read, 100 at most. Each replica has two more: one writes, one listens.',
    default: postgresUsual.readers,
    examples: [8],
  }),
  session_url: described(z.url({ protocol: /^postgres(?:ql)?$/ }).optional(), {
    description:
      'Where the one connection goes that must keep its session, past a pooler at `store`; to `store` as well if absent.',
    examples: ['postgres://corral@db.internal:5432/corral'],
  }),
  tls: described(z.union([z.boolean(), tlsSchema]).optional(), {
    description:
      'Whether connections are encrypted, or with which files; as `sslmode` in the URL says if absent, which comes first.',
    examples: [true, { ca: './tls/ca.pem' }],
  }),
  statement_timeout_seconds: described(seconds, {
    description: 'How long the database may work on one statement, in seconds; then it ends it.',
    default: postgresUsual.statementTimeoutMs / 1000,
    examples: [10],
  }),
  commit_timeout_seconds: described(seconds, {
    description:
      'How long a commit is tried again while the database is away, in seconds; then sends answer `unavailable`.',
    default: postgresUsual.commitTimeoutMs / 1000,
    examples: [60],
  }),
  lease_ms: described(count.optional(), {
    description:
      'How long a replica counts as alive after it was last heard of, in milliseconds; then others take its tasks. At least twice `beat_ms` and 100 more.',
    default: leaseMs,
    examples: [10_000],
  }),
  beat_ms: described(count.optional(), {
    description: 'How often a replica says that it lives, in milliseconds.',
    default: beatMs,
    examples: [500],
  }),
  look_ms: described(count.optional(), {
    description: 'How often a replica looks for tasks of others that died, in milliseconds.',
    default: postgresUsual.lookMs,
    examples: [1000],
  }),
  chunk_gap_ms: described(z.int().min(0).max(10_000).optional(), {
    description:
      'The least time between two commits of the pieces of one answer, in milliseconds, 10,000 at most: fewer writes, and streams that move less often.',
    default: 0,
    examples: [250],
  }),
  foreign_build_after_seconds: described(
    z.union([z.number().min(0), z.literal('fail')]).optional(),
    {
      description:
        "How long tasks wait for a replica with their agent's own definition, in seconds, before any replica takes them; `fail` waits for ever.",
      default: postgresUsual.foreignBuildAfterMs / 1000,
      examples: [60, 'fail'],
    },
  ),
})

/** `[server.postgres]`: how a store in PostgreSQL is used, where `store` names one. */
export interface PostgresConfig {
  /** The schema that holds all tables; `corral` if absent. */
  readonly schema?: string
  /** The database past a pooler, for the one connection that must be a session of its own. */
  readonly sessionUrl?: string
  /** Connections that read, besides the one that writes and the one that listens; 4 if absent. */
  readonly readers?: number
  /** Whether and how connections are encrypted. */
  readonly tls?: boolean | PostgresTlsConfig
  /** The longest that the database may work on one statement; 30 if absent. */
  readonly statementTimeoutSeconds?: number
  /** How long a commit is tried again while the database is away. */
  readonly commitTimeoutSeconds?: number
  /** How long a replica counts as alive after it was last heard of. */
  readonly leaseMs?: number
  /** How often a replica says that it lives. */
  readonly beatMs?: number
  /** How often it is looked whether another one has died. */
  readonly lookMs?: number
  /** The least time between two commits of the pieces of one answer. */
  readonly chunkGapMs?: number
  /** How long tasks wait for a replica with their agent's definition before any takes them; `fail` for ever. */
  readonly foreignBuildAfterSeconds?: number | 'fail'
}

/** The whole `[server.postgres]` table. A lease that one lost beat would end is no lease. */
const postgresSchema: z.ZodType<PostgresConfig> = postgresTable
  .refine(({ lease_ms: lease = leaseMs, beat_ms: beat = beatMs }) => lease >= 2 * beat + 100, {
    path: ['lease_ms'],
    error: `must be at least twice beat_ms (${beatMs} if absent) and 100 more`,
  })
  .transform((postgres) => toCamelCase<PostgresConfig>(postgres))

/** `[server]`: how the file's teams and agents are served. The command's flags come first. */
export interface ServerConfig {
  /** `127.0.0.1` if absent. */
  readonly host?: string
  /** 3000 if absent. */
  readonly port?: number
  /** What cards show as the server's address. */
  readonly publicUrl?: string
  /** Further host names that a server on loopback answers to. */
  readonly allowedHosts?: readonly string[]
  /** Whether it starts where anyone on the network may call. */
  readonly allowUnauthenticated?: boolean
  /** The proxies whose word on who calls is taken: addresses, ranges, `loopback`. */
  readonly trustedProxies?: readonly string[]
  /** `memory`, the file of the embedded store, or the URL of a PostgreSQL database. */
  readonly store?: string
  /** How a PostgreSQL store is used. */
  readonly postgres?: PostgresConfig
  /** Whether callers may ask for the trace of their tasks; true if absent. */
  readonly trace?: boolean
  /** Who may call; anyone if absent. */
  readonly auth?: ServerAuthConfig
  /** Which web pages may call. */
  readonly cors?: { readonly origins: '*' | readonly string[] }
  /** How much is too much. */
  readonly limits?: LimitOptions
  /** Which tasks are kept; all if absent. */
  readonly retention?: RetentionConfig
  /** Whether webhooks are sent, and where to. */
  readonly webhooks?: WebhooksConfig
  /** Whether there is a console, and which agents elsewhere it may ask. */
  readonly console?: ConsoleConfig
}

/** The whole `[server]` table. */
export const serverSchema: z.ZodType<ServerConfig> = table({
  host: described(filledText.optional(), {
    description:
      'The interface that it listens on. Beyond loopback it does not start without `[server.auth]` or `allow_unauthenticated`.',
    default: serverDefaults.host,
    examples: ['0.0.0.0'],
  }),
  port: described(z.int().min(0).max(65_535).optional(), {
    description: 'The port that it listens on; 0 takes any free one.',
    default: serverDefaults.port,
    examples: [8080],
  }),
  public_url: described(z.url({ protocol: /^https?$/ }).optional(), {
    description:
      'The URL under which clients reach it; cards lead there. Set it behind a proxy; cards show the address that it listens on if this is absent.',
    examples: ['https://agents.example.com'],
  }),
  store: described(filledText.optional(), {
    description:
      'Where tasks are kept: a SQLite file, relative to this one; `memory`, which keeps nothing when it stops; or a `postgres://` URL, which replicas share. The default lies where `corral` is started.',
    default: serverDefaults.store,
    examples: ['./data/tasks.db', 'memory', 'postgres://corral@db.internal/corral'],
  }),
  trace: described(z.boolean().optional(), {
    description: 'Whether callers that ask for it see what happens inside their tasks.',
    default: true,
    examples: [false],
  }),
  allow_unauthenticated: described(z.boolean().optional(), {
    description:
      'Whether `corral serve` starts beyond loopback without `[server.auth]`: anyone who reaches the machine may then call.',
    default: false,
    examples: [true],
  }),
  allowed_hosts: described(z.array(hostEntry).optional(), {
    description:
      'Further hosts that a server on loopback answers to, on any port or on one. Requests under others get 421.',
    examples: [['agents.internal', 'agents.internal:8443']],
  }),
  trusted_proxies: described(z.array(proxyEntry).optional(), {
    description:
      'Proxies whose `Forwarded` and `X-Forwarded-*` headers are believed: addresses, ranges, `loopback`. No others are.',
    examples: [['loopback', '10.0.0.0/8']],
  }),
  auth: described(authSchema.optional(), {
    description: 'Who may call; anyone who reaches the server if absent.',
    examples: [{ api_keys: [{ key: fromVariable('ALICE_KEY'), user: 'alice' }] }],
  }),
  cors: described(corsSchema.optional(), {
    description:
      'Which pages in browsers may call. On loopback only its own may if this is absent, elsewhere others read nothing but cards.',
    examples: [{ origins: ['https://app.example.com'] }],
  }),
  limits: described(tableOf(limitRows).optional(), {
    description: 'How much is too much, for everything that callers can make grow.',
    examples: [{ requests: 600, window_seconds: 60 }],
  }),
  retention: described(retentionSchema.optional(), {
    description: 'Which tasks are kept; all of them if absent.',
    examples: [{ max_age_days: 90 }],
  }),
  webhooks: described(webhooksSchema.optional(), {
    description: 'Whether there are push notifications, and where they may go.',
    examples: [{ allow: ['hooks.internal'] }],
  }),
  console: described(consoleSchema.optional(), {
    description: 'The page at `/console/` in which people see the server at work.',
    examples: [{ enabled: false }],
  }),
  postgres: described(postgresSchema.optional(), {
    description: 'How a PostgreSQL database is used, where `store` names one.',
    examples: [{ schema: 'corral', readers: 4 }],
  }),
})
