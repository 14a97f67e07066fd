import { createRanges, ipVersion } from '../network/guard.ts'
import type { JsonObject } from '../protocol/types.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { fromVariable, optionsOf, type Rows, row } from '../shared/rows.ts'
import { readUrl, toSnakeCase } from '../shared/text.ts'
import {
  ConfigConversionError,
  checkAuth,
  checkId,
  checkNumber,
  checkOrigins,
  checkSecret,
  checkText,
  checkUrl,
  invalidValue,
  keyHeader,
  missingField,
} from './config-checks.ts'
import type { Guards } from './guards/guard.ts'
import {
  checkMetadata,
  checkModelConfig,
  type McpServerConfig,
  type ModelConfig,
  modelRows,
  type ToolModuleConfig,
  toModelConfig,
} from './model-config.ts'

export { ConfigConversionError } from './config-checks.ts'
export type {
  ApprovalNames,
  McpEndpoint,
  McpProgram,
  McpServerConfig,
  ToolModuleConfig,
} from './model-config.ts'

/** How an agent of a configuration is reached. */
export type ProtocolType = 'a2a' | 'openai' | 'module'

/** A protocol as it may be written: case does not matter, so `A2A` and `OpenAI` are fine too. */
export type ProtocolSpelling = ProtocolType | 'A2A' | 'OpenAI' | 'Module'

/** One `[[agents]]` entry of a configuration file, whatever its kind. */
export interface AgentConfig {
  readonly id: string
  readonly name: string
  readonly description?: string
  /** A URL; for `module` a file, relative to the configuration. */
  readonly endpoint: string
  /** Which kind it is: `a2a`, `openai` or `module`. */
  readonly protocol: ProtocolSpelling
  /** Its version, a semantic one: cards show it, and it is part of the definition that a running task belongs to. */
  readonly version?: string
  /** What it can do, in words such as `research`. */
  readonly capabilities?: readonly string[]
  /** Settings of the kind (`api_key`, `model`, `task_handling`, …); what is no setting shows in AgentInfo. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>
  /** Whether a server of the file serves it on its own; true if absent. If false, it answers as a member of teams alone. */
  readonly expose?: boolean
  /** How long the agent may take to answer, or be silent; 30 if absent. */
  readonly timeoutSeconds?: number
  /** Further tries after a failure; 3 if absent. */
  readonly maxRetries?: number
  /** How long a remote agent may work on a task in all, restarts included; as long as it says that it works if absent. */
  readonly maxTaskSeconds?: number
  /** How a remote agent's work is waited for; `stream` if absent. */
  readonly wait?: TaskWait
  /** How Corral proves itself to a remote agent. */
  readonly auth?: AgentAuth
  /** Origins that get `auth` beside the endpoint's, where the remote agent's card names them. */
  readonly credentialOrigins?: readonly string[]
  /** Tool servers of an OpenAI agent. */
  readonly mcpServers?: readonly McpServerConfig[]
  /** Files whose tools an OpenAI agent may use. */
  readonly tools?: readonly ToolModuleConfig[]
  /** Which model an OpenAI agent is, and how it answers. */
  readonly model?: ModelConfig
  /** Hosts and ranges inside your network whose images an OpenAI agent may pass on by URL all the same. */
  readonly allowFiles?: readonly string[]
  /** Guards on what the agent is asked and on what it answers. */
  readonly guards?: Guards
  /** What the answers fit: each is checked, asked for again where it does not fit, and becomes data. */
  readonly outputSchema?: JsonObject
  /** How often an answer that does not fit is asked for again; 2 if absent. */
  readonly maxOutputRetries?: number
}

/** What an agent's answers must be. */
export const outputRows: Rows<
  Pick<AgentConfig, 'outputSchema' | 'maxOutputRetries'>,
  'maxOutputRetries'
> = {
  outputSchema: row.schema(
    {
      examples: [
        { type: 'object', properties: { score: { type: 'number' } }, required: ['score'] },
        './schemas/review.json',
      ],
    },
    'A JSON Schema as a table, or the file that holds it, relative to this one: answers must fit it, and become data.',
  ),
  maxOutputRetries: row.whole(
    { min: 0, max: 10, default: 2, examples: [1] },
    'How often an answer that does not fit `output_schema` is asked for again, 0 to 10; then the task fails.',
  ),
}

