import { findJson } from '../../shared/embedded-json.ts'

/**
 * The objects and lists that a text is or holds, those in fences first. Models wrap JSON in prose and fences whatever
 * they are told.
 */
export function jsonIn(text: string): readonly object[] {
  const blocks = text.split('```').filter((block, at) => at % 2 === 1 && /^(json)?\s/.test(block))
  return [...blocks, text].flatMap((piece) => findJson(piece).map(({ value }) => value))
}
