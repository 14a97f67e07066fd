import type { Client } from '@modelcontextprotocol/client'
import type { Json, JsonObject } from '../../protocol/types.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import { hashOf, isJsonObject, messageOf, tryParse, ValidationError } from '../base.ts'
import { needsState } from '../scorers/built-in.ts'
import type {
  Domain,
  Environment,
  EvalTask,
  GoldAction,
  Requestor,
  Snapshot,
  ToolDescriptor,
  ToolKind,
  ToolOutcome,
} from './domain.ts'
import { type CallCheck, createCallCheck, refusedCall, replayHistory } from './replay.ts'

/** A domain whose tools are functions over plain JSON state. */
export interface FunctionDomain<S = unknown, U = unknown> {
  readonly name: string
  /** The rules that the agent is judged by; sent to it in its first message. */
  readonly policy: string
  readonly tasks: readonly EvalTask[]
  /** Named selections of task ids. */
  readonly splits?: Readonly<Record<string, readonly string[]>>
  /** The agent's half of the world, where every simulation begins. */
  readonly state: S
  /** The user's half; null where the user has no state of their own. */
  readonly userState: U
  /** Its tools and functions. */
  readonly module: ToolModule<S, U>
}

/** The functions of a domain: what a tools module exports. */
export interface ToolModule<S = unknown, U = unknown> {
  /** The agent's tools, by name. */
  readonly tools: Readonly<Record<string, ToolFunction<S, U>>>
  /** The user's own tools, by name. */
  readonly userTools?: Readonly<Record<string, ToolFunction<S, U>>>
  /** Set-up functions and assertions, by name. */
  readonly functions?: Readonly<Record<string, DomainFunction<S, U>>>
  /** Brings the two halves of the world in line. */
  readonly sync?: (world: World<S, U>) => void
}

/** A tool as a function. What it returns is told to the caller; what it throws is told as an error. */
export interface ToolFunction<S = unknown, U = unknown> {
  /** What it does, for the agent. */
  readonly description: string
  /** JSON Schema of the arguments; a call that breaks it is not executed. */
  readonly parameters: JsonObject
  /** `write` if absent: an unknown tool is taken to change the world. */
  readonly kind?: ToolKind
  /** Does the work; it may change the world in place. */
  run(args: JsonObject, world: World<S, U>): Json | Promise<Json>
}

/** Both halves of a world while functions work on them: plain JSON that they change in place. */
export interface World<S = unknown, U = unknown> {
  /** The agent's half. */
  agent: S
  /** The user's half. */
  user: U
}

/** A function of a domain beside its tools: it sets a task up, or says whether something is so. */
export type DomainFunction<S = unknown, U = unknown> = (
  args: JsonObject,
  world: World<S, U>,
) => unknown

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

const functionDomain: OptionTable<FunctionDomain<unknown, unknown>> = {
  name: 'string!',
  policy: 'string!',
  tasks: 'array!',
  splits: 'object',
  state: 'any!',
  userState: 'any!',
  module: 'object!',
}

/** Makes a domain whose tools are functions; every simulation works on its own copy of the state. */
export function defineDomain<S, U>(domain: FunctionDomain<S, U>): Domain {
  checkOptions('defineDomain', domain, functionDomain)
  const { name, policy, tasks, splits = {}, module } = domain
  const sides = { assistant: offer(module.tools), user: offer(module.userTools ?? {}) }
  return { name, policy, tasks, splits, open: (task) => openWorld(domain, task, sides) }
}

/** What each side may call, and the check of a call before it runs. */
type OfferedSides = Readonly<
  Record<Requestor, { readonly tools: readonly ToolDescriptor[]; readonly check: CallCheck }>
>

function offer<S, U>(
  functions: Readonly<Record<string, ToolFunction<S, U>>>,
): OfferedSides[Requestor] {
  const tools = Object.entries(functions).map(([name, { description, parameters }]) => ({
    name,
    description,
    parameters,
  }))
  return { tools, check: createCallCheck(tools) }
}

/** A fresh world of a function domain, in the task's initial state. */
async function openWorld<S, U>(
  domain: FunctionDomain<S, U>,
  task: EvalTask,
  sides: OfferedSides,
): Promise<Environment> {
  const data = task.initial_state?.initialization_data
  const world = {
    agent: merge(structuredClone(domain.state), data?.agent_data),
    user: merge(structuredClone(domain.userState), data?.user_data),
  }
  const environment = createEnvironment(domain.module, world, sides)
  for (const action of task.initial_state?.initialization_actions ?? [])
    await environment.initialise(action)
  await environment.sync()
  await replayHistory(environment, task)
  return environment
}

/** Deep merge of a task's data over the domain's; lists and plain values are replaced. */
function merge<T>(base: T, over: JsonObject | null | undefined): T {
  if (over === null || over === undefined) return base
  // The task's author speaks of the same shape as the domain's; JSON gives no way to check it.
  return mergeJson(base, structuredClone(over)) as T
}

function mergeJson(base: unknown, over: JsonObject): JsonObject {
  const merged: Record<string, Json | undefined> = isJsonObject(base) ? { ...base } : {}
  for (const [key, value] of Object.entries(over))
    merged[key] =
      isJsonObject(value) && isJsonObject(merged[key]) ? mergeJson(merged[key], value) : value
  return merged
}

