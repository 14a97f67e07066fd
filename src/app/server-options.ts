import type { Authenticator, AuthOptions } from '../server/auth.ts'
import { apiKey, bearer, jwt } from '../server/authenticators.ts'
import type { ServerOptions } from '../server/options.ts'
import type { SqliteStoreOptions } from '../store/sqlite/store.ts'
import type {
  LimitsConfig,
  RetentionConfig,
  ServerAuthConfig,
  ServerConfig,
  WebhooksConfig,
} from './config/server.ts'
import { optional } from './config/values.ts'

/** What a server needs besides its agents and its store, from the `[server]` table of a file. */
export function toServerOptions(config: ServerConfig): Omit<ServerOptions, 'agents' | 'store'> {
  const { publicUrl, auth, cors, limits, webhooks, trace } = config
  return {
    ...optional('publicUrl', publicUrl),
    ...optional('cors', cors),
    ...optional('trace', trace),
    ...(auth && { auth: toAuth(auth) }),
    ...(limits && toLimits(limits)),
    ...(webhooks && { pushNotifications: toPush(webhooks) }),
  }
}

const dayMs = 86_400_000

/** What a store keeps, from the `[server.retention]` table of a file. */
export function toRetention({
  maxAgeDays,
  maxTasks,
  maxBytes,
  waitingDays,
}: RetentionConfig): Pick<
  SqliteStoreOptions,
  'maxAgeMs' | 'maxTasks' | 'maxBytes' | 'maxWaitingMs'
> {
  return {
    ...(maxAgeDays !== undefined && { maxAgeMs: maxAgeDays * dayMs }),
    ...optional('maxTasks', maxTasks),
    ...optional('maxBytes', maxBytes),
    ...(waitingDays !== undefined && { maxWaitingMs: waitingDays * dayMs }),
  }
}

function toAuth({
  required,
  apiKeyHeader,
  apiKeys,
  bearerTokens,
  jwt: token,
}: ServerAuthConfig): AuthOptions {
  const authenticators: Authenticator[] = []
  if (apiKeys) authenticators.push(apiKey({ keys: apiKeys, ...optional('name', apiKeyHeader) }))
  if (bearerTokens) authenticators.push(bearer({ tokens: bearerTokens }))
  if (token) {
    const { jwksUrl, ...claims } = token
    authenticators.push(jwt({ ...claims, jwks: jwksUrl }))
  }
  return { authenticators, ...optional('required', required) }
}

function toLimits({
  requests,
  windowSeconds,
  maxConcurrentTurns,
}: LimitsConfig): Pick<ServerOptions, 'rateLimit' | 'concurrency'> {
  return {
    ...(requests !== undefined && {
      rateLimit: { requests, ...optional('windowSeconds', windowSeconds) },
    }),
    ...optional('concurrency', maxConcurrentTurns),
  }
}

function toPush({
  enabled = true,
  allowHttp,
  allow,
}: WebhooksConfig): NonNullable<ServerOptions['pushNotifications']> {
  if (!enabled) return false
  return { guard: { ...optional('allowHttp', allowHttp), ...optional('allow', allow) } }
}
