import type { Json, JsonObject } from '../protocol/types.ts'
import type { Logger } from '../shared/log.ts'
import type { Tool, ToolContext } from './tools.ts'

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

/** Whether the user must be asked before a call runs, or what is wrong with it, so that it is not to run at all. */
export type Ruling = 'ask' | { readonly fault: string } | undefined

/** What holds for a call before it runs. A rule that cannot decide leaves it to the user. */
export async function ruleOn(
  tools: readonly Tool[],
  call: ModelToolCall,
  log: Logger,
): Promise<Ruling> {
  const tool = tools.find(({ name }) => name === call.name)
  const { approval } = tool ?? {}
  if (!tool || approval === undefined || approval === false) return undefined
  const args = parseArguments(call.arguments)
  if (!args) return { fault: noObject }
  try {
    const fault = await tool.check?.(args)
    if (fault !== undefined) return { fault }
    return approval === true || (await approval.call(tool, args)) ? 'ask' : undefined
  } catch (error) {
    log.warn({ tool: call.name, error }, 'whether a tool needs approval could not be decided')
    return 'ask'
  }
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
  if (!tool) return failedCall(`There is no tool named ${call.name}`)
  const args = parseArguments(call.arguments)
  if (!args) return failedCall(noObject)
  try {
    return { content: toText(await tool.execute(args, context)), failed: false }
  } catch (error) {
    context.signal.throwIfAborted()
    context.turn.log.warn({ tool: call.name, error }, 'a tool failed')
    return failedCall(error instanceof Error ? error.message : 'The tool failed')
  }
}

/** The result of a call that did not come to anything. */
export function failedCall(reason: string): ToolResult {
  return { content: `Error: ${reason}`, failed: true }
}

const noObject = 'The arguments are not a JSON object'
const maxResultLength = 100_000

/** The arguments of a call; models send an empty string where a tool takes none. */
export function parseArguments(text: string): JsonObject | undefined {
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
