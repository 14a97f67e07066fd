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
  const bare = text.trim()
  return [bare, withoutFence(bare)].find(isJson)
}

/** The values that a text can be meant as: the JSON that it is, else the objects and lists that stand in it. */
export function readJsonAnswer(text: string): readonly unknown[] {
  const whole = jsonTextOf(text)
  if (whole === undefined) return jsonIn(text).slice(0, maxCandidates)
  const value: unknown = JSON.parse(whole)
  return isShallow(value) ? [value] : []
}

/** Whoever says more than this has not decided. */
const maxCandidates = 8

function withoutFence(text: string): string {
  if (!text.startsWith('```') || !text.endsWith('```')) return text
  return text.slice(text.indexOf('\n') + 1, -3).trim()
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