function createEnvironment<S, U>(
  module: ToolModule<S, U>,
  world: World<S, U>,
  sides: OfferedSides,
): Environment {
  const sync = async (): Promise<void> => module.sync?.(world)
  return {
    tools: sides.assistant.tools,
    userTools: sides.user.tools,
    kindOf: (name, side) => {
      const tool = toolOf(module, { name, requestor: side })
      return tool && (tool.kind ?? 'write')
    },
    async call(call) {
      const problem = sides[call.requestor].check(call)
      if (problem) return refusedCall(problem)
      const outcome = await execute(module, call, world)
      await sync()
      return outcome
    },
    apply: (action) => execute(module, action, world),
    sync,
    async initialise(action) {
      await functionOf(module, action.func_name)(action.arguments, world)
    },
    async assert({ func_name, arguments: args, assert_value = true }) {
      return Boolean(await functionOf(module, func_name)(args, world)) === assert_value
    },
    // A world is plain JSON by contract of `FunctionDomain`.
    snapshot: async () => structuredClone<unknown>(world) as Snapshot,
    hash: async () => ({
      agent: hashOf(world.agent),
      user: world.user === null ? null : hashOf(world.user),
    }),
    close: async () => {},
  }
}

function toolOf<S, U>(
  module: ToolModule<S, U>,
  { name, requestor }: Pick<GoldAction, 'name' | 'requestor'>,
): ToolFunction<S, U> | undefined {
  const tools = requestor === 'user' ? (module.userTools ?? {}) : module.tools
  return Object.hasOwn(tools, name) ? tools[name] : undefined
}

async function execute<S, U>(
  module: ToolModule<S, U>,
  action: GoldAction,
  world: World<S, U>,
): Promise<ToolOutcome> {
  const tool = toolOf(module, action)
  if (!tool) return { content: `Error: Tool '${action.name}' not found`, error: true }
  try {
    const value = await tool.run(structuredClone(action.arguments), world)
    return { content: toContent(value), error: false }
  } catch (error) {
    return { content: `Error: ${messageOf(error)}`, error: true }
  }
}

/** What a caller reads: text as it is, everything else as JSON. */
function toContent(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

function functionOf<S, U>(module: ToolModule<S, U>, name: string): DomainFunction<S, U> {
  const found = Object.hasOwn(module.functions ?? {}, name) ? module.functions?.[name] : undefined
  if (!found) throw new Error(`The domain has no function '${name}'`)
  return found
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

const mcpDomain: OptionTable<McpDomain> = {
  name: 'string!',
  policy: 'string!',
  tasks: 'array!',
  splits: 'object',
  world: 'object!',
}

const mcpWorld: OptionTable<McpWorld> = {
  command: 'string',
  args: 'array',
  env: 'object',
  cwd: 'string',
  url: 'string',
  headers: 'object',
  state: 'string',
  reset: 'string',
  hidden: 'array',
}

/**
 * Makes a domain whose tools are those of an MCP server. Tools that say `readOnlyHint` are reads, all others change
 * the world.
 *
 * @throws ValidationError where a task's score needs a state that the server does not show.
 */
export function defineMcpDomain(domain: McpDomain): Domain {
  checkOptions('defineMcpDomain', domain, mcpDomain)
  checkOptions('defineMcpDomain: world', domain.world, mcpWorld)
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
  return { name, policy, tasks, splits, open: (task) => openMcpWorld(world, task) }
}

async function openMcpWorld(world: McpWorld, task: EvalTask): Promise<Environment> {
  const client = await connect(world)
  try {
    if (world.reset !== undefined) await callTool(client, world.reset, {})
    const { tools } = await client.listTools()
    const environment = createMcpEnvironment(client, world, tools)
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

async function callTool(client: Client, name: string, args: JsonObject): Promise<ToolOutcome> {
  const result = await client.callTool({ name, arguments: { ...args } })
  const content = result.content
    .map((block) => (block.type === 'text' ? block.text : JSON.stringify(block)))
    .join('\n')
  return result.isError ? { content: `Error: ${content}`, error: true } : { content, error: false }
}

type McpTool = Awaited<ReturnType<Client['listTools']>>['tools'][number]

function createMcpEnvironment(
  client: Client,
  world: McpWorld,
  tools: readonly McpTool[],
): Environment {
  const hidden = new Set([...(world.hidden ?? []), world.reset])
  const shown = tools.filter(({ name }) => !hidden.has(name))
  const kinds = new Map(shown.map((tool) => [tool.name, kindOf(tool)]))
  const state = (): Promise<string> => readState(client, world.state)
  const offered = shown.map(describeTool)
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

function kindOf(tool: McpTool): ToolKind {
  return tool.annotations?.readOnlyHint ? 'read' : 'write'
}

async function readState(client: Client, uri: string | undefined): Promise<string> {
  if (uri === undefined) return 'null'
  const { contents } = await client.readResource({ uri }, { cacheMode: 'bypass' })
  return contents.map((part) => ('text' in part ? part.text : part.blob)).join('\n')
}

function describeTool(tool: McpTool): ToolDescriptor {
  const schema: unknown = tool.inputSchema
  const parameters = isJsonObject(schema) ? schema : { type: 'object' }
  return { name: tool.name, description: tool.description ?? tool.name, parameters }
}