/** `[[agents]]`. */
export const agentRows: Rows<AgentConfig, 'timeoutSeconds' | 'maxRetries'> = {
  id: row.text(
    { required: true, examples: ['writer'] },
    "Names the agent in this file and in the server's paths, `/agents/ID`: letters, digits, `.`, `_`, `:` and `-`. Agents and teams share their ids.",
  ),
  name: row.text({ required: true, examples: ['Writer'] }, 'What people and cards call the agent.'),
  description: row.anyText(
    { examples: ['Writes short articles'] },
    'What the agent is for. Cards show it; supervisors and routers choose by it.',
  ),
  protocol: row.word(
    {
      required: true,
      of: ['a2a', 'openai', 'module'],
      spellings: ['A2A', 'OpenAI'],
      option: 'string',
      examples: ['openai', 'module'],
    },
    'How the agent is reached: `a2a` for an A2A agent elsewhere, `openai` for a model behind an OpenAI-compatible service, `module` for a file of yours.',
  ),
  version: row.text(
    { examples: ['1.2.0'] },
    'The version of the agent, a semantic one. Cards show it, and it is part of the definition that a running task belongs to: raise it when the code changes and old and new steps must not mix in one run.',
  ),
  endpoint: row.text(
    { required: true, examples: ['https://api.openai.com/v1', './agents/writer.mjs'] },
    'Where the agent is: the URL of an A2A agent, the base URL of a model service, or a file, relative to this one, whose default export answers.',
  ),
  capabilities: row.texts(
    { examples: [['writing', 'editing']] },
    'What the agent can do, in words of your own. Cards show them as skills.',
  ),
  expose: row.boolean(
    { default: true, examples: [false] },
    'Whether the agent is served on its own, at `/agents/ID`, as a model and as a tool. If false, it answers as a member of teams alone.',
  ),
  timeoutSeconds: row.seconds(
    { default: 30, examples: [60] },
    'How long the agent may be silent, in seconds; then the call fails, but an A2A agent that says that it works is not silent. A module may be silent for ever if this is absent.',
  ),
  maxTaskSeconds: row.seconds(
    { examples: [86400] },
    'How long the agent may work on a task, in seconds, restarts of your server included; then the task is cancelled. No limit if absent, and for `a2a` only.',
  ),
  wait: row.word(
    { of: ['stream', 'push'], default: 'stream', examples: ['push'] },
    'How a task that the agent works on is waited for: `stream` by a subscription where the agent streams, else by polls; `push` by a webhook of this server, without a connection, and by a poll every 5 minutes. `push` needs `public_url` in `[server]`; for `a2a` only.',
  ),
  maxRetries: row.whole(
    { min: 0, max: 10, default: 3, examples: [1] },
    'How often a connection that fails is tried again, 0 to 10; of a module, an answer that failed before its first word, and never if this is absent.',
  ),
  model: row.table(
    { examples: [{ name: 'gpt-4.1', system_prompt: 'You are a careful researcher.' }] },
    'Which model answers, and how. For `openai`.',
  ),
  tools: row.tables(
    { examples: [[{ module: './tools/weather.mjs', approval: ['warn'] }]] },
    'Files whose tools the model may use. For `openai`.',
  ),
  mcpServers: row.tables(
    { examples: [[{ name: 'files', command: 'npx', args: ['-y', 'files-server'] }]] },
    'MCP servers whose tools the model may use. For `openai`.',
  ),
  auth: row.table(
    { examples: [{ type: 'bearer', token: fromVariable('REVIEWER_TOKEN') }] },
    'How Corral proves itself to the agent. For `a2a` and `openai`.',
  ),
  credentialOrigins: row.texts(
    { examples: [['https://api.example.com']] },
    'Further origins that get the credentials, where the card of the agent names an interface there; otherwise the origin of `endpoint` alone gets them. For `a2a`.',
  ),
  metadata: row.table(
    { examples: [{ task_handling: 'return_task_info', owner: 'newsroom' }] },
    "Settings of the agent's kind. What else stands here shows in the agent's info; what is nearly a setting is refused.",
  ),
  ...outputRows,
  guards: row.table(
    { examples: [{ input: [{ use: 'length', max: 8000 }], output: ['secrets'] }] },
    'What looks at messages to the agent and at its answers.',
  ),
  allowFiles: row.texts(
    { examples: [['files.internal', '10.0.0.0/8']] },
    'Hosts and ranges inside your networks whose images callers may name by URL; all others must be public. For `openai`.',
  ),
}

