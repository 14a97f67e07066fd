import type { JsonObject } from '../../protocol/types.ts'
import { isJsonObject, tryParseSaid } from '../base/json.ts'

/** A request for a tool, as an agent wrote it; not yet checked against the tools there are. */
export interface ToolCallRequest {
  readonly id?: string
  readonly name: string
  readonly arguments: JsonObject
  /** What is wrong with the request itself. */
  readonly fault?: string
}

/** What a JSON value says: words for the user, or a request for a tool. */
export type Utterance = { readonly text: string } | { readonly call: ToolCallRequest }

/**
 * Reads a JSON value as tool calls, in any of three dialects; undefined if it is none of them.
 *
 * - plain: `{"tool_call": {"name", "arguments"}}`, `{"tool_calls": [{"tool_call": {…}}, …]}`
 * - AgentBeats: `{"name", "arguments"}`, where the name `respond` speaks to the user; a list of them
 * - OpenAI: `{"tool_calls": [{"id", "type": "function", "function": {"name", "arguments": "<JSON text>"}}]}`,
 *   one of its elements alone, and the older `{"function_call": {"name", "arguments"}}`
 */
export function readUtterances(value: unknown): readonly Utterance[] | undefined {
  if (Array.isArray(value)) return readList(value)
  if (!isJsonObject(value)) return undefined
  if (Array.isArray(value.tool_calls)) return readList(value.tool_calls)
  const one = readPlain(value) ?? readOpenAi(value) ?? readAgentBeats(value)
  return one && [one]
}

/** Reads a JSON value in the plain dialect alone; what strict mode accepts. */
export function readPlainUtterances(value: unknown): readonly Utterance[] | undefined {
  if (!isJsonObject(value)) return undefined
  const list = Array.isArray(value.tool_calls) ? value.tool_calls : [value]
  const read = list.map((item) => (isJsonObject(item) ? readPlain(item) : undefined))
  return read.length > 0 && read.every((item) => item !== undefined) ? read : undefined
}

function readList(list: readonly unknown[]): readonly Utterance[] | undefined {
  const read = list.map(readUtterances)
  if (read.length === 0 || read.some((item) => item === undefined)) return undefined
  return read.flatMap((item) => item ?? [])
}

function readPlain(value: JsonObject): Utterance | undefined {
  if (!isJsonObject(value.tool_call)) return undefined
  return { call: toRequest(value.tool_call, value.tool_call.id ?? value.id) }
}

function readOpenAi(value: JsonObject): Utterance | undefined {
  const inner = value.function ?? value.function_call
  return isJsonObject(inner) ? { call: toRequest(inner, value.id) } : undefined
}

function readAgentBeats(value: JsonObject): Utterance | undefined {
  if (typeof value.name !== 'string' || !('arguments' in value)) return undefined
  if (value.name !== 'respond') return { call: toRequest(value, value.id) }
  const { arguments: given } = value
  const text = isJsonObject(given) ? (given.content ?? given.message ?? given.text) : given
  return { text: typeof text === 'string' ? text : JSON.stringify(text ?? '') }
}

function toRequest(inner: JsonObject, id: unknown): ToolCallRequest {
  const given = inner.arguments ?? {}
  const args = typeof given === 'string' ? tryParseSaid(given === '' ? '{}' : given) : given
  const named = typeof inner.name === 'string' && inner.name !== ''
  const fault = !named
    ? 'tool_call.name must be a non-empty string'
    : isJsonObject(args)
      ? undefined
      : 'tool_call.arguments must be a JSON object'
  return {
    ...(typeof id === 'string' && id !== '' && { id }),
    name: named ? String(inner.name) : '',
    arguments: isJsonObject(args) ? args : {},
    ...(fault && { fault }),
  }
}
