import { z } from 'zod'
import { createAllowList, isRange } from '../../network/guard.ts'
import { isScope, scopeNames } from '../../protocol/operations.ts'
import { callerKeyHeader, jwtDefaults, type SecretOwner } from '../../server/access/auth.ts'
import { type LimitOptions, limitRows } from '../../server/access/limits.ts'
import { isHostEntry } from '../../server/access/origins.ts'
import { fromVariable, type Rows, row } from '../../shared/rows.ts'
import { postgresDefaults } from '../../store/postgres/connection.ts'
import { filledText, serverDefaults, tableOf, whenGiven } from './values.ts'

const hostEntry = filledText.refine(
  isHostEntry,
  'must be a host, such as agents.example or host:8443',
)

const proxyEntry = filledText.refine(
  isRange,
  'must be an address, a range such as 10.0.0.0/8, or loopback',
)

const corsRows: Rows<NonNullable<ServerConfig['cors']>> = {
  origins: row.any(
    { required: true, examples: [['https://app.example.com'], '*'] },
    'Origins whose pages may call, or `"*"`: every page, on loopback too, may then read and write.',
  ),
}

const corsSchema = tableOf(corsRows, { origins: z.union([z.literal('*'), z.array(filledText)]) })

const scope = z.string().refine(isScope, {
  error: `a scope is ${scopeNames.join(', ')} or agent:ID`,
})

/** What a key or token is good for, beside whom it belongs to. */
interface Granted {
  readonly user: string
  readonly scopes?: readonly string[] | undefined
  readonly tenants?: readonly string[] | undefined
}

const grantRows: Rows<Granted> = {
  user: row.text(
    { required: true, examples: ['alice'] },
    'Whose it is. Tasks belong to the user who sent the first message.',
  ),
  scopes: row.texts(
    { examples: [['tasks:read', 'tasks:write', 'agent:writers']] },
    'What it is good for: `tasks:read`, `tasks:write`, `push`, `operator`, and `agent:ID` for this agent alone. All but `operator` if none of the first four is named.',
  ),
  tenants: row.texts({ examples: [['acme']] }, 'The tenants that it is good for; any if absent.'),
}

const ownGrant = { scopes: z.array(scope), tenants: z.array(z.string()) }

const keyRows: Rows<{ readonly key: string }> = {
  key: row.text(
    { required: true, examples: [fromVariable('ALICE_KEY')] },
    'The key. Keep it in a variable.',
  ),
}

const apiKeySchema = tableOf<{ readonly key: string } & Granted>(
  { ...keyRows, ...grantRows },
  ownGrant,
)

const tokenRows: Rows<{ readonly token: string }> = {
  token: row.text(
    { required: true, examples: [fromVariable('BOB_TOKEN')] },
    'The token. Keep it in a variable.',
  ),
}

const tokenSchema = tableOf<{ readonly token: string } & Granted>(
  { ...tokenRows, ...grantRows },
  ownGrant,
)

const algorithm = filledText.refine((name) => !/^(hs|none$)/i.test(name), {
  error: 'tokens are checked by public keys: name asymmetric algorithms only',
})

const jwtRows: Rows<NonNullable<ServerAuthConfig['jwt']>> = {
  issuer: row.text(
    { required: true, examples: ['https://login.example.com/'] },
    'Who issues the tokens, as their claim `iss` says.',
  ),
  audience: row.text(
    { required: true, examples: ['https://agents.example.com'] },
    'Whom the tokens are for, as their claim `aud` says.',
  ),
  jwksUrl: row.any(
    { required: true, examples: ['https://login.example.com/.well-known/jwks.json'] },
    'Where the public keys of the issuer are.',
  ),
  algorithms: row.texts(
    { default: jwtDefaults.algorithms, examples: [['RS256']] },
    'Algorithms of signatures that are taken, asymmetric ones alone.',
  ),
  userClaim: row.text(
    { default: jwtDefaults.userClaim, examples: ['email'] },
    'The claim that names the user.',
  ),
  tenantClaim: row.text(
    { examples: ['org'] },
    'The claim that names the tenant of the user, or a list of them; any tenant if absent.',
  ),
}

