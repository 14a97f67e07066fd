import type { AgentBuild, InboxItem } from '../../src/store/feed.ts'
import { createMemoryStore, type MemoryStoreOptions } from '../../src/store/memory/store.ts'
import type { LogRecord, Store, TaskHead, Write } from '../../src/store/store.ts'
import type { Bug } from './bugs.ts'

/**
 * The database that virtual replicas share: a real memory store for tasks, logs and webhooks, and beside it the columns and
 * tables that only replicas need. One operation at a time, whole or not at all, as a transaction would do it.
 */
export interface Database {
  readonly memory: Store
  /** What replicas need to know of each task. */
  readonly rows: Map<string, Row>
  /** What waits for those who run tasks, oldest first. */
  readonly inbox: Map<string, InboxItem[]>
  readonly registrations: Map<number, Registration>
  /** Who delivers a webhook, by task and config. */
  readonly deliverers: Map<string, number>
  readonly bugs: ReadonlySet<Bug>
  /** Its own time. */
  now(): number
  /** The next number of a sequence that never goes back. */
  nextNumber(): number
  /** Does something while nobody else does. */
  exclusive<T>(work: () => Promise<T>): Promise<T>
  /** Sees what was stored, for those who look for mistakes. */
  observer: DatabaseObserver | undefined
}

/** The columns of a task that say who runs it. */
export interface Row {
  readonly id: string
  readonly agent: string
  build: string
  busy: boolean
  /** How many entries wait in its inbox. */
  mail: number
  /** Undefined exactly where nothing is left to do; 0 where the one that ran it has left. */
  replica: number | undefined
  /** The process that wrote or claimed it last, whatever its number was. */
  process: string
  /** Replicas that are told when it grows. */
  watchers: readonly number[]
}

/** A replica as the database knows it. */
export interface Registration {
  readonly number: number
  readonly name: string
  serving: readonly AgentBuild[]
  /** In the database's time. */
  aliveUntil: number
  /** Whether its session still holds its lock. */
  locked: boolean
  /** Brings it a notification. */
  tell(note: Note): void
}

/** What a replica is notified of. */
export type Note =
  | { readonly kind: 'grown'; readonly taskId: string; readonly version: number }
  | { readonly kind: 'mail'; readonly taskId: string; readonly agent: string }
  | { readonly kind: 'orphans' }
  | { readonly kind: 'deliveries'; readonly taskId: string }

/** Who looks for mistakes. */
export interface DatabaseObserver {
  /** Records were stored. `before` is the row as it was, undefined for a new task. */
  stored(change: Change): void
  /** An entry was stored in an inbox, taken by a write, or dismissed. */
  mailed(taskId: string, key: string, what: 'stored' | 'taken' | 'dismissed'): void
  /** A webhook was stored or deleted. */
  hooked?(write: HookWrite): void
  /** A task of this build was claimed by a replica. */
  claimed?(row: Row, build: string, by: number): void
}

/** What is written of a webhook. */
type HookWrite = Extract<Write, { readonly type: 'pushConfig' | 'deletePushConfig' }>

/** What a write did to a task. */
export interface Change {
  readonly head: TaskHead
  readonly records: readonly LogRecord[]
  readonly version: number
  readonly by: number
  readonly process: string
  /** Who had it before; undefined where nobody had. */
  readonly before: Pick<Row, 'replica' | 'process'> | undefined
  readonly row: Row
}

/** Makes an empty database. */
export function createDatabase(
  now: () => number,
  options: { readonly memory?: MemoryStoreOptions; readonly bugs?: readonly Bug[] } = {},
): Database {
  let number = 0
  let last: Promise<unknown> = Promise.resolve()
  return {
    memory: createMemoryStore({ maxRecords: Number.POSITIVE_INFINITY, ...options.memory }),
    rows: new Map(),
    inbox: new Map(),
    registrations: new Map(),
    deliverers: new Map(),
    bugs: new Set(options.bugs),
    observer: undefined,
    now,
    nextNumber: () => ++number,
    exclusive(work) {
      const done = last.then(work)
      last = done.catch(() => {}) // who asked for it hears of that
      return done
    },
  }
}

/** Whether a replica lives: its lease holds, and so does its lock. */
export function isLiving({ registrations, now }: Database, number: number): boolean {
  const known = registrations.get(number)
  return known?.locked === true && known.aliveUntil > now()
}

/** Brings a replica a notification, if it listens. */
export function notify({ registrations }: Database, number: number, note: Note): void {
  const known = registrations.get(number)
  if (known?.locked) known.tell(note)
}

/** Takes entries out of an inbox; how many there were. */
export function removeMail(
  database: Database,
  row: Row,
  { numbers, as }: { readonly numbers: readonly number[]; readonly as: 'taken' | 'dismissed' },
): number {
  const items = database.inbox.get(row.id) ?? []
  const left = items.filter(({ number }) => !numbers.includes(number))
  for (const { number, entry } of items)
    if (numbers.includes(number)) database.observer?.mailed(row.id, entry.key, as)
  if (left.length > 0) database.inbox.set(row.id, left)
  else database.inbox.delete(row.id)
  const removed = items.length - left.length
  row.mail -= removed
  return removed
}
