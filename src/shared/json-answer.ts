import { jsonIn } from './embedded-json.ts'
import { isShallow } from './json.ts'

/** How JSON is asked for, read and refused: in the same words wherever an answer is to fit a schema. */

/** Asks for an answer that fits a JSON Schema; stands behind the question. */
export function askForJson(schema: unknown): string {
  const words = 'Answer with JSON alone, without other words, that fits this JSON Schema:'
  return `\n\n${words}\n${JSON.stringify(schema)}`
}

/** Says why an answer has to be given again. */
export function refuseAnswer(fault: string): string {
  return `That answer cannot be used: ${fault}.`
}

/** What is wrong with an answer that holds no JSON. */
export const notJson = 'it is not JSON'

/** The JSON that a text is, alone or in one fence; undefined where it is something else. */
export function jsonTextOf(text: string): string | undefined {
  return wholeJson(text)?.text
}

/** The values that a text can be meant as: the JSON that it is, else the objects and lists that stand in it. */
export function readJsonAnswer(text: string): readonly unknown[] {
  const whole = wholeJson(text)
  if (!whole) return jsonIn(text).slice(0, maxCandidates)
  return isShallow(whole.value) ? [whole.value] : []
}

/** Whoever says more than this has not decided. */
const maxCandidates = 8

function withoutFence(text: string): string {
  if (!text.startsWith('```') || !text.endsWith('```')) return text
  return text.slice(text.indexOf('\n') + 1, -3).trim()
}

function wholeJson(text: string): Json | undefined {
  const bare = text.trim()
  return parse(bare) ?? parse(withoutFence(bare))
}

/** A text and what it stands for. */
interface Json {
  readonly text: string
  readonly value: unknown
}

function parse(text: string): Json | undefined {
  try {
    return { text, value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
