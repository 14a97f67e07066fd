import type { LogRecord, StoredTask } from '../store.ts'
import type { Link } from './queue.ts'

/** A task as retention sees it. */
export interface Kept {
  stored: StoredTask
  /** The whole log; empty once it is compacted. */
  records: LogRecord[]
  /** Whose share it is kept in. */
  readonly principal: string
  /** About how many bytes it takes. */
  bytes: number
  /** Its place among all tasks of its kind, and among those of its share. */
  place: Link<Kept> | undefined
  sharePlace: Link<Kept> | undefined
  /** Its number in the order in which tasks came to rest. */
  order: number
}