/** What the members of an agent's configuration may be. */
export const agentConfigOptions: OptionTable<AgentConfig> = optionsOf(agentRows, [
  ...(['id', 'name', 'description', 'endpoint', 'protocol', 'version', 'capabilities'] as const),
  ...(['metadata', 'expose', 'timeoutSeconds', 'maxRetries', 'maxTaskSeconds', 'wait'] as const),
  ...(['auth', 'credentialOrigins', 'mcpServers', 'tools', 'model', 'allowFiles'] as const),
  'guards',
])

/** How Corral proves itself to a remote agent: by an API key, a bearer token, or OAuth 2. */
export type AgentAuth =
  | { readonly type: 'api_key'; readonly key: string; readonly header?: string }
  | { readonly type: 'bearer'; readonly token: string }
  | {
      readonly type: 'oauth2'
      readonly tokenUrl: string
      readonly clientId: string
      readonly clientSecret: string
      readonly scopes?: readonly string[]
    }

/** What becomes of a remote answer that is a task: it is followed to its end, returned as it is, or rejected. */
export type TaskHandling = 'PollUntilComplete' | 'ReturnTaskInfo' | 'RejectTasks'

/**
 * How a remote task is waited for: `stream` by a subscription where the agent streams, else by polls; `push` by a webhook
 * of this server where the agent has webhooks, without a connection, and by a poll every 5 minutes.
 */
export type TaskWait = 'stream' | 'push'

/** Where a remote agent is, and how it is called. */
export interface A2AAgentConfig {
  /** The URL of the remote agent or of its card. */
  readonly endpoint: string
  /** The remote agent's own id; discovered if absent. */
  readonly agentId?: string
  /** How long the agent may take to answer, or be silent; 30 if absent. */
  readonly timeoutSeconds?: number
  /** Further tries after a failure; 3 if absent. */
  readonly maxRetries?: number
  /** How Corral proves itself to the agent. */
  readonly auth?: AgentAuth
  /** Origins that get `auth` beside the endpoint's, where the card names them. */
  readonly credentialOrigins?: readonly string[]
  /** The tenant of every request to the agent; that of its card if absent. */
  readonly tenant?: string
  /** What becomes of an answer that is a task; `PollUntilComplete` if absent. */
  readonly taskHandling?: TaskHandling
  /** How long the agent may work on a task in all, restarts included; as long as it says that it works if absent. */
  readonly maxTaskSeconds?: number
  /**
   * How its work is waited for; `stream` if absent. For `push` the server that serves this agent needs a `publicUrl`,
   * which the remote agent can reach.
   */
  readonly wait?: TaskWait
}

/** Which model of which service answers, and how it is called. */
export interface OpenAIAgentConfig extends Omit<ModelConfig, 'name'> {
  /** A base URL, or the full URL of `/chat/completions`. */
  readonly endpoint: string
  /** The service's key; absent, or `none`, where it asks for none. */
  readonly apiKey?: string
  /** The service's name for the model. */
  readonly model: string
  /** How long the service may be silent; 30 if absent. */
  readonly timeoutSeconds?: number
  /** Further tries after a failure; 3 if absent. */
  readonly maxRetries?: number
}

/** How a remote agent is called, with the defaults filled in. */
export interface CallSettings {
  /** How long the agent may take to answer, or be silent. */
  readonly timeoutSeconds: number
  /** Further tries after a failure. */
  readonly maxRetries: number
  /** What becomes of an answer that is a task. */
  readonly taskHandling: TaskHandling
}

