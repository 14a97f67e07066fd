import { textOf } from '../../protocol/task.ts'
import type { Json, Part } from '../../protocol/types.ts'
import type { StepResult } from '../step-config.ts'

/** What parts say as words and as data: the data of the data part, a list where there are several. */
export function toStepResult(parts: readonly Part[]): StepResult {
  const data = dataOf(parts)
  const text = textOf(parts)
  return { text: text === '' && data !== undefined ? JSON.stringify(data) : text, data }
}

function dataOf(parts: readonly Part[]): Json | undefined {
  let found: Json[] | undefined
  for (const part of parts)
    if ('data' in part) {
      found ??= []
      found.push(part.data)
    }
  return found && found.length === 1 ? found[0] : found
}
