import { z } from 'zod'
import { isRange } from '../../network/ranges.ts'
import { isHostEntry } from '../../server/hosts.ts'
import type { LimitOptions } from '../../server/limits.ts'
import { serverDefaults } from './defaults.ts'
import { described, fromVariable } from './described.ts'
import { type PostgresConfig, postgresSchema } from './postgres.ts'
import { authSchema, type ServerAuthConfig } from './server-auth.ts'
import { limitsSchema } from './server-limits.ts'
import {
  type ConsoleConfig,
  consoleSchema,
  type RetentionConfig,
  retentionSchema,
  type WebhooksConfig,
  webhooksSchema,
} from './server-parts.ts'
import { filledText, whenGiven } from './values.ts'

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

const serverTable = z.strictObject({
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
  limits: described(limitsSchema.optional(), {
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

/** The whole `[server]` table. */
export const serverSchema: z.ZodType<ServerConfig> = serverTable.transform((server) => ({
  ...whenGiven('host', server.host),
  ...whenGiven('port', server.port),
  ...whenGiven('publicUrl', server.public_url),
  ...whenGiven('allowedHosts', server.allowed_hosts),
  ...whenGiven('allowUnauthenticated', server.allow_unauthenticated),
  ...whenGiven('trustedProxies', server.trusted_proxies),
  ...whenGiven('store', server.store),
  ...whenGiven('postgres', server.postgres),
  ...whenGiven('trace', server.trace),
  ...whenGiven('auth', server.auth),
  ...whenGiven('cors', server.cors),
  ...whenGiven('limits', server.limits),
  ...whenGiven('retention', server.retention),
  ...whenGiven('webhooks', server.webhooks),
  ...whenGiven('console', server.console),
}))