/** Variables that stand in for what a configuration leaves out; nothing is read from the process itself. */
export interface ConfigEnvironment {
  /** The key of models that name none. */
  readonly OPENAI_API_KEY?: string | undefined
}

/** Metadata keys that are settings of a remote agent. */
const remoteSettings: readonly string[] = [
  ...['api_key', 'auth_header', 'bearer_token'],
  ...['task_handling', 'agent_id'],
]

/**
 * Makes the configuration of a remote A2A agent of an `AgentConfig`.
 *
 * @throws ConfigConversionError for another protocol, a missing endpoint or a value out of range.
 */
export function toA2AAgentConfig(config: AgentConfig): A2AAgentConfig & CallSettings {
  requireKind(config, 'a2a')
  withoutModel(config)
  checkMetadata(config.metadata ?? {}, remoteSettings)
  const auth = config.auth ?? authOf(config)
  const agentId = text(config, 'agent_id')
  const { timeoutSeconds, maxRetries } = withCallDefaults(config)
  const remote = {
    endpoint: config.endpoint,
    ...(agentId !== undefined && { agentId }),
    timeoutSeconds,
    maxRetries,
    ...(auth && { auth }),
    ...(config.credentialOrigins && { credentialOrigins: config.credentialOrigins }),
    taskHandling: taskHandlingOf(config),
    ...(config.maxTaskSeconds !== undefined && { maxTaskSeconds: config.maxTaskSeconds }),
    ...(config.wait !== undefined && { wait: config.wait }),
  }
  checkRemote(remote, toFileKey)
  return remote
}

/** What every kind of agent must be: of this protocol, and with an id and names that a card can show. */
function requireKind(config: AgentConfig, expected: ProtocolType): void {
  checkOptions('AgentConfig', config, agentConfigOptions)
  const found = protocolOf(config)
  const name = (protocol: string): string => protocolNames.get(protocol) ?? protocol
  if (found !== expected)
    throw new ConfigConversionError({
      variant: 'WrongProtocol',
      expected: name(expected),
      found: name(found),
    })
  checkText('name', config.name)
  checkId('id', config.id)
  for (const ability of config.capabilities ?? []) checkText('capabilities', ability)
}

const protocolNames: ReadonlyMap<string, string> = new Map([
  ['a2a', 'A2A'],
  ['openai', 'OpenAI'],
  ['module', 'Module'],
])

/** The protocol of a configuration in the spelling that the code goes by; an unknown one as it is. */
export function protocolOf({ protocol }: AgentConfig): string {
  const known = protocol.toLowerCase()
  return protocolNames.has(known) ? known : protocol
}

function withoutModel(config: AgentConfig): void {
  const { mcpServers: [server] = [], tools: [tool] = [], allowFiles: [host] = [], model } = config
  if (server) throw invalidValue('mcp_servers', server.name, 'only a model uses tools')
  if (tool) throw invalidValue('tools', tool.module, 'only an agent of protocol openai uses tools')
  if (host) throw invalidValue('allow_files', host, 'only a model is passed files by URL')
  if (model)
    throw invalidValue('model', model.name ?? '…', 'only an agent of protocol openai has one')
}

/** The origin's metadata keys; an API key wins over a bearer token. */
function authOf(config: AgentConfig): AgentAuth | undefined {
  const key = text(config, 'api_key')
  if (key !== undefined)
    return { type: 'api_key', key, header: text(config, 'auth_header') ?? keyHeader }
  const token = text(config, 'bearer_token')
  return token === undefined ? undefined : { type: 'bearer', token }
}

function text(config: AgentConfig, key: string): string | undefined {
  const value = config.metadata?.[key]
  return value === undefined ? undefined : String(value)
}

const taskHandlings: ReadonlyMap<string, TaskHandling> = new Map<string, TaskHandling>([
  ['PollUntilComplete', 'PollUntilComplete'],
  ['poll_until_complete', 'PollUntilComplete'],
  ['poll', 'PollUntilComplete'],
  ['ReturnTaskInfo', 'ReturnTaskInfo'],
  ['return_task_info', 'ReturnTaskInfo'],
  ['return', 'ReturnTaskInfo'],
  ['RejectTasks', 'RejectTasks'],
  ['reject_tasks', 'RejectTasks'],
  ['reject', 'RejectTasks'],
])

