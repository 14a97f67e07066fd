import { clientToolsExtension } from './extensions.ts'
import type { JsonObject } from './types.ts'

/** A tool that the client runs itself, as the extension writes it. */
export type OfferedTool = {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject
}

/** An agent's wish that its client runs a tool; the arguments are the model's own text. */
export type ClientToolCall = {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** What a client says of its tools. */
interface ClientTools {
  readonly tools: readonly OfferedTool[]
  /** The call that the message answers. */
  readonly toolCallId?: string
}

/** A client's tools as the metadata that carry them. */
export function toClientToolsMetadata({ tools, toolCallId }: ClientTools): JsonObject {
  return { [clientToolsExtension]: { tools, ...(toolCallId !== undefined && { toolCallId }) } }
}

/** The tools that a message's metadata offer. What has no name is left out. */
export function clientToolsOf(metadata: JsonObject | undefined): ClientTools {
  const { tools, toolCallId } = sectionOf(metadata)
  const list: readonly unknown[] = Array.isArray(tools) ? tools : []
  return {
    tools: list.flatMap((tool) => (isObject(tool) ? toClientTool(tool) : [])),
    ...(typeof toolCallId === 'string' && { toolCallId }),
  }
}

/** Calls as the metadata of the artifact that asks for them. */
export function toToolCallsMetadata(toolCalls: readonly ClientToolCall[]): JsonObject {
  return { [clientToolsExtension]: { toolCalls } }
}

/** The calls that an artifact's metadata ask for; undefined where they say nothing of calls. */
export function toolCallsOf(metadata: JsonObject): readonly ClientToolCall[] | undefined {
  if (!(clientToolsExtension in metadata)) return undefined
  const { toolCalls } = sectionOf(metadata)
  return Array.isArray(toolCalls) ? toolCalls.filter(isClientToolCall) : undefined
}

/** Whether a value is a call as the extension writes it. */
export function isClientToolCall(value: unknown): value is ClientToolCall {
  if (!isObject(value)) return false
  const { id, name, arguments: args } = value
  return typeof id === 'string' && typeof name === 'string' && typeof args === 'string'
}

function toClientTool({ name, description, parameters }: JsonObject): OfferedTool[] {
  if (typeof name !== 'string' || name === '') return []
  return [
    {
      name,
      description: typeof description === 'string' ? description : '',
      parameters: isObject(parameters) ? parameters : { type: 'object', properties: {} },
    },
  ]
}

function sectionOf(metadata: JsonObject | undefined): JsonObject {
  const section = metadata?.[clientToolsExtension]
  return isObject(section) ? section : {}
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
