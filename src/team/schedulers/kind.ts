import { A2AError } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, Part } from '../../protocol/types.ts'
import { myTurn } from '../../shared/async.ts'
import { jsonIn } from '../../shared/json.ts'
import { delegateAll, type Work } from '../delegate.ts'
import type { Refuse } from '../errors.ts'
import type { Run } from '../run.ts'
import type { MemberReply } from './scheduler.ts'

/** A row of the table of schedulers (kinds.ts): all that the rest of the team asks of one kind. */
export interface SchedulerKind<Config> {
  /** The team's mode, as cards show it. */
  mode(config: Config): string
  /** Refuses a config that cannot be in a team of these members. */
  check(config: Config, members: ReadonlySet<string>, refuse: Refuse): void
  /** The member that gets the caller's message first, where there is one. */
  first(config: Config): string | undefined
  /** Makes the scheduler of one team. */
  create(config: Config): Schedule
}

/** Works from a run's first message to the team's answer; the rules of `Scheduler.schedule` hold here too. */
export type Schedule = (run: Run) => Promise<MemberReply>

/**
 * The items of an answer that is a list: a data part that holds an array, else a text that is a JSON array, else the
 * text's lines without bullets and numbers.
 *
 * @throws A2AError `processingError` for more items than the map takes.
 */
export function toItems(parts: readonly Part[], maxItems: number): readonly Part[] {
  const items = dataItems(parts) ?? textItems(textOf(parts))
  if (items.length > maxItems)
    throw new A2AError(
      'processingError',
      `A list of ${items.length} items is too long for its map, which takes ${maxItems}: raise max_items`,
    )
  return items
}

function dataItems(parts: readonly Part[]): readonly Part[] | undefined {
  for (const part of parts)
    if ('data' in part && Array.isArray(part.data)) return part.data.map(toPart)
  return undefined
}

function toPart(item: Json): Part {
  return typeof item === 'string' ? { text: item } : { data: item, mediaType: 'application/json' }
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

/** Runs works with at most `size` at once, and gives their results in order. */
export async function inBatches<T>(
  run: Run,
  works: readonly Work<T>[],
  size: number,
): Promise<readonly T[]> {
  const rest = works.map((work, index) => ({ work, index }))
  const results = new Map<number, T>()
  const worker = async (group: Run): Promise<void> => {
    for (let next = rest.shift(); next; next = rest.shift()) {
      results.set(next.index, await next.work(group))
      // Members in this process may answer without waiting for anything: a thousand of them would be one tick.
      if (rest.length > 0) await myTurn(run.turn.caller.userId)
    }
  }
  await delegateAll(
    run,
    Array.from({ length: Math.min(size, works.length) }, () => worker),
  )
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result)
}