function taskHandlingOf(config: AgentConfig): TaskHandling {
  const given = text(config, 'task_handling')
  if (given === undefined) return withCallDefaults({}).taskHandling
  const handling = taskHandlings.get(given)
  const reason = 'must be poll_until_complete, return_task_info or reject_tasks'
  if (!handling) throw invalidValue('metadata.task_handling', given, reason)
  return handling
}

/**
 * Makes the configuration of a model of an `AgentConfig`. The key is `metadata.api_key`, else `OPENAI_API_KEY` of the
 * environment passed in; a service on this machine or in its network may have none.
 *
 * @throws ConfigConversionError for another protocol, a missing key or a value out of range.
 */
export function toOpenAIAgentConfig(
  config: AgentConfig,
  environment: ConfigEnvironment = {},
): OpenAIAgentConfig & Omit<CallSettings, 'taskHandling'> {
  requireKind(config, 'openai')
  withoutRemote(config)
  const apiKey = keyOf(config) ?? environment.OPENAI_API_KEY
  if (apiKey === undefined && !isNearby(config.endpoint)) throw missingField('metadata.api_key')
  const { name = modelRows.name.default, ...model } = toModelConfig(config)
  const { timeoutSeconds, maxRetries } = withCallDefaults(config)
  const checked = {
    endpoint: config.endpoint,
    ...(apiKey !== undefined && { apiKey }),
    model: name,
    timeoutSeconds,
    maxRetries,
    ...model,
  }
  checkModel(checked, toFileKey)
  return checked
}

/**
 * Whether a service is on this machine or in its network, by its name: such services seldom ask for a key, while a key
 * that is missing for any other is better noticed at the start.
 */
function isNearby(endpoint: string): boolean {
  const { hostname = '' } = readUrl(endpoint) ?? {}
  const name = hostname.replace(/^\[|\]$/g, '')
  if (ipVersion(name) > 0) return isPrivate(name)
  return !name.includes('.') || /\.(localhost|local|internal|lan|home\.arpa)$/.test(name)
}

