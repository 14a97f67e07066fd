import { z } from 'zod'
import type { McpServerConfig } from '../../agents/mcp/config.ts'
import type { ToolModuleConfig } from '../../agents/tool-config.ts'
import { described, fromVariable } from './described.ts'
import { filledText, whenGiven, words } from './values.ts'

/** Which tools the user is asked about before they run. */
const approval = described(
  z.union([z.boolean(), z.array(filledText)], 'must be true, false or a list of names').optional(),
  {
    description:
      'Tools that the user is asked about before they run: `true` for all of them, or a list of names. What a tool says of itself holds besides.',
    default: false,
    examples: [true, ['warn']],
  },
)

/** `[[agents.tools]]`: files whose tools an OpenAI agent may use. */
export const toolsSchema: z.ZodType<ToolModuleConfig> = z
  .strictObject({
    module: described(filledText, {
      description:
        'A file, relative to this one, that exports a tool, a list of tools, or several under names.',
      examples: ['./tools/weather.mjs'],
    }),
    approval,
  })
  .transform(({ module, approval }) => ({ module, ...whenGiven('approval', approval) }))

const name = described(filledText, {
  description:
    "Names the server in errors, and in a tool's name where two servers have a tool of the same name.",
  examples: ['files'],
})

const program = z.strictObject({
  name,
  command: described(filledText, {
    description: 'The program that is started and spoken to over stdio.',
    examples: ['npx'],
  }),
  args: described(z.array(z.string()).optional(), {
    description: 'Arguments of the program. Relative paths go by where `corral` is started.',
    examples: [['-y', '@modelcontextprotocol/server-filesystem', './documents']],
  }),
  env: described(words.optional(), {
    description:
      "Variables of the program, beside a small safe set: the server's own are not passed on.",
    examples: [{ API_TOKEN: fromVariable('API_TOKEN') }],
  }),
  cwd: described(filledText.optional(), {
    description: 'Where the program runs; where `corral` is started if absent.',
    examples: ['./tools'],
  }),
  approval,
})

const endpoint = z.strictObject({
  name,
  url: described(filledText, {
    description: 'The address of a server that speaks streamable HTTP.',
    examples: ['https://mcp.example.com/mcp'],
  }),
  headers: described(words.optional(), {
    description: 'Headers of every request to the server.',
    examples: [{ Authorization: `Bearer ${fromVariable('MCP_TOKEN')}` }],
  }),
  approval,
})

/** `[[agents.mcp_servers]]`: tool servers of an OpenAI agent. */
export const mcpSchema: z.ZodType<McpServerConfig> = z
  .union([program, endpoint])
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
