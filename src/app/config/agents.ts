import { z } from 'zod'
import type { AgentAuth, AgentConfig } from '../../agents/config.ts'
import type { McpServerConfig } from '../../agents/mcp/config.ts'
import { filledText, numberLike, whenGiven, word } from './values.ts'

/** `[agents.auth]`: how Corral proves itself to the agent. */
const authSchema: z.ZodType<AgentAuth> = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('api_key'), key: filledText, header: filledText.optional() }),
    z.strictObject({ type: z.literal('bearer'), token: filledText }),
    z.strictObject({
      type: z.literal('oauth2'),
      token_url: filledText,
      client_id: filledText,
      client_secret: filledText,
      scopes: z.array(filledText).optional(),
    }),
  ])
  .transform((auth): AgentAuth => {
    if (auth.type === 'bearer') return auth
    if (auth.type === 'api_key')
      return { type: 'api_key', key: auth.key, ...whenGiven('header', auth.header) }
    return {
      type: 'oauth2',
      tokenUrl: auth.token_url,
      clientId: auth.client_id,
      clientSecret: auth.client_secret,
      ...whenGiven('scopes', auth.scopes),
    }
  })

const words = z.record(z.string(), z.string())

/** `[[agents.mcp_servers]]`: tool servers of an OpenAI agent. */
const mcpSchema: z.ZodType<McpServerConfig> = z
  .union([
    z.strictObject({
      name: filledText,
      command: filledText,
      args: z.array(z.string()).optional(),
      env: words.optional(),
      cwd: filledText.optional(),
    }),
    z.strictObject({ name: filledText, url: filledText, headers: words.optional() }),
  ])
  .transform((server): McpServerConfig => {
    if ('url' in server)
      return { name: server.name, url: server.url, ...whenGiven('headers', server.headers) }
    const { name, command } = server
    return {
      name,
      command,
      ...whenGiven('args', server.args),
      ...whenGiven('env', server.env),
      ...whenGiven('cwd', server.cwd),
    }
  })

/** `[[agents]]`: one agent. Ranges are checked where it becomes an agent of its kind. */
export const agentSchema: z.ZodType<AgentConfig> = z
  .strictObject({
    id: filledText,
    name: filledText,
    description: z.string().optional(),
    endpoint: filledText,
    protocol: word(['a2a', 'openai', 'module'], ['A2A', 'OpenAI']),
    capabilities: z.array(filledText).optional(),
    timeout_seconds: numberLike.optional(),
    max_retries: numberLike.optional(),
    metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    auth: authSchema.optional(),
    credential_origins: z.array(filledText).optional(),
    mcp_servers: z.array(mcpSchema).optional(),
  })
  .transform(
    (agent): AgentConfig => ({
      id: agent.id,
      name: agent.name,
      endpoint: agent.endpoint,
      protocol: agent.protocol,
      ...whenGiven('description', agent.description),
      ...whenGiven('capabilities', agent.capabilities),
      ...whenGiven('metadata', agent.metadata),
      ...whenGiven('timeoutSeconds', agent.timeout_seconds),
      ...whenGiven('maxRetries', agent.max_retries),
      ...whenGiven('auth', agent.auth),
      ...whenGiven('credentialOrigins', agent.credential_origins),
      ...whenGiven('mcpServers', agent.mcp_servers),
    }),
  )