const isPrivate = createRanges([
  ...['loopback', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'],
  ...['fc00::/7', 'fe80::/10'],
])

function withoutRemote(config: AgentConfig): void {
  const { credentialOrigins: [first] = [], maxTaskSeconds, wait } = config
  if (first !== undefined)
    throw invalidValue('credential_origins', first, 'only the card of an a2a agent names origins')
  if (maxTaskSeconds !== undefined)
    throw invalidValue('max_task_seconds', maxTaskSeconds, 'only an a2a agent has tasks of its own')
  if (wait !== undefined) throw invalidValue('wait', wait, 'only an a2a agent has tasks of its own')
}

function keyOf(config: AgentConfig): string | undefined {
  if (config.auth?.type === 'bearer') return config.auth.token
  if (config.auth?.type === 'api_key') return config.auth.key
  if (config.auth) throw invalidValue('auth.type', config.auth.type, 'must be api_key or bearer')
  return text(config, 'api_key')
}

/** A configuration with what holds where it says nothing, in files as in code. */
export function withCallDefaults<Config extends Partial<CallSettings>>(
  config: Config,
): Config & CallSettings {
  const {
    timeoutSeconds = agentRows.timeoutSeconds.default,
    maxRetries = agentRows.maxRetries.default,
    taskHandling = 'PollUntilComplete',
  } = config
  return { ...config, timeoutSeconds, maxRetries, taskHandling }
}

/** How a file or a program writes a key. */
type KeyName = (key: string) => string

/** Where files write what has another name in code. */
const fileKeys: ReadonlyMap<string, string> = new Map([
  ['agentId', 'metadata.agent_id'],
  ['apiKey', 'metadata.api_key'],
  ['taskHandling', 'metadata.task_handling'],
])

const toFileKey: KeyName = (key) => fileKeys.get(key) ?? toSnakeCase(key)

/**
 * Checks how a remote agent is to be called, and gives it back as it is.
 * @throws ConfigConversionError that names the first wrong field.
 */
export function validateA2AAgentConfig<Config extends A2AAgentConfig>(config: Config): Config {
  checkArgument('validateA2AAgentConfig', 'the configuration', config, 'object')
  checkRemote(config, (key) => key)
  return config
}

/**
 * Checks how a model is to be called, and gives it back as it is.
 * @throws ConfigConversionError that names the first wrong field.
 */
export function validateOpenAIAgentConfig<Config extends OpenAIAgentConfig>(
  config: Config,
): Config {
  checkArgument('validateOpenAIAgentConfig', 'the configuration', config, 'object')
  checkModel(config, (key) => key)
  return config
}

/**
 * The configuration of an agent in a file, checked. Neither time nor tries are limited where it does not say so.
 *
 * @throws ConfigConversionError for a value out of range, and for settings that only a connection can have.
 */
export function validateModuleAgentConfig(config: AgentConfig): AgentConfig {
  requireKind(config, 'module')
  checkText('endpoint', config.endpoint)
  checkNumbers(callKeys, config, toFileKey)
  if (config.auth) throw invalidValue('auth.type', config.auth.type, 'a module has no credentials')
  withoutModel(config)
  withoutRemote(config)
  return config
}

function checkRemote(config: A2AAgentConfig, at: KeyName): void {
  checkUrl('endpoint', config.endpoint)
  checkNumbers(callKeys, config, at)
  checkNumbers(['maxTaskSeconds'], config, at)
  if (config.agentId !== undefined) checkText(at('agentId'), config.agentId)
  if (config.auth) checkAuth(config.auth, at)
  checkOrigins(at('credentialOrigins'), config.credentialOrigins ?? [])
  const { wait = 'stream' } = config
  if (wait !== 'stream' && wait !== 'push')
    throw invalidValue('wait', wait, 'must be stream or push')
  const { taskHandling } = withCallDefaults(config)
  if (taskHandlings.get(taskHandling) === taskHandling) return
  const names = [...new Set(taskHandlings.values())]
  const reason = `must be ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  throw invalidValue(at('taskHandling'), taskHandling, reason)
}

function checkModel(config: OpenAIAgentConfig, at: KeyName): void {
  checkUrl('endpoint', config.endpoint)
  if (config.apiKey !== undefined) checkSecret(at('apiKey'), config.apiKey)
  checkText('model', config.model)
  checkNumbers(callKeys, config, at)
  checkModelConfig(config, (key) => key)
}

const callKeys = ['timeoutSeconds', 'maxRetries'] as const

type NumberKey = 'timeoutSeconds' | 'maxRetries' | 'maxTaskSeconds'

function checkNumbers<Key extends NumberKey>(
  keys: readonly Key[],
  config: Pick<AgentConfig, Key>,
  at: KeyName,
): void {
  for (const key of keys) {
    const value = config[key]
    if (value !== undefined) checkNumber(at(key), value, agentRows[key])
  }
}

/** What an AgentInfo takes from a configuration. */
interface ConfiguredInfo {
  readonly id: string
  readonly name: string
  readonly description?: string
  readonly capabilities: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
}

/** Metadata keys that are settings; they never show in an AgentInfo. */
const settingNames: ReadonlySet<string> = new Set([
  ...remoteSettings,
  'model',
  'temperature',
  'max_tokens',
  'system_prompt',
])

/** Who a configuration says an agent is. Its metadata are all but settings, of which some are secret. */
export function toConfiguredInfo(config: AgentConfig): ConfiguredInfo {
  const { id, name, description, capabilities = [], metadata = {} } = config
  const shown = Object.entries(metadata).filter(([key]) => !settingNames.has(key))
  return {
    id,
    name,
    ...(description !== undefined && { description }),
    capabilities: [...new Set(capabilities)],
    metadata: Object.fromEntries(shown.map(([key, value]) => [key, String(value)])),
  }
}
