import { z } from 'zod'
import { type AgentConfig, withCallDefaults } from '../../agents/config.ts'
import { agentAuthSchema } from './agent-auth.ts'
import { described, fromVariable } from './described.ts'
import { guardsSchema } from './guards.ts'
import { metadataSchema } from './metadata.ts'
import { modelSchema } from './model.ts'
import { mcpSchema, toolsSchema } from './model-tools.ts'
import { outputFields } from './output-fields.ts'
import { filledText, numberLike, whenGiven, word } from './values.ts'

const { timeoutSeconds, maxRetries } = withCallDefaults({})

const agentTable = z.strictObject({
  id: described(filledText, {
    description:
      "Names the agent in this file and in the server's paths, `/agents/ID`: letters, digits, `.`, `_`, `:` and `-`. Agents and teams share their ids.",
    examples: ['writer'],
  }),
  name: described(filledText, {
    description: 'What people and cards call the agent.',
    examples: ['Writer'],
  }),
  description: described(z.string().optional(), {
    description: 'What the agent is for. Cards show it; supervisors and routers choose by it.',
    examples: ['Writes short articles'],
  }),
  protocol: described(word(['a2a', 'openai', 'module'], ['A2A', 'OpenAI']), {
    description:
      'How the agent is reached: `a2a` for an A2A agent elsewhere, `openai` for a model behind an OpenAI-compatible service, `module` for a file of yours.',
    examples: ['openai', 'module'],
  }),
  endpoint: described(filledText, {
    description:
      'Where the agent is: the URL of an A2A agent, the base URL of a model service, or a file, relative to this one, whose default export answers.',
    examples: ['https://api.openai.com/v1', './agents/writer.mjs'],
  }),
  capabilities: described(z.array(filledText).optional(), {
    description: 'What the agent can do, in words of your own. Cards show them as skills.',
    examples: [['writing', 'editing']],
  }),
  timeout_seconds: described(numberLike.optional(), {
    description:
      'How long the agent may be silent, in seconds, less than 300; then the call fails. A module may be silent for ever if this is absent.',
    default: timeoutSeconds,
    examples: [60],
  }),
  max_retries: described(numberLike.optional(), {
    description:
      'How often a connection that fails is tried again, 0 to 10; of a module, an answer that failed before its first word, and never if this is absent.',
    default: maxRetries,
    examples: [1],
  }),
  model: described(modelSchema.optional(), {
    description: 'Which model answers, and how. For `openai`.',
    examples: [{ name: 'gpt-4.1', system_prompt: 'You are a careful researcher.' }],
  }),
  tools: described(z.array(toolsSchema).optional(), {
    description: 'Files whose tools the model may use. For `openai`.',
    examples: [[{ module: './tools/weather.mjs', approval: ['warn'] }]],
  }),
  mcp_servers: described(z.array(mcpSchema).optional(), {
    description: 'MCP servers whose tools the model may use. For `openai`.',
    examples: [[{ name: 'files', command: 'npx', args: ['-y', 'files-server'] }]],
  }),
  auth: described(agentAuthSchema.optional(), {
    description: 'How Corral proves itself to the agent. For `a2a` and `openai`.',
    examples: [{ type: 'bearer', token: fromVariable('REVIEWER_TOKEN') }],
  }),
  credential_origins: described(z.array(filledText).optional(), {
    description:
      'Further origins that get the credentials, where the card of the agent names an interface there; otherwise the origin of `endpoint` alone gets them. For `a2a`.',
    examples: [['https://api.example.com']],
  }),
  metadata: described(metadataSchema.optional(), {
    description:
      "Settings of the agent's kind. What else stands here shows in the agent's info; what is nearly a setting is refused.",
    examples: [{ task_handling: 'return_task_info', owner: 'newsroom' }],
  }),
  ...outputFields,
  guards: described(guardsSchema.optional(), {
    description: 'What looks at messages to the agent and at its answers.',
    examples: [{ input: [{ use: 'length', max: 8000 }], output: ['secrets'] }],
  }),
  allow_files: described(z.array(filledText).optional(), {
    description:
      'Hosts and ranges inside your networks whose images callers may name by URL; all others must be public. For `openai`.',
    examples: [['files.internal', '10.0.0.0/8']],
  }),
})

/** `[[agents]]`: one agent. Ranges are checked where it becomes an agent of its kind. */
export const agentSchema: z.ZodType<AgentConfig> = agentTable.transform(
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
