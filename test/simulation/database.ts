import type { AgentBuild, InboxItem } from '../../src/store/feed.ts'
import { createMemoryStore, type MemoryStoreOptions } from '../../src/store/memory/store.ts'
import type { LogRecord, Store, TaskHead, Write } from '../../src/store/store.ts'
import type { Random } from '../durability/random.ts'
import type { Work } from './backend.ts'
import type { Bug } from './bugs.ts'
import { createRowLocks, type RowLocks } from './row-locks.ts'
import type { World } from './world.ts'

/**
 * The database that virtual replicas share: a real memory store for tasks, logs and webhooks, and beside it the columns and
 * tables that only replicas need. What a statement does, it does whole or not at all at one moment; before that it takes
 * its time and waits for the locks of its rows.
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
  readonly locks: RowLocks
  /** Its processes, one per connection; each ends itself if what it works on is so many milliseconds old. */
  readonly backends: Map<number, (ageMs: number) => void>
  addBackend(terminate: (ageMs: number) => void): number
  /** A kind of statement that takes long in this run, and how long; undefined where none does. */
  slow: SlowStatement | undefined
  /** How long it works on a statement before that takes effect, in milliseconds. */
  costOf(work: Pick<Work, 'what' | 'rows'>): number
  /** Its own time. */
  now(): number
  /** The next number of a sequence that never goes back. */
  nextNumber(): number
  /** Does something while nobody else does. */
  exclusive<T>(work: () => Promise<T>): Promise<T>
  /** Sees what was stored, for those who look for mistakes. */
  observer: DatabaseObserver | undefined
}

/** A kind of statement that takes long, as one for which the database makes a bad plan. */
export interface SlowStatement {
  readonly what: string
  readonly ms: number
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
  /** When it was made. */
  readonly since: number
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
  world: Pick<World, 'now' | 'random'>,
  options: { readonly memory?: MemoryStoreOptions; readonly bugs?: readonly Bug[] } = {},
): Database {
  let number = 0
  let backend = 0
  let last: Promise<unknown> = Promise.resolve()
  const database: Database = {
    memory: createMemoryStore({ maxRecords: Number.POSITIVE_INFINITY, ...options.memory }),
    rows: new Map(),
    inbox: new Map(),
    registrations: new Map(),
    deliverers: new Map(),
    bugs: new Set(options.bugs),
    locks: createRowLocks(),
    backends: new Map(),
    addBackend(terminate) {
      database.backends.set(++backend, terminate)
      return backend
    },
    slow: undefined,
    observer: undefined,
    now: () => world.now(),
    nextNumber: () => ++number,
    costOf: ({ what, rows = 1 }) => costOf(database, world.random, { what, rows }),
    exclusive(work) {
      const done = last.then(work)
      last = done.catch(() => {}) // who asked for it hears of that
      return done
    },
  }
  return database
}

/** Statements that look for what the dead have left: a compiler at work makes them a thousand times as expensive. */
const orphanQueries: ReadonlySet<string> = new Set(['look_live', 'orphaned', 'claim'])

/** Mostly well below a millisecond and a little more for each row; now and then the disk is busy. */
function costOf(
  { slow, bugs }: Database,
  random: Random,
  { what, rows }: { readonly what: string; readonly rows: number },
): number {
  const usual = (0.2 + 0.02 * rows) * (0.5 + random.next()) * (random.chance(0.01) ? 40 : 1)
  const compiled =
    bugs.has('expensive-claim') && orphanQueries.has(what) ? random.between(700, 1_200) : 0
  return usual + compiled + (slow?.what === what ? slow.ms : 0)
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
