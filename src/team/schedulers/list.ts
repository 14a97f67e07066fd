import { A2AError } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, Part } from '../../protocol/types.ts'
import { jsonIn } from '../../shared/embedded-json.ts'
import { hardCap } from '../budget.ts'
import { delegateAll, type Work } from '../delegate.ts'
import type { Run } from '../run.ts'

/**
 * The items of an answer that is a list: a data part that holds an array, else a text that is a JSON array, else the
 * text's lines without bullets and numbers.
 *
 * @throws A2AError `processingError` for more items than a run may make delegations.
 */
export function toItems(parts: readonly Part[]): readonly Part[] {
  const items = dataItems(parts) ?? textItems(textOf(parts))
  if (items.length > hardCap)
    throw new A2AError(
      'processingError',
      `A list of ${items.length} items is too long for a team: it may have ${hardCap}`,
    )
  return items
}

/** Runs works with at most `size` at once, and gives their results in order. */
export async function inBatches<T>(
  run: Run,
  works: readonly Work<T>[],
  size: number,
): Promise<readonly T[]> {
  const rest = works.map((work, index) => ({ work, index }))
  const results = new Map<number, T>()
  const worker = async (group: Run): Promise<void> => {
    for (let next = rest.shift(); next; next = rest.shift())
      results.set(next.index, await next.work(group))
  }
  await delegateAll(
    run,
    Array.from({ length: Math.min(size, works.length) }, () => worker),
  )
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result)
}

function dataItems(parts: readonly Part[]): readonly Part[] | undefined {
  for (const part of parts)
    if ('data' in part && Array.isArray(part.data)) return part.data.map(toPart)
  return undefined
}

function textItems(text: string): readonly Part[] {
  const [json] = jsonIn(text)
  if (Array.isArray(json)) return json.map(toPart)
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim())
    .filter((line) => line !== '')
    .map((line) => ({ text: line }))
}

function toPart(item: Json): Part {
  return typeof item === 'string' ? { text: item } : { data: item, mediaType: 'application/json' }
}
