import type { DataPart, Part } from '../../protocol/types.ts'
import { type EmbeddedJson, findJson } from '../../shared/embedded-json.ts'
import { newId } from '../../shared/ids.ts'
import { tryParseSaid } from '../base/json.ts'
import type { ToolCall } from '../domain/conversation.ts'
import {
  readPlainUtterances,
  readUtterances,
  type ToolCallRequest,
  type Utterance,
} from './dialects.ts'

/** What an agent's answer means: words, tool calls, or both where it breaks the rule of one at a time. */
export interface ParsedReply {
  readonly content: string | null
  readonly calls: readonly ToolCall[]
}

/** How leniently to read an answer. */
export interface ReplyOptions {
  /** Only `{"tool_call": …}`, in a data part or as a text that is nothing but its JSON. */
  readonly strict?: boolean
}

/**
 * Reads an agent's answer: data parts first, then text that is JSON, then JSON in fences, tags or prose, then plain
 * text. An answer that says nothing comes back with neither words nor calls.
 */
export function parseReply(parts: readonly Part[], options: ReplyOptions = {}): ParsedReply {
  const read = options.strict ? readPlainUtterances : readUtterances
  const data = parts.filter((part): part is DataPart => 'data' in part)
  const said = [
    ...data.map((part) => read(part.data) ?? []),
    ...parts.flatMap((part) =>
      'text' in part ? readText(part.text, read, options.strict ?? false) : [],
    ),
  ]
  const spoken = withoutRepetition(said)
  if (spoken.length === 0) spoken.push(...data.map((part) => ({ text: JSON.stringify(part.data) })))
  return gather(spoken)
}

/**
 * Gives the call that a data part asks for, with an id made up if it brings none; undefined where it asks for no tool.
 */
export function parseToolCall(part: DataPart): ToolCall | undefined {
  return gather(readUtterances(part.data) ?? []).calls[0]
}

function readText(
  text: string,
  read: (value: unknown) => readonly Utterance[] | undefined,
  strict: boolean,
): readonly (readonly Utterance[])[] {
  const whole = read(tryParseSaid(text))
  if (whole) return [whole]
  const pieces = strict ? [] : findJson(text).filter((piece) => read(piece.value))
  const prose = withoutJson(text, pieces)
  return [...(prose ? [[{ text: prose }]] : []), ...pieces.map((piece) => read(piece.value) ?? [])]
}

/** The text without the given pieces and the fences or tags that held them. */
function withoutJson(text: string, pieces: readonly EmbeddedJson[]): string {
  let rest = ''
  let from = 0
  for (const { start, end } of pieces) {
    rest += text.slice(from, start)
    from = end
  }
  rest += text.slice(from)
  return rest
    .replace(/```[a-z]*\s*```/gi, '')
    .replace(/<(json|tool_call)>\s*<\/\1>/gi, '')
    .trim()
}

/** Agents that say a call as data and again as text mean it once; two in one list are two. */
function withoutRepetition(said: readonly (readonly Utterance[])[]): Utterance[] {
  const known = new Set<string>()
  return said.flatMap((piece) => {
    const fresh = piece.filter((item) => !('call' in item) || !known.has(keyOf(item.call)))
    for (const item of piece) if ('call' in item) known.add(keyOf(item.call))
    return fresh
  })
}

function keyOf({ name, arguments: args }: ToolCallRequest): string {
  return JSON.stringify([name, args])
}

function gather(spoken: readonly Utterance[]): ParsedReply {
  const texts = spoken.flatMap((item) => ('text' in item && item.text.trim() ? [item.text] : []))
  const calls = spoken.flatMap((item) => ('call' in item ? [item.call] : []))
  return {
    content: texts.length > 0 ? texts.join('\n') : null,
    calls: calls.map(({ id, ...call }) => ({
      id: id ?? newId(),
      ...call,
      requestor: 'assistant',
    })),
  }
}
