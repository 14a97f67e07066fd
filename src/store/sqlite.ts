import { A2AError } from '../protocol/errors.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { checkWrites } from './check.ts'
import type { DriverName } from './sqlite/driver.ts'
import { toFault, toOpenError, toStoreError } from './sqlite/faults.ts'
import { createGroup } from './sqlite/group.ts'
import type { OpenOptions } from './sqlite/open.ts'
import { openReader, type Reader } from './sqlite/reader.ts'
import { type Answer, startThread, type Thread } from './sqlite/thread.ts'
import type { TrimRequest } from './sqlite/trim.ts'
import { createUpkeep } from './sqlite/upkeep.ts'
import type { Store } from './store.ts'

/** How a SQLite store keeps its promises, and how much it keeps. */
export interface SqliteStoreOptions {
  /**
   * `FULL`, the default: a commit is answered once it is on the disk, so not even a power cut loses it. `NORMAL`: once
   * the operating system has it; a crash of the process loses nothing, a power cut may lose the last moments.
   */
  readonly synchronous?: 'FULL' | 'NORMAL'
  /** Finished tasks to keep, the newest; all by default. */
  readonly maxTasks?: number
  /** How long a finished task is kept, by its status timestamp; for ever by default. */
  readonly maxAgeMs?: number
  /** A bound on the file's size, in bytes; at it, writes fail as on a full disk. */
  readonly maxBytes?: number
  /** `node:sqlite` where the runtime has it, else `libsql`. */
  readonly driver?: DriverName
  readonly clock?: Clock
}

/** A store in one SQLite file. */
export interface SqliteStore extends Store {
  /** Copies the file as it is at this moment, while it is in use; a copy already there is replaced. */
  backup(path: string): Promise<void>
}

/**
 * Opens a SQLite file as a store, and makes it where there is none. One process at a time has it open.
 *
 * Commits run in a thread of their own, so that waiting for the disk never holds up the event loop. After a failed write
 * (disk full, file read-only) reads go on, `health()` says why, and writing resumes by itself once it is possible.
 *
 * @throws A2AError `unavailable` that names the file and the reason: in use, damaged, newer, read-only, no database.
 */
export async function openSqliteStore(
  path: string,
  options: SqliteStoreOptions = {},
): Promise<SqliteStore> {
  const thread = await startWriter(path, options)
  try {
    return createStore(path, { options, thread, reader: await openReader(path, options.driver) })
  } catch (error) {
    await stop(thread)
    throw toOpenError(path, toFault(error))
  }
}

async function startWriter(path: string, options: SqliteStoreOptions): Promise<Thread> {
  const { driver, synchronous = 'FULL', maxBytes } = options
  const maxPages = maxBytes === undefined ? undefined : Math.max(1, Math.floor(maxBytes / 4096))
  const openOptions: OpenOptions = { path, driver, synchronous, maxPages }
  const { thread, first } = await startThread({ type: 'serve', options: openOptions })
  if ('fault' in first) throw toOpenError(path, first.fault)
  return thread
}

interface Parts {
  readonly options: SqliteStoreOptions
  readonly thread: Thread
  readonly reader: Reader
}

function createStore(path: string, { options, thread, reader }: Parts): SqliteStore {
  const { clock = systemClock, driver } = options
  const limits = (): TrimRequest => limitsAt(clock.now(), options)
  const upkeep = createUpkeep(thread, { clock, limits, recovered: () => group.recovered() })
  const group = createGroup(thread, upkeep)
  const indexContexts = createContextIndexing(thread)
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    upkeep.stop()
    await group.idle()
    await stop(thread)
    await reader.close()
  }

  return {
    ...reader,
    async commit(writes) {
      if (closing) throw new A2AError('unavailable', 'The store is closed')
      checkWrites(writes)
      return group.commit(writes)
    },
    async list(filter) {
      if (filter.contextId !== undefined && !closing) await indexContexts()
      return reader.list(filter)
    },
    health: () => (closing ? { writable: false, reason: 'The store is closed' } : group.health()),
    async backup(target) {
      const { first } = await startThread({ type: 'backup', path, target, driver })
      if ('fault' in first) throw toStoreError('be backed up', first.fault)
    },
    close: () => (closing ??= close()),
  }
}

function limitsAt(now: number, { maxTasks, maxAgeMs }: SqliteStoreOptions): TrimRequest {
  return { maxTasks, floor: maxAgeMs === undefined ? undefined : toTimestamp(now - maxAgeMs) }
}

/** The first list of a context makes its index. Where that fails, on a full disk, it works without and the next one tries. */
function createContextIndexing(thread: Thread): () => Promise<void> {
  let indexing: Promise<Answer> | undefined
  return async () => {
    indexing ??= thread.ask({ type: 'indexContexts' })
    if ('fault' in (await indexing)) indexing = undefined
  }
}

async function stop(thread: Thread): Promise<void> {
  await thread.ask({ type: 'close' })
  await thread.ended()
}
