import { parseMessage } from '../../protocol/schema.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, JsonObject, Part } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import { trimEnd } from '../../shared/text.ts'
import type { GuardVerdict } from './guard.ts'

/** The longest reason that is told. */
const maxReason = 500

/**
 * A verdict as a function or a log gave it.
 * @throws Error for what is none.
 */
export function parseVerdict(value: unknown): GuardVerdict {
  if (!isFields(value)) throw new Error('A guard gave no verdict')
  const { verdict, reason, text, parts } = value
  const why = typeof reason === 'string' && reason !== '' ? reason.slice(0, maxReason) : undefined
  if (verdict === 'allow') return { verdict }
  if (verdict === 'block') return { verdict, reason: why ?? 'it is not allowed' }
  if (verdict !== 'replace') throw new Error('A guard gave no verdict')
  if (typeof text === 'string') return { verdict, text, ...(why && { reason: why }) }
  const message = parseMessage({ messageId: 'guard', role: 'ROLE_AGENT', parts })
  return { verdict, parts: message.parts, ...(why && { reason: why }) }
}

/** A verdict as the log takes it. */
export function verdictToJson(verdict: GuardVerdict): Json {
  const value: object = verdict
  return value as Json // built of texts and parts, which are JSON
}

/** What an agent that is asked for a verdict answers with. */
export const verdictSchema: JsonObject = {
  type: 'object',
  properties: {
    verdict: { type: 'string', enum: ['allow', 'replace', 'block'] },
    reason: { type: 'string', description: 'Why; the caller is told, so nothing of the content' },
    text: { type: 'string', description: 'What stands in its place, where it is replaced' },
  },
  required: ['verdict'],
  additionalProperties: false,
}

/**
 * The verdict in an agent's answer: data, JSON and nothing else, or the words `allow` or `block: reason`.
 * @throws Error for anything else, so that nothing passes which nobody has allowed.
 */
export function readAnswer(parts: readonly Part[]): GuardVerdict {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  if (data.length > 1) throw new Error('The answer has more than one verdict')
  if (data.length === 1) return parseVerdict(data[0])
  const text = textOf(parts).trim()
  if (trimEnd(text.slice(0, 20).toLowerCase(), '.! ') === 'allow') return { verdict: 'allow' }
  const [word = '', ...reason] = text.split(':')
  if (trimEnd(word.slice(0, 20).toLowerCase(), '.! ') === 'block')
    return parseVerdict({ verdict: 'block', reason: reason.join(':').trim() })
  return parseVerdict(parseJson(text))
}

/** Models put JSON between fences whatever they are told; prose around it is no verdict. */
function parseJson(text: string): unknown {
  const [, fenced] = /^```(?:json)?\n([^`]{1,20000})\n?```$/.exec(text) ?? []
  try {
    return JSON.parse(fenced ?? text)
  } catch {
    return undefined
  }
}