const jwtSchema = tableOf(jwtRows, {
  jwksUrl: z.url({ protocol: /^https?$/ }),
  algorithms: z.array(algorithm),
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

/** `[server.auth]` as it is written in the file. */
interface AuthTable extends Omit<ServerAuthConfig, 'apiKeys' | 'bearerTokens'> {
  readonly apiKeys?: readonly ({ readonly key: string } & Granted)[]
  readonly bearerTokens?: readonly ({ readonly token: string } & Granted)[]
}

const authRows: Rows<AuthTable> = {
  required: row.boolean(
    { default: true, examples: [false] },
    'Whether callers without a credential are refused with 401. A credential that nobody knows always is.',
  ),
  apiKeys: row.tables(
    { examples: [[{ key: fromVariable('ALICE_KEY'), user: 'alice' }]] },
    'API keys, and whose they are.',
  ),
  apiKeyHeader: row.text(
    { default: callerKeyHeader, examples: ['X-Corral-Key'] },
    'The header in which callers give their API key.',
  ),
  bearerTokens: row.tables(
    { examples: [[{ token: fromVariable('BOB_TOKEN'), user: 'bob', scopes: ['operator'] }]] },
    'Bearer tokens, and whose they are.',
  ),
  jwt: row.table(
    {
      examples: [
        {
          issuer: 'https://login.example.com/',
          audience: 'https://agents.example.com',
          jwks_url: 'https://login.example.com/.well-known/jwks.json',
        },
      ],
    },
    'JSON Web Tokens of an issuer, checked by its public keys. They must have `exp`.',
  ),
}

const authSchema = tableOf(authRows, {
  apiKeys: z.array(apiKeySchema),
  bearerTokens: z.array(tokenSchema),
  jwt: jwtSchema,
}).transform(
  ({ required, apiKeyHeader, apiKeys, bearerTokens, jwt }): ServerAuthConfig => ({
    ...whenGiven('required', required),
    ...whenGiven('apiKeyHeader', apiKeyHeader),
    ...(apiKeys && {
      apiKeys: Object.fromEntries(apiKeys.map((one) => [one.key, toOwner(one)])),
    }),
    ...(bearerTokens && {
      bearerTokens: Object.fromEntries(bearerTokens.map((one) => [one.token, toOwner(one)])),
    }),
    ...whenGiven('jwt', jwt),
  }),
)

function toOwner({ user, scopes, tenants }: Granted): SecretOwner {
  if (!scopes && !tenants) return user
  return { userId: user, ...whenGiven('scopes', scopes), ...whenGiven('tenants', tenants) }
}

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

const retentionRows: Rows<RetentionConfig> = {
  maxAgeDays: row.positive(
    { examples: [90] },
    'How long finished tasks are kept, in days; for ever if absent.',
  ),
  maxTasks: row.count(
    { examples: [100_000] },
    'How many finished tasks are kept, the newest; all if absent, or 10,000 in memory.',
  ),
  maxBytes: row.count(
    { examples: [2_000_000_000] },
    "How large the store's file may become, in bytes: at nine tenths of it the oldest finished tasks go, at all of it writes fail. For a SQLite file alone.",
  ),
  waitingDays: row.positive(
    { examples: [30] },
    'How long a task may wait for its user, in days; then it goes like a finished one. For ever if absent.',
  ),
}

/** `[server.webhooks]`: where push notifications may go. */
export interface WebhooksConfig {
  /** Whether webhooks are sent; true if absent. */
  readonly enabled?: boolean
  /** Whether `http:` URLs are allowed; false if absent. */
  readonly allowHttp?: boolean
  /** Hosts and ranges inside your network that may be reached all the same. */
  readonly allow?: readonly string[]
}

const webhookRows: Rows<WebhooksConfig> = {
  enabled: row.boolean(
    { default: serverDefaults.hasWebhooks, examples: [false] },
    'Whether callers may register webhooks; cards say so.',
  ),
  allowHttp: row.boolean(
    { default: false, examples: [true] },
    'Whether webhooks may be `http` URLs, not only `https`.',
  ),
  allow: row.texts(
    { examples: [['hooks.internal', '10.0.0.7:8080', '10.1.0.0/16']] },
    'Hosts and ranges inside your networks that webhooks may reach, or `*` for everything; only public addresses if absent.',
  ),
}

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

const consoleRows: Rows<ConsoleConfig> = {
  enabled: row.boolean(
    { default: serverDefaults.hasConsole, examples: [false] },
    'Whether there is a console.',
  ),
  allow: row.texts(
    { examples: [['agents.internal', '10.1.0.0/16']] },
    'Hosts and ranges inside your networks whose agents operators may ask from the console, or `*` for everything; only public addresses if absent.',
  ),
}

const consoleSchema = tableOf(consoleRows, { allow: z.array(allowEntry) })

const { leaseMs, beatMs, ...postgresUsual } = postgresDefaults

/** `[server.postgres.tls]`: files, relative to the configuration's. */
export interface PostgresTlsConfig {
  /** The authority that signed the database's certificate. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

const tlsRows: Rows<PostgresTlsConfig> = {
  ca: row.text(
    { examples: ['./tls/ca.pem'] },
    "The certificate of the authority that signed the database's, a file relative to this one.",
  ),
  cert: row.text(
    { examples: ['./tls/corral.pem'] },
    'The certificate that Corral shows, a file relative to this one.',
  ),
  key: row.text(
    { examples: ['./tls/corral.key'] },
    'The key of that certificate, a file relative to this one.',
  ),
}

const schemaName = z
  .string()
  .regex(/^[a-z_][a-z0-9_]{0,39}$/, 'must be small letters, digits and underscores, at most 40')

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

const postgresRows: Rows<PostgresConfig> = {
  schema: row.any(
    { default: postgresUsual.schema, examples: ['agents'] },
    'The schema that holds all tables; it is made where there is none.',
  ),
  readers: row.count(
    { max: 100, default: postgresUsual.readers, examples: [8] },
    'Connections that read, 100 at most. Each replica has two more: one writes, one listens.',
  ),
  sessionUrl: row.any(
    { examples: ['postgres://corral@db.internal:5432/corral'] },
    'Where the one connection goes that must keep its session, past a pooler at `store`; to `store` as well if absent.',
  ),
  tls: row.any(
    { examples: [true, { ca: './tls/ca.pem' }] },
    'Whether connections are encrypted, or with which files; as `sslmode` in the URL says if absent, which comes first.',
  ),
  statementTimeoutSeconds: row.positive(
    { default: postgresUsual.statementTimeoutMs / 1000, examples: [10] },
    'How long the database may work on one statement, in seconds; then it ends it.',
  ),
  commitTimeoutSeconds: row.positive(
    { default: postgresUsual.commitTimeoutMs / 1000, examples: [60] },
    'How long a commit is tried again while the database is away, in seconds; then sends answer `unavailable`.',
  ),
  leaseMs: row.count(
    { default: leaseMs, examples: [10_000] },
    'How long a replica counts as alive after it was last heard of, in milliseconds; then others take its tasks. At least twice `beat_ms` and 100 more.',
  ),
  beatMs: row.count(
    { default: beatMs, examples: [500] },
    'How often a replica says that it lives, in milliseconds.',
  ),
  lookMs: row.count(
    { default: postgresUsual.lookMs, examples: [1000] },
    'How often a replica looks for tasks of others that died, in milliseconds.',
  ),
  chunkGapMs: row.count(
    { min: 0, max: 10_000, default: 0, examples: [250] },
    'The least time between two commits of the pieces of one answer, in milliseconds, 10,000 at most: fewer writes, and streams that move less often.',
  ),
  foreignBuildAfterSeconds: row.any(
    { default: postgresUsual.foreignBuildAfterMs / 1000, examples: [60, 'fail'] },
    "How long tasks wait for a replica with their agent's own definition, in seconds, before any replica takes them; `fail` waits for ever.",
  ),
}

/** The whole `[server.postgres]` table. A lease that one lost beat would end is no lease. */
const postgresSchema: z.ZodType<PostgresConfig> = tableOf(postgresRows, {
  schema: schemaName,
  sessionUrl: z.url({ protocol: /^postgres(?:ql)?$/ }),
  tls: z.union([z.boolean(), tableOf(tlsRows)]),
  foreignBuildAfterSeconds: z.union([z.number().min(0), z.literal('fail')]),
}).refine(({ leaseMs: lease = leaseMs, beatMs: beat = beatMs }) => lease >= 2 * beat + 100, {
  path: ['lease_ms'],
  error: `must be at least twice beat_ms (${beatMs} if absent) and 100 more`,
})

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

const serverRows: Rows<ServerConfig> = {
  host: row.text(
    { default: serverDefaults.host, examples: ['0.0.0.0'] },
    'The interface that it listens on. Beyond loopback it does not start without `[server.auth]` or `allow_unauthenticated`.',
  ),
  port: row.count(
    { min: 0, max: 65_535, default: serverDefaults.port, examples: [8080] },
    'The port that it listens on; 0 takes any free one.',
  ),
  publicUrl: row.any(
    { examples: ['https://agents.example.com'] },
    'The URL under which clients reach it; cards lead there. Set it behind a proxy; cards show the address that it listens on if this is absent.',
  ),
  store: row.text(
    {
      default: serverDefaults.store,
      examples: ['./data/tasks.db', 'memory', 'postgres://corral@db.internal/corral'],
    },
    'Where tasks are kept: a SQLite file, relative to this one; `memory`, which keeps nothing when it stops; or a `postgres://` URL, which replicas share. The default lies where `corral` is started.',
  ),
  trace: row.boolean(
    { default: true, examples: [false] },
    'Whether callers that ask for it see what happens inside their tasks.',
  ),
  allowUnauthenticated: row.boolean(
    { default: false, examples: [true] },
    'Whether `corral serve` starts beyond loopback without `[server.auth]`: anyone who reaches the machine may then call.',
  ),
  allowedHosts: row.texts(
    { examples: [['agents.internal', 'agents.internal:8443']] },
    'Further hosts that a server on loopback answers to, on any port or on one. Requests under others get 421.',
  ),
  trustedProxies: row.texts(
    { examples: [['loopback', '10.0.0.0/8']] },
    'Proxies whose `Forwarded` and `X-Forwarded-*` headers are believed: addresses, ranges, `loopback`. No others are.',
  ),
  auth: row.table(
    { examples: [{ api_keys: [{ key: fromVariable('ALICE_KEY'), user: 'alice' }] }] },
    'Who may call; anyone who reaches the server if absent.',
  ),
  cors: row.table(
    { examples: [{ origins: ['https://app.example.com'] }] },
    'Which pages in browsers may call. On loopback only its own may if this is absent, elsewhere others read nothing but cards.',
  ),
  limits: row.table(
    { of: limitRows, examples: [{ requests: 600, window_seconds: 60 }] },
    'How much is too much, for everything that callers can make grow.',
  ),
  retention: row.table(
    { of: retentionRows, examples: [{ max_age_days: 90 }] },
    'Which tasks are kept; all of them if absent.',
  ),
  webhooks: row.table(
    { of: webhookRows, examples: [{ allow: ['hooks.internal'] }] },
    'Whether there are push notifications, and where they may go.',
  ),
  console: row.table(
    { examples: [{ enabled: false }] },
    'The page at `/console/` in which people see the server at work.',
  ),
  postgres: row.table(
    { examples: [{ schema: 'corral', readers: 4 }] },
    'How a PostgreSQL database is used, where `store` names one.',
  ),
}

/** The whole `[server]` table. */
export const serverSchema: z.ZodType<ServerConfig> = tableOf(serverRows, {
  publicUrl: z.url({ protocol: /^https?$/ }),
  allowedHosts: z.array(hostEntry),
  trustedProxies: z.array(proxyEntry),
  auth: authSchema,
  cors: corsSchema,
  console: consoleSchema,
  postgres: postgresSchema,
})
