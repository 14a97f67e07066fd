import type { Json, JsonObject, Message } from '../protocol/types.ts'
import type { Agent, AgentReply, Turn } from './agent.ts'

/** Something a model may call: a TypeScript function, a tool of an MCP server, another agent. */
export interface Tool {
  /** Letters, digits, `_` and `-`, at most 64: what model services accept. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject
  /** Does the work. A throw is told to the model by its message, so that it can try something else. */
  execute(args: JsonObject, context: ToolContext): Promise<Json> | Json
  /**
   * Present where a call of this tool ends the model's turn, such as one that hands over to another agent: the result is
   * not told to the model, and what this gives is the metadata of its answer. The same arguments must give the same.
   */
  ends?(args: JsonObject): JsonObject
}

/** What a tool knows of the turn that calls it. */
export interface ToolContext {
  readonly signal: AbortSignal
  readonly turn: Turn
}

/** An agent that can use tools which somebody offers it for one turn, such as a team to its supervisor. */
export interface ToolUser extends Agent {
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
  /** Releases connections and processes. Idempotent. */
  close(): Promise<void>
}

/** A model's wish to call a tool, its arguments still text. */
export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** What a call gave, as text for the model. */
export interface ToolResult {
  readonly content: string
  readonly failed: boolean
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/
const maxResultLength = 100_000

/** Checks a tool where it is written, not where a model first calls it. @throws TypeError for a name no model accepts. */
export function defineTool(tool: Tool): Tool {
  if (!toolName.test(tool.name))
    throw new TypeError(`A tool's name is 1 to 64 letters, digits, _ or -: ${tool.name}`)
  return tool
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
    if (name === tool.name) return tool
    // Methods of a class are not copied, so they are called on the tool itself.
    const { ends } = tool
    return {
      ...tool,
      name,
      execute: (args, context) => tool.execute(args, context),
      ...(ends && { ends: (args: JsonObject) => ends.call(tool, args) }),
    }
  })
}

/** What the first call that ends the turn says of the answer; undefined where none of them does. */
export function endOf(
  tools: readonly Tool[],
  calls: readonly ModelToolCall[],
): JsonObject | undefined {
  for (const call of calls) {
    const tool = tools.find(({ name }) => name === call.name)
    const args = tool?.ends && parseArguments(call.arguments)
    if (tool?.ends && args) return tool.ends(args)
  }
  return undefined
}

/**
 * Runs one call. Whatever goes wrong in it is a result for the model, except the end of the turn, which is thrown.
 * Long results are cut, so that one tool cannot fill the model's context.
 */
export async function runTool(
  tools: readonly Tool[],
  call: ModelToolCall,
  context: ToolContext,
): Promise<ToolResult> {
  const tool = tools.find((candidate) => candidate.name === call.name)
  if (!tool) return failure(`There is no tool named ${call.name}`)
  const args = parseArguments(call.arguments)
  if (!args) return failure('The arguments are not a JSON object')
  try {
    return { content: toText(await tool.execute(args, context)), failed: false }
  } catch (error) {
    context.signal.throwIfAborted()
    context.turn.log.warn({ tool: call.name, error }, 'a tool failed')
    return failure(error instanceof Error ? error.message : 'The tool failed')
  }
}

function failure(reason: string): ToolResult {
  return { content: `Error: ${reason}`, failed: true }
}

/** Models send an empty string where a tool takes no arguments. */
function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return value as JsonObject // an object that JSON.parse made holds nothing but JSON
  } catch {
    return undefined
  }
}

function toText(result: Json | undefined): string {
  const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? '')
  return text.length > maxResultLength ? `${text.slice(0, maxResultLength)}\n[cut]` : text
}
