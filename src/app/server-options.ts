import { createConsole } from '../console/console.ts'
import type { AuthOptions } from '../server/auth.ts'
import type { Authenticator } from '../server/authenticator.ts'
import { authenticators, type SchemeOptions } from '../server/authenticators.ts'
import type { ServerOptions } from '../server/options.ts'
import type { ListenOptions } from '../server/run.ts'
import { serverDefaults } from './config/defaults.ts'
import type { ServerConfig } from './config/server.ts'
import type { ServerAuthConfig } from './config/server-auth.ts'
import type { WebhooksConfig } from './config/server-parts.ts'
import { whenGiven } from './config/values.ts'

/** Makes options of `createServer` of the `[server]` table of a file; agents and store are yours to add. */
export function toServerOptions(
  config: ServerConfig,
  store = 'custom',
): Omit<ServerOptions, 'agents' | 'store'> {
  const { publicUrl, allowedHosts, trustedProxies, auth, cors, limits, webhooks, trace } = config
  const { enabled = serverDefaults.hasConsole, allow } = config.console ?? {}
  return {
    ...whenGiven('publicUrl', publicUrl),
    ...whenGiven('allowedHosts', allowedHosts),
    ...whenGiven('trustedProxies', trustedProxies),
    ...whenGiven('cors', cors),
    ...whenGiven('trace', trace),
    ...(auth && { auth: toAuth(auth) }),
    ...whenGiven('limits', limits),
    ...(webhooks && { pushNotifications: toPush(webhooks) }),
    ...(enabled && { console: createConsole({ store, ...whenGiven('allow', allow) }) }),
  }
}

/** What the command says comes before what the file says. */
interface Place {
  readonly host?: string
  readonly port?: number
}

/** Where a server listens: only on this machine, at port 3000, where nobody says otherwise. */
export function toListenOptions(config: ServerConfig, { host, port }: Place): ListenOptions {
  return {
    host: host ?? config.host ?? serverDefaults.host,
    port: port ?? config.port ?? serverDefaults.port,
  }
}

/** How `[server.auth]` names each scheme; they are tried in this order. Code cannot stand in a file. */
const schemes: Readonly<
  Record<
    Exclude<keyof SchemeOptions, 'extractor'>,
    (config: ServerAuthConfig) => Authenticator | undefined
  >
> = {
  apiKey: ({ apiKeys, apiKeyHeader }) =>
    apiKeys && authenticators.apiKey({ keys: apiKeys, ...whenGiven('name', apiKeyHeader) }),
  bearer: ({ bearerTokens }) => bearerTokens && authenticators.bearer({ tokens: bearerTokens }),
  jwt({ jwt }) {
    if (!jwt) return undefined
    const { jwksUrl, ...claims } = jwt
    return authenticators.jwt({ ...claims, jwks: jwksUrl })
  },
}

function toAuth(config: ServerAuthConfig): AuthOptions {
  return {
    authenticators: Object.values(schemes).flatMap((scheme) => scheme(config) ?? []),
    ...whenGiven('required', config.required),
  }
}

function toPush({
  enabled = serverDefaults.hasWebhooks,
  allowHttp,
  allow,
}: WebhooksConfig): NonNullable<ServerOptions['pushNotifications']> {
  if (!enabled) return false
  return { guard: { ...whenGiven('allowHttp', allowHttp), ...whenGiven('allow', allow) } }
}
