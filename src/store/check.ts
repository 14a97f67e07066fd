import { A2AError } from '../protocol/errors.ts'
import type { LogRecord, TaskWrite, Write } from './store.ts'

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
