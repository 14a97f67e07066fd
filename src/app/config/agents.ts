import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import {
  type AgentAuth,
  type AgentConfig,
  agentRows,
  type McpEndpoint,
  type McpProgram,
  type McpServerConfig,
  type ToolModuleConfig,
} from '../../agents/config.ts'
import { keyHeader } from '../../agents/config-checks.ts'
import { type ModelConfig, modelRows } from '../../agents/model-config.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import { fromVariable, type Rows, row } from '../../shared/rows.ts'
import { guardsSchema } from './guards.ts'
import type { Unplaced } from './locate.ts'
import { filledText, isJsonTable, isTable, type KeyFacts, tableOf } from './values.ts'

const stopSchema = z.union([filledText, z.array(filledText)])

const jsonSchema = z.record(z.string(), z.unknown()).refine(isJsonTable, 'dates are no JSON')

/** `[agents.model]`: which model an OpenAI agent is, and how it answers. */
const modelSchema: z.ZodType<ModelConfig> = tableOf(modelRows, {
  stop: stopSchema,
  extraBody: jsonSchema,
})

/** Which tools the user is asked about before they run. */
const approvalRow = row.any(
  { default: false, examples: [true, ['warn']] },
  'Tools that the user is asked about before they run: `true` for all of them, or a list of names. What a tool says of itself holds besides.',
)

const approval = z.union(
  [z.boolean(), z.array(filledText)],
  'must be true, false or a list of names',
)

/** `[[agents.tools]]`: files whose tools an OpenAI agent may use. */
const toolRows: Rows<ToolModuleConfig> = {
  module: row.text(
    { required: true, examples: ['./tools/weather.mjs'] },
    'A file, relative to this one, that exports a tool, a list of tools, or several under names.',
  ),
  approval: approvalRow,
}

const toolsSchema = tableOf(toolRows, { approval })

const nameRow = row.text(
  { required: true, examples: ['files'] },
  "Names the server in errors, and in a tool's name where two servers have a tool of the same name.",
)

const programRows: Rows<McpProgram> = {
  name: nameRow,
  command: row.text(
    { required: true, examples: ['npx'] },
    'The program that is started and spoken to over stdio.',
  ),
  args: row.texts(
    { examples: [['-y', '@modelcontextprotocol/server-filesystem', './documents']] },
    'Arguments of the program. Relative paths go by where `corral` is started.',
  ),
  env: row.textTable(
    { examples: [{ API_TOKEN: fromVariable('API_TOKEN') }] },
    "Variables of the program, beside a small safe set: the server's own are not passed on.",
  ),
  cwd: row.text(
    { examples: ['./tools'] },
    'Where the program runs; where `corral` is started if absent.',
  ),
  approval: approvalRow,
}

const program = tableOf(programRows, { args: z.array(z.string()), approval })

const endpointRows: Rows<McpEndpoint> = {
  name: nameRow,
  url: row.text(
    { required: true, examples: ['https://mcp.example.com/mcp'] },
    'The address of a server that speaks streamable HTTP.',
  ),
  headers: row.textTable(
    { examples: [{ Authorization: `Bearer ${fromVariable('MCP_TOKEN')}` }] },
    'Headers of every request to the server.',
  ),
  approval: approvalRow,
}

const endpoint = tableOf(endpointRows, { approval })

/** `[[agents.mcp_servers]]`: tool servers of an OpenAI agent. */
const mcpSchema: z.ZodType<McpServerConfig> = z.union([program, endpoint])

type AuthBy<Type> = Extract<AgentAuth, { readonly type: Type }>

const apiKeyRows: Rows<AuthBy<'api_key'>> = {
  type: row.any({ required: true, examples: ['api_key'] }, 'An API key in a header.'),
  key: row.text(
    { required: true, examples: [fromVariable('REVIEWER_KEY')] },
    'The key. Keep it in a variable.',
  ),
  header: row.text(
    { default: keyHeader, examples: ['X-Service-Key'] },
    'The header that the key goes in.',
  ),
}

