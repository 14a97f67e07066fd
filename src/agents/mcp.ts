import type { CallToolResult, Client, Tool as McpTool } from '@modelcontextprotocol/client'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/types.ts'
import { withSignal } from '../shared/async.ts'
import { type Logger, silent } from '../shared/log.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import type { McpEndpoint, McpProgram, McpServerConfig } from './config.ts'
import { requireApproval, type Tool, type ToolSource, toToolName } from './tools.ts'
import { elsewhere } from './wrap.ts'

/**
 * Gives the tools of an MCP server to a model. The server is started or connected to when its tools are first needed,
 * and again after it has gone away. Needs the package `@modelcontextprotocol/client`.
 */
export function createMcpToolSource(config: McpServerConfig, log: Logger = silent): ToolSource {
  checkArgument('createMcpToolSource', 'the server', config, 'object')
  checkOptions('createMcpToolSource', config, 'url' in config ? endpointOptions : programOptions)
  let session: Promise<Client> | undefined
  const ending = new AbortController()

  async function connected(): Promise<Client> {
    if (ending.signal.aborted)
      throw new A2AError('unavailable', `The tools of ${config.name} are closed`)
    const onClose = (): void => {
      session = undefined
    }
    session ??= connect(config, onClose, ending.signal).catch((cause: unknown) => {
      session = undefined
      throw unavailable(config, cause, log)
    })
    return session
  }

  return {
    name: config.name,
    async list(signal) {
      const client = await withSignal(connected(), signal)
      const { tools } = await client.listTools({}, { signal }).catch((cause: unknown) => {
        signal.throwIfAborted()
        throw unavailable(config, cause, log)
      })
      const all = tools.map((tool) => toTool(tool, connected))
      const required = requireApproval(all, config.approval)
      if (required.unknown === undefined) return required.tools
      throw misnamed(config, required.unknown, { tools: all.map(({ name }) => name), log })
    },
    async close() {
      ending.abort() // a server that hangs while it starts must not hold up the end
      const open = session
      session = undefined
      const client = await open?.catch(() => undefined)
      await client?.close()
    },
  }
}

const programOptions: OptionTable<McpProgram> = {
  name: 'string!',
  command: 'string!',
  args: 'array',
  env: 'object',
  cwd: 'string',
  approval: 'boolean|array',
}

const endpointOptions: OptionTable<McpEndpoint> = {
  name: 'string!',
  url: 'string!',
  headers: 'object',
  approval: 'boolean|array',
}

async function connect(
  config: McpServerConfig,
  onClose: () => void,
  signal: AbortSignal,
): Promise<Client> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  // Over HTTP only the newer revision can cancel a call; a program over stdio need not be started twice to learn it.
  const mode = 'url' in config ? 'auto' : 'legacy'
  const client = new Client({ name: 'corral', version: '1.0.0' }, { versionNegotiation: { mode } })
  client.onclose = onClose
  if ('url' in config) {
    const headers = { ...config.headers }
    const transport = new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit: { headers },
    })
    await client.connect(transport, { signal })
    return client
  }
  const { getDefaultEnvironment, StdioClientTransport } = await import(
    '@modelcontextprotocol/client/stdio'
  )
  const { command, args = [], env, cwd } = config
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
    stderr: 'ignore',
  })
  await client.connect(transport, { signal })
  return client
}

function toTool(tool: McpTool, connected: () => Promise<Client>): Tool {
  return {
    name: toToolName(tool.name),
    description: tool.description ?? tool.title ?? tool.name,
    parameters: tool.inputSchema as JsonObject, // JSON Schema that came as JSON
    async execute(args, { signal, turn }) {
      const result = await elsewhere(turn, async () => {
        const client = await withSignal(connected(), signal)
        return client.callTool({ name: tool.name, arguments: { ...args } }, { signal })
      })
      const text = toText(result)
      if (result.isError) throw new Error(text || `The tool ${tool.name} failed`)
      return text
    },
  }
}

/** What a tool gave, as text for the model: its words, else its data. */
function toText(result: CallToolResult): string {
  const texts = result.content.map((block) => {
    if (block.type === 'text') return block.text
    if (block.type === 'resource_link') return `[${block.name}: ${block.uri}]`
    if (block.type === 'resource')
      return 'text' in block.resource ? block.resource.text : `[${block.resource.uri}]`
    return `[${block.mimeType}]`
  })
  if (texts.length > 0) return texts.join('\n')
  return result.structuredContent === undefined ? '' : JSON.stringify(result.structuredContent)
}

/** A tool that was to be asked about must not run unasked because its name is another: what there is goes to the log. */
function misnamed(
  { name: server }: McpServerConfig,
  unknown: string,
  { tools, log }: { readonly tools: readonly string[]; readonly log: Logger },
): A2AError {
  log.error({ server, approval: unknown, tools }, 'approval names a tool that there is not')
  const reason = `its approval names ${unknown}, which is not one of them`
  return new A2AError('agentUnavailable', `The tools of ${server} cannot be used: ${reason}`)
}

/** A server's own words may hold paths; they go to the log. */
function unavailable(config: McpServerConfig, cause: unknown, log: Logger): A2AError {
  if (cause instanceof A2AError) return cause
  log.warn({ server: config.name, error: cause }, 'an MCP server is not available')
  const missing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
  const reason = missing ? ': install @modelcontextprotocol/client' : ''
  return new A2AError('agentUnavailable', `The tools of ${config.name} are unavailable${reason}`, {
    cause,
  })
}
