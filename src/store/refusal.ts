import { A2AError } from '../protocol/errors.ts'
import type { LogRecord, TaskWrite, Write } from './store.ts'
import { weigh, weighRecord } from './weight.ts'

/** The largest write of one task that a store takes by default, in bytes. */
export const defaultMaxTaskBytes: number = 32 * 1024 * 1024

/** Why a write can never be stored. What was thrown may hold a user's data, so it is not repeated. */
export function refusalOf(
  write: Write,
  reason:
    | { readonly thrown: unknown }
    | { readonly maxBytes: number }
    /** What of it the database refuses. */
    | { readonly holding: string },
): string {
  const what = nameOf(write)
  if ('holding' in reason) return `${what} holds ${reason.holding}`
  if ('maxBytes' in reason) return `${what} is larger than ${reason.maxBytes} bytes`
  return `${what} holds ${culpritOf(reason.thrown)}, which cannot be stored as JSON`
}

/**
 * A store that writes nothing out could keep anything; but what it keeps is sent over wires, and another store takes its
 * place, so it refuses what those cannot. The records are looked at: what is new of a task is in them.
 */
export function refusalFor(write: Write, maxBytes: number): string | undefined {
  if (write.type !== 'task' && write.type !== 'contextValue') return undefined
  try {
    return weightOf(write) > maxBytes ? refusalOf(write, { maxBytes }) : undefined
  } catch (thrown) {
    return refusalOf(write, { thrown })
  }
}

function weightOf(write: Extract<Write, { type: 'task' | 'contextValue' }>): number {
  if (write.type === 'contextValue') return weigh(write.value)
  if (write.bytes !== undefined) return write.bytes
  let sum = 0
  for (const record of write.records) sum += weighRecord(record)
  return sum
}

function nameOf(write: Write): string {
  if (write.type === 'task') return `Task ${write.head.id}`
  if (write.type === 'contextValue') return `The value ${JSON.stringify(write.key)} of the context`
  return 'What is written'
}

function culpritOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : ''
  if (/BigInt/i.test(message)) return 'a BigInt'
  if (/circular|cycl/i.test(message)) return 'a reference to itself'
  return 'a value'
}

/**
 * Refuses a commit that no store could keep: a log with gaps, or a new task without its snapshot.
 * It looks at all writes before any of them is made.
 *
 * @throws A2AError `internal`: this is a mistake of the writer, not of a peer.
 */
export function checkWrites(writes: readonly Write[]): void {
  for (const write of writes) if (write.type === 'task') checkTaskWrite(write)
}

function checkTaskWrite({ head, expectedVersion, records, task }: TaskWrite): void {
  if (expectedVersion === 0 && task === undefined)
    throw new A2AError('internal', `The first write of task ${head.id} has no snapshot`)
  if (expectedVersion === 0 && records.length === 0)
    throw new A2AError('internal', `The first write of task ${head.id} has no records`)
  if (records.some((record, i) => record.seq !== expectedVersion + 1 + i))
    throw new A2AError('internal', `The log of task ${head.id} would have a gap: ${seqs(records)}`)
}

function seqs(records: readonly LogRecord[]): string {
  return records.map((record) => record.seq).join(', ')
}
