import type { Client } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../protocol/types.ts'
import { ValidationError } from '../base/errors.ts'
import { hashOf, isJsonObject, tryParse } from '../base/json.ts'
import { needsState } from '../scorers/built-in.ts'
import { createCallCheck, refusedCall } from './call-check.ts'
import type { Domain, Environment, ToolDescriptor, ToolKind, ToolOutcome } from './environment.ts'
import { replayHistory } from './history.ts'
import type { EvalTask } from './task.ts'

/** An MCP server that is the world of a domain: a program, started afresh for every simulation, or a URL. */
export interface McpWorld {
  /** The program to start. */
  readonly command?: string | undefined
  readonly args?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
  /** Where a server is reached that runs already. */
  readonly url?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** URI of the resource that shows the whole state; what the final states are compared by. */
  readonly state?: string | undefined
  /** A tool, not shown to the agent, that brings a server that is not started afresh to its beginning. */
  readonly reset?: string | undefined
  /** Further tools that the agent does not see: set-up functions and assertions of tasks. */
  readonly hidden?: readonly string[] | undefined
}

/** A domain whose tools are those of an MCP server. */
export interface McpDomain {
  readonly name: string
  /** The rules that the agent is judged by; sent to it in its first message. */
  readonly policy: string
  readonly tasks: readonly EvalTask[]
  /** Named selections of task ids. */
  readonly splits?: Readonly<Record<string, readonly string[]>>
  /** The MCP server. */
  readonly world: McpWorld
}

/**
 * Makes a domain whose tools are those of an MCP server. Tools that say `readOnlyHint` are reads, all others change
 * the world.
 *
 * @throws ValidationError where a task's score needs a state that the server does not show.
 */
export function defineMcpDomain(domain: McpDomain): Domain {
  const { name, policy, tasks, splits = {}, world } = domain
  if (world.command === undefined && world.url === undefined)
    throw new ValidationError(
      `The domain ${name} names neither a command nor a URL of its MCP server`,
    )
  const scoredByState = tasks.find(needsState)
  if (scoredByState && world.state === undefined)
    throw new ValidationError(
      `Task ${scoredByState.id} is scored by the final state, but the domain ${name} names no state resource`,
    )
  return { name, policy, tasks, splits, open: (task) => openWorld(world, task) }
}

async function openWorld(world: McpWorld, task: EvalTask): Promise<Environment> {
  const client = await connect(world)
  try {
    if (world.reset !== undefined) await callTool(client, world.reset, {})
    const { tools } = await client.listTools()
    const environment = createEnvironment(client, world, tools)
    for (const action of task.initial_state?.initialization_actions ?? [])
      await environment.initialise(action)
    await replayHistory(environment, task)
    return environment
  } catch (error) {
    await client.close()
    throw error
  }
}

async function connect(world: McpWorld): Promise<Client> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const client = new Client({ name: 'corral-eval', version: '1.0.0' })
  if (world.command === undefined) {
    const options = world.headers ? { requestInit: { headers: { ...world.headers } } } : {}
    await client.connect(new StreamableHTTPClientTransport(new URL(world.url ?? ''), options))
    return client
  }
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  const transport = new StdioClientTransport({
    command: world.command,
    args: [...(world.args ?? [])],
    stderr: 'ignore',
    ...(world.env && { env: { ...world.env } }),
    ...(world.cwd !== undefined && { cwd: world.cwd }),
  })
  await client.connect(transport)
  return client
}

type McpTool = Awaited<ReturnType<Client['listTools']>>['tools'][number]

function createEnvironment(
  client: Client,
  world: McpWorld,
  tools: readonly McpTool[],
): Environment {
  const hidden = new Set([...(world.hidden ?? []), world.reset])
  const shown = tools.filter(({ name }) => !hidden.has(name))
  const kinds = new Map(shown.map((tool) => [tool.name, kindOf(tool)]))
  const state = (): Promise<string> => readState(client, world.state)
  const offered = shown.map(describe)
  const checks = { assistant: createCallCheck(offered), user: createCallCheck([]) }
  return {
    tools: offered,
    userTools: [],
    kindOf: (name, side) => (side === 'assistant' ? kinds.get(name) : undefined),
    async call(call) {
      const problem = checks[call.requestor](call)
      return problem ? refusedCall(problem) : callTool(client, call.name, call.arguments)
    },
    apply: ({ name, arguments: args }) => callTool(client, name, args),
    sync: async () => {},
    async initialise({ func_name, arguments: args }) {
      const { content, error } = await callTool(client, func_name, args)
      if (error) throw new Error(`Set-up by ${func_name} failed: ${content}`)
    },
    async assert({ func_name, arguments: args, assert_value = true }) {
      const { content, error } = await callTool(client, func_name, args)
      if (error) throw new Error(content)
      return (content.trim().toLowerCase() === 'true') === assert_value
    },
    async snapshot() {
      const text = await state()
      return { agent: tryParse(text) ?? text, user: null }
    },
    async hash() {
      const text = await state()
      return { agent: hashOf(tryParse(text) ?? text), user: null }
    },
    close: () => client.close(),
  }
}

async function callTool(client: Client, name: string, args: JsonObject): Promise<ToolOutcome> {
  const result = await client.callTool({ name, arguments: { ...args } })
  const content = result.content
    .map((block) => (block.type === 'text' ? block.text : JSON.stringify(block)))
    .join('\n')
  return result.isError ? { content: `Error: ${content}`, error: true } : { content, error: false }
}

async function readState(client: Client, uri: string | undefined): Promise<string> {
  if (uri === undefined) return 'null'
  const { contents } = await client.readResource({ uri }, { cacheMode: 'bypass' })
  return contents.map((part) => ('text' in part ? part.text : part.blob)).join('\n')
}

function kindOf(tool: McpTool): ToolKind {
  return tool.annotations?.readOnlyHint ? 'read' : 'write'
}

function describe(tool: McpTool): ToolDescriptor {
  const schema: unknown = tool.inputSchema
  const parameters = isJsonObject(schema) ? schema : { type: 'object' }
  return { name: tool.name, description: tool.description ?? tool.name, parameters }
}