const apiKey = tableOf(apiKeyRows, { type: z.literal('api_key') })

const bearerRows: Rows<AuthBy<'bearer'>> = {
  type: row.any({ required: true, examples: ['bearer'] }, 'A token in the `Authorization` header.'),
  token: row.text(
    { required: true, examples: [fromVariable('REVIEWER_TOKEN')] },
    'The token. Keep it in a variable.',
  ),
}

const bearer = tableOf(bearerRows, { type: z.literal('bearer') })

const oauth2Rows: Rows<AuthBy<'oauth2'>> = {
  type: row.any(
    { required: true, examples: ['oauth2'] },
    'OAuth 2 client credentials: tokens are fetched, and fetched again before they end. Not for the protocol `openai`.',
  ),
  tokenUrl: row.text(
    { required: true, examples: ['https://login.example.com/oauth/token'] },
    'Where tokens are fetched.',
  ),
  clientId: row.text(
    { required: true, examples: ['corral'] },
    'Who Corral is to the authorization server.',
  ),
  clientSecret: row.text(
    { required: true, examples: [fromVariable('CLIENT_SECRET')] },
    'The secret of the client. Keep it in a variable.',
  ),
  scopes: row.texts(
    { examples: [['agents:call']] },
    'Scopes to ask for; those that the authorization server gives if absent.',
  ),
}

const oauth2 = tableOf(oauth2Rows, { type: z.literal('oauth2') })

type OneOfSeveral = z.core.$ZodTypeDiscriminable

/** `[agents.auth]`: how Corral proves itself to the agent. */
const agentAuthSchema: z.ZodType<AgentAuth> = z
  // Each has its `type`, which the compiler does not see.
  .discriminatedUnion('type', [apiKey, bearer, oauth2] as [OneOfSeveral, ...OneOfSeveral[]])
  .transform((auth) => auth as AgentAuth) // one of the three

/** Keys that are settings; any others may stand beside them. They are read where an agent becomes one of its kind. */
const settings: Readonly<Record<string, KeyFacts>> = {
  api_key: {
    description:
      'The key of the model service, where the variable `OPENAI_API_KEY` is not to be used; or that of an A2A agent.',
    examples: [fromVariable('OPENAI_API_KEY')],
  },
  task_handling: {
    description:
      'What becomes of an answer of an A2A agent that is a task: `poll_until_complete` waits for its end, `return_task_info` gives the task as it is, `reject_tasks` refuses it.',
    default: 'poll_until_complete',
    examples: ['return_task_info'],
  },
  agent_id: {
    description: "An A2A agent's own id; discovered if absent.",
    examples: ['reviewer'],
  },
  auth_header: {
    description: 'The header in which `api_key` goes to an A2A agent.',
    default: keyHeader,
    examples: ['X-Service-Key'],
  },
  bearer_token: {
    description:
      'A bearer token for an A2A agent that has no `api_key`; `[agents.auth]` can say it too.',
    examples: [fromVariable('REVIEWER_TOKEN')],
  },
  model: {
    description: 'Use `name` in `[agents.model]`; a setting may stand in one of the two places.',
    examples: ['gpt-4.1'],
    deprecated: true,
  },
  temperature: {
    description: 'Use `temperature` in `[agents.model]`.',
    examples: [0.7],
    deprecated: true,
  },
  max_tokens: {
    description: 'Use `max_tokens` in `[agents.model]`; here it is 4096 at most.',
    examples: [1000],
    deprecated: true,
  },
  system_prompt: {
    description: 'Use `system_prompt` in `[agents.model]`.',
    examples: ['You are a careful researcher.'],
    deprecated: true,
  },
}

const settingTypes = ['string', 'number', 'boolean'] as const

