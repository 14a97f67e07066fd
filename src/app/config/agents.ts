import { z } from 'zod'
import type { AgentAuth, AgentConfig, ModelConfig } from '../../agents/config.ts'
import type { McpServerConfig } from '../../agents/mcp/config.ts'
import type { ToolModuleConfig } from '../../agents/tool-config.ts'
import { guardsSchema } from './guards.ts'
import { outputSchemaField } from './schema-files.ts'
import { filledText, isJsonTable, numberLike, whenGiven, word } from './values.ts'

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

/** Which tools the user is asked about before they run. */
const approvalNames = z
  .union([z.boolean(), z.array(filledText)], 'must be true, false or a list of names')
  .meta({
    description: 'Tools that the user is asked about before they run: all of them, or those named.',
  })

/** `[[agents.tools]]`: files whose tools an OpenAI agent may use. */
const toolsSchema: z.ZodType<ToolModuleConfig> = z
  .strictObject({
    module: filledText.meta({ description: 'A file, relative to this one, that exports tools.' }),
    approval: approvalNames.optional(),
  })
  .transform(({ module, approval }) => ({ module, ...whenGiven('approval', approval) }))

/** `[[agents.mcp_servers]]`: tool servers of an OpenAI agent. */
const mcpSchema: z.ZodType<McpServerConfig> = z
  .union([
    z.strictObject({
      name: filledText,
      command: filledText,
      args: z.array(z.string()).optional(),
      env: words.optional(),
      cwd: filledText.optional(),
      approval: approvalNames.optional(),
    }),
    z.strictObject({
      name: filledText,
      url: filledText,
      headers: words.optional(),
      approval: approvalNames.optional(),
    }),
  ])
  .transform((server): McpServerConfig => {
    const { name } = server
    const approval = whenGiven('approval', server.approval)
    if ('url' in server)
      return { name, url: server.url, ...whenGiven('headers', server.headers), ...approval }
    return {
      name,
      command: server.command,
      ...whenGiven('args', server.args),
      ...whenGiven('env', server.env),
      ...whenGiven('cwd', server.cwd),
      ...approval,
    }
  })

/** `[agents.model]`: which model an OpenAI agent is, and how it answers. */
const modelSchema: z.ZodType<ModelConfig> = z
  .strictObject({
    name: filledText.optional(),
    system_prompt: z.string().optional(),
    temperature: numberLike.optional(),
    top_p: numberLike.optional(),
    max_tokens: numberLike.optional(),
    stop: z.union([filledText, z.array(filledText)]).optional(),
    seed: numberLike.optional(),
    reasoning_effort: filledText.optional(),
    parallel_tool_calls: z.boolean().optional(),
    max_history: numberLike.optional(),
    history: z.enum(['window', 'summarise']).optional(),
    max_tool_rounds: numberLike.optional(),
    response_format: z.enum(['json_schema', 'json_object', 'none']).optional(),
    headers: words.optional(),
    extra_body: z
      .record(z.string(), z.unknown())
      .refine(isJsonTable, 'dates are no JSON')
      .optional(),
  })
  .transform(
    (model): ModelConfig => ({
      ...whenGiven('name', model.name),
      ...whenGiven('systemPrompt', model.system_prompt),
      ...whenGiven('temperature', model.temperature),
      ...whenGiven('topP', model.top_p),
      ...whenGiven('maxTokens', model.max_tokens),
      ...whenGiven('stop', model.stop),
      ...(model.seed !== undefined && { seed: model.seed }),
      ...whenGiven('reasoningEffort', model.reasoning_effort),
      ...whenGiven('parallelToolCalls', model.parallel_tool_calls),
      ...whenGiven('maxHistory', model.max_history),
      ...whenGiven('history', model.history),
      ...whenGiven('maxToolRounds', model.max_tool_rounds),
      ...whenGiven('responseFormat', model.response_format),
      ...whenGiven('headers', model.headers),
      ...whenGiven('extraBody', model.extra_body),
    }),
  )

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
    tools: z.array(toolsSchema).optional(),
    model: modelSchema.optional(),
    allow_files: z.array(filledText).optional(),
    guards: guardsSchema.optional(),
    output_schema: outputSchemaField.optional(),
    max_output_retries: numberLike.optional(),
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
      ...whenGiven('tools', agent.tools),
      ...whenGiven('model', agent.model),
      ...whenGiven('allowFiles', agent.allow_files),
      ...whenGiven('guards', agent.guards),
      ...whenGiven('outputSchema', agent.output_schema),
      ...whenGiven('maxOutputRetries', agent.max_output_retries),
    }),
  )
