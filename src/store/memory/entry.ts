import type { LogRecord, PushConfigRecord, StoredTask } from '../store.ts'
import type { Linked, Queue } from './queue.ts'

/** A task and what hangs on it. Its own links are those among the tasks of its share. */
export interface Entry extends Linked<Entry> {
  stored: StoredTask
  /** The whole log; empty once it is compacted. */
  records: LogRecord[]
  readonly idempotencyKey: string | undefined
  /** The webhooks by id, oldest first; most tasks have none. */
  configs: Map<string, PushConfigRecord> | undefined
  /** Whose share it is kept in. */
  readonly principal: string
  /** About how many bytes it takes. */
  bytes: number
  /** Its place among all tasks that rest as it does; undefined while it is needed. */
  place: TaskPlace | undefined
  /** Its number in the order in which tasks came to rest. */
  order: number
}

/** The place of a task among those of all shares; in no queue once nobody asks for the oldest of them. */
export class TaskPlace implements Linked<TaskPlace> {
  readonly task: Entry
  queue: Queue<TaskPlace> | undefined
  older: TaskPlace | undefined
  newer: TaskPlace | undefined

  constructor(task: Entry) {
    this.task = task
  }
}