/** `[agents.metadata]`: settings of the agent's kind, and what its info is to show. */
const metadataSchema: z.ZodType<NonNullable<AgentConfig['metadata']>> = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .meta({
    properties: Object.fromEntries(
      Object.entries(settings).map(([key, facts]) => [key, { ...facts, type: settingTypes }]),
    ),
  })

/** `output_schema`: a JSON Schema as a table, or the name of its file, in whose place the schema stands by now. */
export const outputSchemaField: z.ZodType<JsonObject> = z
  .union(
    [filledText, z.record(z.string(), z.unknown())],
    'must be a table that is a JSON Schema, or the name of its file',
  )
  .transform((schema): JsonObject => (typeof schema === 'string' ? {} : (schema as JsonObject))) // made of TOML or JSON

/** `[[agents]]`: one agent. Ranges are checked where it becomes an agent of its kind. */
export const agentSchema: z.ZodType<AgentConfig> = tableOf(agentRows, {
  model: modelSchema,
  tools: z.array(toolsSchema),
  mcpServers: z.array(mcpSchema),
  auth: agentAuthSchema,
  metadata: metadataSchema,
  outputSchema: outputSchemaField,
  guards: guardsSchema,
})

/** A file with the schemas that it names by their files put in, which files these are, and what is wrong with them. */
interface WithSchemas {
  readonly value: unknown
  readonly files: readonly string[]
  readonly problems: readonly Unplaced[]
}

/** Tables whose keys are their author's own. */
const foreignTables: ReadonlySet<string> = new Set(['metadata', 'extra_body', 'headers', 'env'])

/** The keys under which a JSON Schema stands, as a table or as the name of its file; `schema` of a guard is one too. */
const schemaKeys: ReadonlySet<string> = new Set(['output_schema'])

type SchemaFile = { readonly schema: unknown } | { readonly fault: string }

const nowhere: SchemaFile = {
  fault: 'files are read only for a configuration that is a file itself',
}

/**
 * Puts the JSON Schema of a file in place of the file's name, wherever a parsed configuration has one. Names are
 * relative to the directory; without one, no file is read and a name is a fault.
 */
export function fillSchemas(value: unknown, directory: string | undefined): WithSchemas {
  const problems: Unplaced[] = []
  const files: string[] = []
  const fill = (item: unknown, path: readonly PropertyKey[]): unknown => {
    if (Array.isArray(item)) return item.map((inner, index) => fill(inner, [...path, index]))
    if (!isTable(item)) return item
    const entries = Object.entries(item).map(([key, inner]) => {
      const here = [...path, key]
      if (foreignTables.has(key)) return [key, inner]
      const isSchema = schemaKeys.has(key) || (key === 'schema' && item.use === 'json-schema')
      if (!isSchema) return [key, fill(inner, here)]
      return [key, typeof inner === 'string' ? read(inner, here) : inner]
    })
    return Object.fromEntries(entries)
  }
  const read = (name: string, path: readonly PropertyKey[]): unknown => {
    const file = directory === undefined ? undefined : resolve(directory, name)
    if (file !== undefined) files.push(file)
    const found = file === undefined ? nowhere : readSchema(file)
    if ('schema' in found) return found.schema
    problems.push({ path, message: `the schema ${name} cannot be read: ${found.fault}` })
    return {}
  }
  return { value: fill(value, []), files, problems }
}

/** More than any schema that a model could be told. */
const maxBytes = 1_000_000

function readSchema(file: string): SchemaFile {
  let text: string
  try {
    if (statSync(file).size > maxBytes) return { fault: `it has more than ${maxBytes} bytes` }
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return { fault: code === 'ENOENT' ? 'there is none' : `the system says ${code}` }
  }
  try {
    const schema: unknown = JSON.parse(text)
    return isFields(schema) ? { schema } : { fault: 'it holds no JSON object' }
  } catch {
    return { fault: 'it holds no JSON' }
  }
}
