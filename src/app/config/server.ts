import { z } from 'zod'
import { createAllowList } from '../../network/allow-list.ts'
import { isRange } from '../../network/ranges.ts'
import { isHostEntry } from '../../server/hosts.ts'
import type { LimitOptions } from '../../server/limits.ts'
import { type PostgresConfig, postgresSchema } from './postgres.ts'
import { authSchema, type ServerAuthConfig } from './server-auth.ts'
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

/** `[server.console]`: the page in which people see the server at work. */
export interface ConsoleConfig {
  /** Whether there is one; true if absent. */
  readonly enabled?: boolean
  /** Hosts and ranges inside your network whose agents it may ask. */
  readonly allow?: readonly string[]
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

/** `[server.webhooks]`: where push notifications may go. */
export interface WebhooksConfig {
  /** Whether webhooks are sent; true if absent. */
  readonly enabled?: boolean
  /** Whether `http:` URLs are allowed; false if absent. */
  readonly allowHttp?: boolean
  /** Hosts and ranges inside your network that may be reached all the same. */
  readonly allow?: readonly string[]
}

const count = z.int().min(1)

const limitsSchema: z.ZodType<LimitOptions> = z
  .strictObject({
    requests: count.optional(),
    window_seconds: count.optional(),
    max_body_bytes: count.optional(),
    max_inflight_body_bytes: count.optional(),
    max_queued_bytes: count.optional(),
    max_waiting_per_principal: count.optional(),
    max_concurrent_turns: count.optional(),
    max_connections: count.optional(),
    max_task_bytes: count.optional(),
    max_task_events: count.optional(),
    max_live_bytes: count.optional(),
    max_unread_bytes: count.optional(),
    max_push_configs: count.optional(),
    max_context_bytes: count.optional(),
    memory_store_bytes: count.optional(),
    write_timeout_seconds: count.optional(),
    max_depth: count.optional(),
    max_parts: count.optional(),
    max_metadata_keys: count.optional(),
  })
  .transform((limits) => ({
    ...whenGiven('requests', limits.requests),
    ...whenGiven('windowSeconds', limits.window_seconds),
    ...whenGiven('maxBodyBytes', limits.max_body_bytes),
    ...whenGiven('maxInflightBodyBytes', limits.max_inflight_body_bytes),
    ...whenGiven('maxQueuedBytes', limits.max_queued_bytes),
    ...whenGiven('maxWaitingPerPrincipal', limits.max_waiting_per_principal),
    ...whenGiven('maxConcurrentTurns', limits.max_concurrent_turns),
    ...whenGiven('maxConnections', limits.max_connections),
    ...whenGiven('maxTaskBytes', limits.max_task_bytes),
    ...whenGiven('maxTaskEvents', limits.max_task_events),
    ...whenGiven('maxLiveBytes', limits.max_live_bytes),
    ...whenGiven('maxUnreadBytes', limits.max_unread_bytes),
    ...whenGiven('maxPushConfigs', limits.max_push_configs),
    ...whenGiven('maxContextBytes', limits.max_context_bytes),
    ...whenGiven('memoryStoreBytes', limits.memory_store_bytes),
    ...whenGiven('writeTimeoutSeconds', limits.write_timeout_seconds),
    ...whenGiven('maxDepth', limits.max_depth),
    ...whenGiven('maxParts', limits.max_parts),
    ...whenGiven('maxMetadataKeys', limits.max_metadata_keys),
  }))

const days = z.number().positive()

const retentionSchema: z.ZodType<RetentionConfig> = z
  .strictObject({
    max_age_days: days.optional(),
    max_tasks: count.optional(),
    max_bytes: count.optional(),
    waiting_days: days.optional(),
  })
  .transform((retention) => ({
    ...whenGiven('maxAgeDays', retention.max_age_days),
    ...whenGiven('maxTasks', retention.max_tasks),
    ...whenGiven('maxBytes', retention.max_bytes),
    ...whenGiven('waitingDays', retention.waiting_days),
  }))

const webhooksSchema: z.ZodType<WebhooksConfig> = z
  .strictObject({
    enabled: z.boolean().optional(),
    allow_http: z.boolean().optional(),
    allow: z.array(filledText).optional(),
  })
  .transform((webhooks) => ({
    ...whenGiven('enabled', webhooks.enabled),
    ...whenGiven('allowHttp', webhooks.allow_http),
    ...whenGiven('allow', webhooks.allow),
  }))

const consoleSchema: z.ZodType<ConsoleConfig> = z
  .strictObject({
    enabled: z.boolean().optional(),
    allow: z
      .array(filledText.refine(isAllowEntry, 'must be a host, host:port, a range or *'))
      .optional(),
  })
  .transform(({ enabled, allow }) => ({
    ...whenGiven('enabled', enabled),
    ...whenGiven('allow', allow),
  }))

function isAllowEntry(entry: string): boolean {
  try {
    createAllowList([entry])
    return true
  } catch {
    return false
  }
}

const hostEntry = filledText.refine(
  isHostEntry,
  'must be a host, such as agents.example or host:8443',
)

const proxyEntry = filledText.refine(
  isRange,
  'must be an address, a range such as 10.0.0.0/8, or loopback',
)

/** The whole `[server]` table. */
export const serverSchema: z.ZodType<ServerConfig> = z
  .strictObject({
    host: filledText.optional(),
    port: z.int().min(0).max(65_535).optional(),
    public_url: z.url({ protocol: /^https?$/ }).optional(),
    allowed_hosts: z.array(hostEntry).optional(),
    allow_unauthenticated: z.boolean().optional(),
    trusted_proxies: z.array(proxyEntry).optional(),
    store: filledText.optional(),
    postgres: postgresSchema.optional(),
    trace: z.boolean().optional(),
    auth: authSchema.optional(),
    cors: z.strictObject({ origins: z.union([z.literal('*'), z.array(filledText)]) }).optional(),
    limits: limitsSchema.optional(),
    retention: retentionSchema.optional(),
    webhooks: webhooksSchema.optional(),
    console: consoleSchema.optional(),
  })
  .transform((server) => ({
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
