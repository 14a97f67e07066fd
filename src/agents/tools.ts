import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json, JsonObject, Message } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { Agent, AgentReply, Turn } from './agent.ts'
import { type DataOf, type SchemaInput, toDataSchema } from './schema.ts'

/** Something a model may call: a TypeScript function, a tool of an MCP server, another agent. */
export interface Tool {
  /** Letters, digits, `_` and `-`, at most 64: what model services accept. */
  readonly name: string
  /** What it does, for the model. */
  readonly description: string
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject
  /**
   * Whether the user is asked before a call runs: always, or where a function of the arguments says so. Only a clear yes
   * lets it run, and a clear no rejects the task.
   */
  readonly approval?: ApprovalRule
  /** What is wrong with arguments, in words for the model, which is told instead of the user being asked. */
  check?(args: JsonObject): Promise<string | undefined> | string | undefined
  /** Does the work. A throw is told to the model by its message, so that it can try something else. */
  execute(args: JsonObject, context: ToolContext): Promise<Json> | Json
  /**
   * Present where a call of this tool ends the model's turn, such as one that hands over to another agent: the result is
   * not told to the model, and what this gives is the metadata of its answer. The same arguments must give the same.
   */
  ends?(args: JsonObject): JsonObject
}

/** Whether a call needs the user's yes. */
export type ApprovalRule<Args = JsonObject> = boolean | ((args: Args) => Promise<boolean> | boolean)

/** What a tool knows of the turn that calls it. */
export interface ToolContext {
  /** Fires when the turn is given up. */
  readonly signal: AbortSignal
  /** The turn that calls it. */
  readonly turn: Turn
  /**
   * What to call this call by in systems outside, such as an idempotency key, so that they can tell a repetition: a
   * call's result counts once, but its work may begin again where the process died before the result was stored.
   * Absent where an agent of your own calls the tool and gives none.
   */
  readonly key?: string
}

/** An agent that can use tools which somebody offers it for one turn, such as a team to its supervisor. */
export interface ToolUser extends Agent {
  /** Says that `process` takes tools. */
  readonly acceptsTools: true
  process(message: Message, turn: Turn, tools?: readonly Tool[]): AgentReply
}

/** Whether an agent takes tools for a turn. */
export function acceptsTools(agent: Agent): agent is ToolUser {
  return 'acceptsTools' in agent && agent.acceptsTools === true
}

/** Tools that are found when they are needed, such as those of an MCP server. */
export interface ToolSource {
  /** Stands before a tool's name where that name is already taken. */
  readonly name: string
  /** The tools there are now. */
  list(signal: AbortSignal): Promise<readonly Tool[]>
  /** Releases connections and processes. May be called twice. */
  close(): Promise<void>
}

/** A tool whose arguments and result have types, by a schema of zod, valibot, arktype or another library, or a JSON Schema. */
export interface ToolDefinition<
  Input extends SchemaInput,
  Output extends SchemaInput = JsonObject,
> {
  /** Letters, digits, `_` and `-`, at most 64: what model services accept. */
  readonly name: string
  /** What it does, for the model. */
  readonly description: string
  /** What the arguments must fit: an object. A model whose arguments do not fit is told so, and nothing runs. */
  readonly input: Input
  /** The JSON Schema of `input`, where its library gives none. */
  readonly jsonSchema?: JsonObject
  /** What the result must fit. */
  readonly output?: Output
  /** Whether the user is asked before a call runs: always, or where a function of the arguments says so. */
  readonly approval?: ApprovalRule<DataOf<Input>>
  /** Does the work. A throw is told to the model by its message, so that it can try something else. */
  execute(
    args: DataOf<Input>,
    context: Required<ToolContext>,
  ): Promise<ResultFor<Output>> | ResultFor<Output>
}

/** What a tool's `execute` gives: what its `output` schema takes, or any JSON. */
export type ResultFor<Output> = Output extends StandardSchemaV1<infer Given, infer _> ? Given : Json

/**
 * Checks a tool where it is written, not where a model first calls it.
 * @throws TypeError for a name no model accepts, and for a schema that cannot be used.
 */
export function defineTool(tool: Tool): Tool
// Last, since it is the last one whose faults the compiler tells.
/**
 * Makes a tool whose arguments and result have types, by schemas. What does not fit is told to the model, and nothing runs.
 * @throws TypeError for a name no model accepts, and for a schema that cannot be used.
 */
export function defineTool<Input extends SchemaInput, Output extends SchemaInput = JsonObject>(
  definition: ToolDefinition<Input, Output>,
): Tool
export function defineTool(given: Tool | ToolDefinition<SchemaInput, SchemaInput>): Tool {
  if (!toolName.test(given.name))
    throw new TypeError(`A tool's name is 1 to 64 letters, digits, _ or -: ${given.name}`)
  return 'input' in given ? toTool(given) : given
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

function toTool(definition: ToolDefinition<SchemaInput, SchemaInput>): Tool {
  const { name, description, approval, jsonSchema, output } = definition
  const at = `of the tool "${name}"`
  const input = toDataSchema(definition.input, {
    at: `input ${at}`,
    value: 'arguments',
    jsonSchema,
  })
  const result =
    output && toDataSchema(output, { at: `output ${at}`, value: 'result', jsonSchema: {} })
  const read = async (args: JsonObject): Promise<unknown> => {
    const reading = await input.read(args)
    if (reading.fault !== undefined) throw new Error(reading.fault)
    return reading.data
  }
  return {
    name,
    description,
    parameters: input.jsonSchema,
    ...(approval !== undefined && {
      approval:
        typeof approval === 'function' ? async (args) => approval(await read(args)) : approval,
    }),
    check: async (args) => (await input.read(args)).fault,
    async execute(args, context) {
      const known = { ...context, key: context.key ?? newId() }
      const given = await definition.execute(await read(args), known)
      const reading = await result?.read(given)
      if (reading?.fault !== undefined) throw new Error(`The tool failed: ${reading.fault}`)
      return (reading ? reading.data : given) as Json // whatever it is, the model reads it as JSON
    },
  }
}

/** The nearest name that model services accept. */
export function toToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'tool'
}

/** The tools with a name of its own for each: a later one whose name is taken gets a number behind it. */
export function withOwnNames(tools: readonly Tool[]): readonly Tool[] {
  const taken = new Set<string>()
  return tools.map((tool) => {
    let name = tool.name
    for (let number = 2; taken.has(name); number++)
      name = `${tool.name.slice(0, 63 - String(number).length)}_${number}`
    taken.add(name)
    return name === tool.name ? tool : wrapTool(tool, { name })
  })
}

/** A tool around another: every member is the wrapped one's, which may be an instance of a class; what differs is given. */
export function wrapTool(tool: Tool, overrides: Partial<Tool>): Tool {
  const { name, description, parameters, approval, check, ends } = tool
  return {
    name,
    description,
    parameters,
    ...(approval !== undefined && {
      approval: typeof approval === 'function' ? (args) => approval.call(tool, args) : approval,
    }),
    ...(check && { check: (args) => check.call(tool, args) }),
    execute: (args, context) => tool.execute(args, context),
    ...(ends && { ends: (args) => ends.call(tool, args) }),
    ...overrides,
  }
}
