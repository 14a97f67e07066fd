import { myTurn } from '../shared/async.ts'
import type { LogRecord, Store } from '../store/store.ts'
import { weighRecords } from '../store/weight.ts'

/** So many of a list are looked at before others have their turn. */
const perSlice = 8

/** Records that are read at once; as many as a row of a store has, at most. */
const perRead = 128

/** Does the same for each of many, some at a time, and lets others do something in between. */
export async function inSlices<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  for (let from = 0; from < items.length; from += perSlice) {
    if (from > 0) await myTurn()
    results.push(...(await Promise.all(items.slice(from, from + perSlice).map(work))))
  }
  return results
}

/** Which part of a log is read. */
interface Stretch {
  readonly after: number
  /** The most records, and about the most bytes. */
  readonly limit: number
  readonly maxBytes: number
}

/** Reads a part of a log that may be long, piece by piece. */
export async function readLog(
  store: Store,
  id: string,
  { after, limit, maxBytes }: Stretch,
): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = []
  let bytes = 0
  while (records.length < limit && bytes < maxBytes) {
    if (records.length > 0) await myTurn()
    const wanted = Math.min(perRead, limit - records.length)
    const page = await store.records(id, records.at(-1)?.seq ?? after, wanted)
    bytes += weighRecords(page)
    records.push(...page)
    if (page.length < wanted) break
  }
  return records
}
