import { z } from 'zod'
import type { AgentAuth, AgentConfig } from '../../agents/config.ts'
import type { McpServerConfig } from '../../agents/mcp/config.ts'
import { numeric, optional, text, word } from './values.ts'

/** `[agents.auth]`: how Corral proves itself to the agent. */
const authSchema: z.ZodType<AgentAuth> = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('api_key'), key: text, header: text.optional() }),
    z.strictObject({ type: z.literal('bearer'), token: text }),
    z.strictObject({
      type: z.literal('oauth2'),
      token_url: text,
      client_id: text,
      client_secret: text,
      scopes: z.array(text).optional(),
    }),
  ])
  .transform((auth): AgentAuth => {
    if (auth.type === 'bearer') return auth
    if (auth.type === 'api_key')
      return { type: 'api_key', key: auth.key, ...optional('header', auth.header) }
    return {
      type: 'oauth2',
      tokenUrl: auth.token_url,
      clientId: auth.client_id,
      clientSecret: auth.client_secret,
      ...optional('scopes', auth.scopes),
    }
  })

const words = z.record(z.string(), z.string())

/** `[[agents.mcp_servers]]`: tool servers of an OpenAI agent. */
const mcpSchema: z.ZodType<McpServerConfig> = z
  .union([
    z.strictObject({
      name: text,
      command: text,
      args: z.array(z.string()).optional(),
      env: words.optional(),
      cwd: text.optional(),
    }),
    z.strictObject({ name: text, url: text, headers: words.optional() }),
  ])
  .transform((server): McpServerConfig => {
    if ('url' in server)
      return { name: server.name, url: server.url, ...optional('headers', server.headers) }
    const { name, command } = server
    return {
      name,
      command,
      ...optional('args', server.args),
      ...optional('env', server.env),
      ...optional('cwd', server.cwd),
    }
  })

/** `[[agents]]`: one agent (000's AgentConfig). Ranges are checked where it becomes an agent of its kind. */
export const agentSchema: z.ZodType<AgentConfig> = z
  .strictObject({
    id: text,
    name: text,
    description: z.string().optional(),
    endpoint: text,
    protocol: word(['a2a', 'openai', 'module'], ['A2A', 'OpenAI']),
    capabilities: z.array(text).optional(),
    timeout_seconds: numeric.optional(),
    max_retries: numeric.optional(),
    metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    auth: authSchema.optional(),
    mcp_servers: z.array(mcpSchema).optional(),
  })
  .transform(
    (agent): AgentConfig => ({
      id: agent.id,
      name: agent.name,
      endpoint: agent.endpoint,
      protocol: agent.protocol,
      ...optional('description', agent.description),
      ...optional('capabilities', agent.capabilities),
      ...optional('metadata', agent.metadata),
      ...optional('timeoutSeconds', agent.timeout_seconds),
      ...optional('maxRetries', agent.max_retries),
      ...optional('auth', agent.auth),
      ...optional('mcpServers', agent.mcp_servers),
    }),
  )
