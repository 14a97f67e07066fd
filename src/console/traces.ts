import { textOf } from '../protocol/task.ts'
import type { LogRecord, Store, StoredTask } from '../store/store.ts'
import { weighRecords } from '../store/weight.ts'
import { LastRead } from './last-read.ts'
import { readLog } from './slices.ts'

/** So much of the beginning of a log is read. */
const maxRecords = 2_000
const maxBytes = 4 * 1024 * 1024

/** About so many bytes of what was found are kept, of all tasks together. */
const maxKept = 16 * 1024 * 1024

/** What has been found in a log so far; a log only ever grows. */
interface Found {
  readonly records: readonly LogRecord[]
  /** The last record that was looked at, and how many bytes were. */
  readonly upTo: number
  readonly bytes: number
  /** How many bytes those are that were found. */
  readonly weight: number
}

const nothing: Found = { records: [], upTo: 0, bytes: 0, weight: 0 }

/** Makes what reads the trace of a task and what it asked its user, each record once. */
export function createTraces(store: Store): (stored: StoredTask) => Promise<readonly LogRecord[]> {
  const kept = new LastRead<Found>(maxKept)
  return async ({ head: { id }, version }) => {
    const known = kept.get(id) ?? nothing
    const limit = Math.min(version, maxRecords) - known.upTo
    if (limit <= 0 || known.bytes >= maxBytes) return known.records
    const rest = { after: known.upTo, limit, maxBytes: maxBytes - known.bytes }
    const found = add(known, await readLog(store, id, rest))
    kept.set(id, found, found.weight + 100)
    return found.records
  }
}

function add(known: Found, records: readonly LogRecord[]): Found {
  const further = records.filter((record) => record.kind === 'trace' || questionIn(record))
  return {
    records: [...known.records, ...further],
    upTo: records.at(-1)?.seq ?? known.upTo,
    bytes: known.bytes + weighRecords(records),
    weight: known.weight + weighRecords(further),
  }
}

/** What a status asks the user. */
export function questionIn(record: LogRecord): string | undefined {
  if (record.kind !== 'event' || !('statusUpdate' in record.event)) return undefined
  const { state, message } = record.event.statusUpdate.status
  return state === 'TASK_STATE_INPUT_REQUIRED' && message ? textOf(message.parts) : undefined
}
