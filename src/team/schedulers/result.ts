import { dataOf, readableText } from '../../protocol/task.ts'
import type { Part } from '../../protocol/types.ts'
import type { StepResult } from '../step-config.ts'

/** What parts say as words and as data: the data of the data part, a list where there are several. */
export function toStepResult(parts: readonly Part[]): StepResult {
  return { text: readableText(parts), data: dataOf(parts) }
}
